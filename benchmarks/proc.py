"""Reads memory, proc_pid_smaps(5), and CPU time of a process and of those that it started."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_CONTROL_PLANE = frozenset({"kube-apiserver", "etcd"})
"""Names of programs, which one executable may have as its first argument."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that are resident: of the process, of all that it has started, and the fair share (PSS) of all together."""

    own: int
    children: int
    fair: int

    @property
    def total(self) -> int:
        """The process and its children."""
        return self.own + self.children


def memory(pid: int) -> Memory:
    """The memory of a process and its children, now."""
    own, fair = _rollup(pid)
    started = [_rollup(child) for child in descendants(pid)]
    return Memory(own, sum(rss for rss, _ in started), fair + sum(pss for _, pss in started))


def peak(pid: int) -> int:
    """The most bytes that the process alone had resident since its start, or since `forget_peak`."""
    found = re.search(r"^VmHWM:\s+(\d+) kB$", (PROC / str(pid) / "status").read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def forget_peak(pid: int) -> None:
    """Let the peak be what is resident now: proc_pid_clear_refs(5)."""
    (PROC / str(pid) / "clear_refs").write_text("5")


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its children until now, to the nanosecond; what has ended does not count."""
    return sum(map(_own_seconds, (pid, *descendants(pid))))


def control_plane_seconds() -> float:
    """CPU time of API server and etcd until now; 0 if this process has not started them."""
    started = (pid for pid in descendants(os.getpid()) if _CONTROL_PLANE.intersection(_arguments(pid)[:2]))
    return sum(map(_own_seconds, started))


def descendants(pid: int) -> Iterator[int]:
    """All that a process has started, and what these have started."""
    for children in (PROC / str(pid) / "task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, children.read_text().split()):
                yield child
                yield from descendants(child)


def _rollup(pid: int) -> tuple[int, int]:
    """RSS and PSS in bytes; nothing for a process that has ended."""
    with suppress(OSError):
        text = (PROC / str(pid) / "smaps_rollup").read_text()
        sizes = {name: int(size) * 1024 for name, size in re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE)}
        return sizes["Rss"], sizes["Pss"]
    return 0, 0


def _arguments(pid: int) -> list[str]:
    """Its command line; nothing for a process that has ended."""
    with suppress(OSError):
        return (PROC / str(pid) / "cmdline").read_text(errors="replace").split("\0")
    return []


def _own_seconds(pid: int) -> float:
    """CPU time of one process; nothing for one that has ended."""
    with suppress(OSError):
        return sum(map(_nanoseconds, (PROC / str(pid) / "task").glob("*/schedstat"))) / 1e9
    return 0.0


def _nanoseconds(schedstat: Path) -> int:
    with suppress(OSError):
        return int(schedstat.read_text().split()[0])
    return 0
