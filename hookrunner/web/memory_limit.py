"""How much memory this process may have: what its control group is limited to, version 2 or 1.

Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files,
https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hookrunner.options import Memory

_UNLIMITED = 1 << 60
"""Version 1 writes a number that is about as large as it can be where there is no limit."""


_ASSUMED = 2 << 30
"""What shares are of where there is no limit."""


def bytes_of(memory: Memory, root: Path = Path("/")) -> int:
    """A setting's number of bytes, or its share of what this process may have."""
    return memory.size or int((memory_limit(root) or _ASSUMED) * memory.share)


def memory_limit(root: Path = Path("/")) -> int | None:
    """Bytes; the least of this process's control group and of those that it is in. None if none has a limit, or where
    there are no control groups."""
    limits = [limit for file in _files(root) if (limit := _limit(file)) is not None]
    return min(limits, default=None)


def _files(root: Path) -> Iterator[Path]:
    """Where limits are written. In a container the path of a group may be one that is seen only outside: then the
    container's own group is mounted at the top."""
    mount = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _upwards(mount, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _upwards(mount / "memory", path, "memory.limit_in_bytes")


def _upwards(mount: Path, path: str, name: str) -> Iterator[Path]:
    group = mount.joinpath(*[part for part in path.split("/") if part not in ("", "..")])
    for directory in (group, *group.parents):
        yield directory / name
        if directory == mount:
            return


def _lines(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text("utf-8", "replace").splitlines() if line.count(":") >= 2]
    except OSError:
        return []


def _limit(file: Path) -> int | None:
    """None for `max`, for what version 1 writes instead, and for what cannot be read."""
    with suppress(OSError, ValueError):
        limit = int(file.read_text("ascii"))
        return limit if limit < _UNLIMITED else None
    return None
