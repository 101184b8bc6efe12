"""Directories of one process, in a directory that several processes may share.

    with private_directory(tmp_dir, "packages") as directory: ...      # made at once
    with claimed_directory(tmp_dir, "run") as directory:
        reuse(directory)                                               # before each use: made if it is missing

The process holds a lock on each for as long as it lives: what a killed process has left is locked by no process, and
the next one removes it. A process id would tell less, since containers that share a volume have the same ones.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

from hookrunner.errors import StartRefused
from hookrunner.safe_files import NotPrivate, reuse_directory, use_directory

_claimed: dict[Path, int] = {}
"""The claimed directories of this process, each with the descriptor that holds its lock; -1 before it is made."""
_CLAIMED_NAME = re.compile("hookrunner-[a-z]+-[0-9a-f]{16}")


@contextmanager
def claimed_directory(parent: Path, purpose: str) -> Iterator[Path]:
    """The path of a directory in `parent` for one purpose (a word) of this process: `reuse` makes it. It is removed at
    the end of the `with`. Those of processes that were killed are removed first: files in them may hold
    credentials and values."""
    with suppress(OSError):
        use_directory(parent)
        _remove_left_over(parent)
    directory = parent.absolute() / f"hookrunner-{purpose}-{os.urandom(8).hex()}"
    _claimed[directory] = -1
    try:
        yield directory
    finally:
        rmtree(directory, ignore_errors=True)
        _replace_lock(_claimed.pop(directory), -1)


@contextmanager
def private_directory(parent: Path, purpose: str) -> Iterator[Path]:
    """The same, made at once. Raises StartRefused if that is not possible."""
    with claimed_directory(parent, purpose) as directory:
        try:
            reuse(directory)
        except NotPrivate as error:
            raise StartRefused(
                f"{parent}: {error.strerror}; remove it, or name a directory of your own with --tmp-dir"
            ) from None
        except OSError as error:
            raise StartRefused(
                f"no directory can be made in {parent}: {error.strerror}; free space there, or set --tmp-dir"
            ) from error
        yield directory


def reuse(directory: Path) -> None:
    """`safe_files.reuse_directory`, by which a claimed directory is also locked when it is made. Raises OSError."""
    if directory in _claimed and not os.path.lexists(directory):
        use_directory(directory.parent)
        _claimed[directory] = _replace_lock(_claimed[directory], _make_locked(directory))
    reuse_directory(directory)


def lasting_name(directory: Path) -> Path:
    """A directory for messages: of a claimed one its parent, because its own name is another one after each start."""
    return directory.parent if directory in _claimed else directory


def _make_locked(directory: Path) -> int:
    """The descriptor that keeps a new directory locked."""
    while True:
        use_directory(directory)
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with suppress(OSError):  # where the file system has no locks, no other process can lock it either
            fcntl.flock(lock, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.lstat(directory)):
                return lock
        os.close(lock)  # another process has removed it as left over before it was locked


def _replace_lock(old: int, new: int) -> int:
    if old >= 0:
        os.close(old)
    return new


def _remove_left_over(parent: Path) -> None:
    for directory in (path for path in parent.iterdir() if _CLAIMED_NAME.fullmatch(path.name)):
        with suppress(OSError):  # of another user, locked, or removed meanwhile
            lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                rmtree(directory)
            finally:
                os.close(lock)
