"""Who else may change what we run: a start with hooks or modules that every user may write to is refused.

    check(directory, settings)          # raises StartRefused, or warns

Looked at are the directory with everything below it, libraries and values too, and the directories above it. What root
or our own groups may write is fine, and modes mean nothing on a read-only file system: volumes of ConfigMaps are 0777
throughout. Where one certain user or group may write, that may be intended and is worth a warning: files in images
and mounts from a developer's machine belong to their author.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hookrunner import log
from hookrunner.errors import StartRefused
from hookrunner.safe_files import User, is_volume
from hookrunner.settings import HooksSettings
from kubetypes.light_dataclasses import dataclass

_SHOWN = 5

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class WritablePath:
    """A file or directory that others may write to, and who; `by_all` if everybody may."""

    path: Path
    writers: str
    by_all: bool

    def __str__(self) -> str:
        return f"{self.path} {self.writers}"


def check(directory: Path, settings: HooksSettings) -> None:
    """Look through a directory, if it exists; call it in a thread. Raises StartRefused if every user may
    change what is in it and that is not allowed; else there is one warning."""
    paths = sorted(findings(directory, User.of_process()), key=lambda path: not path.by_all)
    if not paths:
        return
    lines = [*map(str, paths[:_SHOWN]), *([f"and {len(paths) - _SHOWN} more"] if len(paths) > _SHOWN else [])]
    if paths[0].by_all and settings.on_writable == "stop":
        raise StartRefused(
            "\n  - ".join(["other users may change what is run as this one:", *lines]) + "\n"
            f"Take the right away (chmod -R o-w {directory}), or allow it with --on-writable-hook warn."
        )
    _log.warn("other users may change what is run as this one", path=directory, reason="; ".join(lines))


def findings(directory: Path, user: User) -> Iterator[WritablePath]:
    """What others may write to, below and above a directory or file; nothing if it does not exist."""
    top = Path(os.path.realpath(directory))
    seen: set[Path] = set()
    yield from _above(top, user, seen)
    if top.is_dir():
        yield from _tree(top, user, seen, follow=True)
    elif top.exists():
        yield from _findings_at(top, top.stat(), user)


def _above(path: Path, user: User, seen: set[Path]) -> Iterator[WritablePath]:
    """The directories in which something on the way to a place could be exchanged. In a sticky one only its owner may
    do that."""
    for parent in path.parents:
        if parent in seen:
            return
        seen.add(parent)
        try:
            status = parent.stat()
        except OSError:
            continue
        if not status.st_mode & stat.S_ISVTX or not user.trusts(status.st_uid):
            yield from _findings_at(parent, status, user)


def _tree(directory: Path, user: User, seen: set[Path], follow: bool = False) -> Iterator[WritablePath]:
    """A directory that is no link, with what is in it. Links to directories are followed in the first one only, as a
    module may be one; hidden directories hold what others refer to. What cannot be read is reported where it is
    needed."""
    try:
        seen.add(directory)
        yield from _findings_at(directory, directory.stat(), user)
        entries = list(os.scandir(directory))
        read_only = _is_read_only(directory)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if not entry.name.startswith("."):
                yield from _tree(Path(entry.path), user, seen)
        elif entry.is_symlink():
            yield from _target(Path(os.path.realpath(entry.path)), user, seen, follow)
        elif not read_only and (finding := _finding(entry.path, entry.stat(follow_symlinks=False), user)):
            yield finding


def _target(path: Path, user: User, seen: set[Path], follow: bool) -> Iterator[WritablePath]:
    if path in seen or not path.exists() or (path.is_dir() and not follow):
        return
    yield from _above(path, user, seen)
    if path.is_dir():
        yield from _tree(path, user, seen)
    else:
        seen.add(path)
        yield from _findings_at(path, path.stat(), user)


def _findings_at(path: Path, status: os.stat_result, user: User) -> Iterator[WritablePath]:
    finding = _finding(path, status, user)
    if finding and not _is_read_only(path) and not (stat.S_ISDIR(status.st_mode) and is_volume(path, status)):
        yield finding


def _finding(path: str | Path, status: os.stat_result, user: User) -> WritablePath | None:
    device = stat.S_ISCHR(status.st_mode) or stat.S_ISSOCK(status.st_mode)
    writers = "" if device else user.writers(status)  # /dev/null is every user's
    return WritablePath(Path(path), writers, bool(status.st_mode & stat.S_IWOTH)) if writers else None


def _is_read_only(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
