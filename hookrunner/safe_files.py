"""Files of this process: directories and files that no other user may exchange, files that are read only if they are
regular, archives that are unpacked within a bound, and how many files may be open.

    use_directory(path)                 # makes it, or refuses one that others could tamper with
    os.close(create_file(path))         # new, for our own user alone
    replace_file(path, data)            # written whole or not at all
    read(path)                          # of a hook, a module or a chart: a regular file that is not too large

The temp directory has a name that everybody can guess, in a directory where everybody may write. Another user who makes
it before us could exchange a kubeconfig, read Secrets out of binding contexts and write the answers of hooks. So a
directory is used only if it, and every directory on the way to it, belongs to us or to root, and no other user may
rename what is in it: others have no right to write there, or it is sticky. Root and our own groups are trusted.
"""

import errno
import gzip
import io
import os
import re
import resource
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from hookrunner.errors import StartRefused
from kubetypes.bounds import DOCUMENT, TooLarge
from kubetypes.light_dataclasses import dataclass

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 18
_MOST_LINKS = 40
"""As many as Linux follows."""


class NotPrivate(PermissionError):
    """Another user could exchange what is in a directory; `strerror` says which and why."""

    def __init__(self, problem: str, path: Path) -> None:
        super().__init__(errno.EPERM, problem, str(path))


@dataclass(frozen=True, slots=True)
class User:
    """The user and the groups of a process: owners by which a file may be changed without danger."""

    uid: int
    groups: frozenset[int]

    @classmethod
    def of_process(cls) -> "User":
        """The user of this process."""
        return cls(os.geteuid(), frozenset((os.getegid(), *os.getgroups())))

    def trusts(self, owner: int) -> bool:
        """Whether this owner is the user itself, or root."""
        return owner in (0, self.uid)

    def writers(self, status: os.stat_result) -> str:
        """Who else may write to a file or directory: `belongs to another user (1000)`; empty for no one."""
        if status.st_mode & stat.S_IWOTH:
            return "can be written by every user"
        if not self.trusts(status.st_uid):
            return f"belongs to another user ({status.st_uid})"
        if status.st_mode & stat.S_IWGRP and status.st_gid not in self.groups | {0}:
            return f"can be written by the group {status.st_gid}"
        return ""


_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


def may_exist(path: Path) -> bool:
    """Is something there? So says a path that cannot be examined, too: reading it reports what is wrong, where "no"
    would be silence. `Path.exists` and its like answer "no" from Python 3.14 on, and raise before."""
    return _may_be(path, lambda _mode: True)


def may_be_directory(path: Path) -> bool:
    """Is it a directory, or a path that cannot be examined (`may_exist`)?"""
    return _may_be(path, stat.S_ISDIR)


def may_be_file(path: Path) -> bool:
    """Is it a regular file, or a path that cannot be examined (`may_exist`)?"""
    return _may_be(path, stat.S_ISREG)


def _may_be(path: Path, is_kind: Callable[[int], bool]) -> bool:
    try:
        return is_kind(os.stat(path).st_mode)
    except OSError as error:
        return error.errno not in _NOTHING_THERE
    except ValueError:  # a NUL in the path
        return False


def require_temp_directory(path: Path) -> None:
    """`use_directory` at the start, for the directory of --tmp-dir. Raises StartRefused if others could tamper with it.
    Any other problem is reported where the directory is used, since it may pass."""
    try:
        use_directory(path)
    except NotPrivate as error:
        raise StartRefused(
            f"the directory {path} is not safe: {error.strerror}. Who may write there can read what hooks are given, "
            f"and run programs as this user. Remove it, or name a directory of your own with --tmp-dir"
        ) from None
    except OSError:
        pass


def list_directory(path: Path, flag: str) -> list[os.DirEntry[str]]:
    """What is in a directory that `flag` names, ordered by name. Raises StartRefused if it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        raise StartRefused(f"path '{path}' does not exist; create it or set --{flag}") from None
    except NotADirectoryError:
        raise StartRefused(f"path '{path}' is not a directory; set --{flag} to another") from None
    except OSError as error:
        raise StartRefused(f"path '{path}', set by --{flag}, cannot be read: {error.strerror}") from None


def use_directory(path: Path, user: User | None = None) -> None:
    """Make a directory with its parents, 0700, unless it exists. Raises NotPrivate if another user could exchange
    what is in it, OSError if it cannot be made."""
    user = user or User.of_process()
    _make(path)
    if problem := problem_of(path, user):
        raise NotPrivate(problem, path)


def reuse_directory(path: Path) -> None:
    """The same with one system call where the directory is ours. Cleaners of temp directories remove it, and then
    another user may be the next to make it: call this before every use."""
    user = User.of_process()
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode) and status.st_uid == user.uid and not user.writers(status):
            return
    use_directory(path, user)


def problem_of(path: Path, user: User) -> str:
    """Why another user could exchange what is in an existing directory; empty if none can. Raises OSError."""
    links, steps, directory = 0, list(reversed(path.absolute().parts)), Path("/")
    while steps:
        step = steps.pop()
        if step == "..":
            directory = directory.parent
            continue
        if problem := directory_problem(directory, os.lstat(directory), user):
            return problem
        entry = directory / step
        status = os.lstat(entry)
        if stat.S_ISLNK(status.st_mode):
            # In a sticky directory the owner of a link may replace it.
            if not user.trusts(status.st_uid) and os.lstat(directory).st_mode & stat.S_ISVTX:
                return f"{entry} belongs to another user ({status.st_uid})"
            if (links := links + 1) > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            target = Path(os.readlink(entry))
            steps += [part for part in reversed(target.parts) if part != "/"]
            directory = Path("/") if target.is_absolute() else directory
        else:
            directory = entry
    status = os.lstat(directory)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return directory_problem(directory, status, user)


def directory_problem(directory: Path, status: os.stat_result, user: User) -> str:
    """Why another user could exchange what is in this one directory, with its path; empty if none can."""
    if not user.trusts(status.st_uid):
        return f"{directory} belongs to another user ({status.st_uid})"
    writers = user.writers(status)
    if not writers or status.st_mode & stat.S_ISVTX or is_volume(directory, status):
        return ""
    return f"{directory} {writers}"


def is_volume(path: Path, status: os.stat_result) -> bool:
    """Whether this is where root has mounted something: an `emptyDir` is 0777 without the sticky bit, and only
    the containers see it that the pod's author gives it to."""
    return status.st_uid == 0 and not status.st_mode & stat.S_ISVTX and (os.path.ismount(path) or _is_bound(path))


def create_file(path: str | Path, mode: int = 0o600) -> int:
    """The descriptor of a new file, open for writing. Raises FileExistsError if the path exists, also as a link."""
    return os.open(path, _NEW, mode)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, readable for its owner alone. A link at its path is replaced."""
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with open(create_file(draft), "wb") as file:
            file.write(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def open_existing(path: str | Path) -> int:
    """The descriptor of a file that we made before, open for writing; a link in its place is not followed."""
    return os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _is_bound(directory: Path) -> bool:
    """Two volumes of one disk, one in the other, look like one file system. Source: proc_pid_mountinfo(5)."""
    shown = re.sub(rb"[\\ \t\n]", lambda match: b"\\%03o" % match[0][0], os.fsencode(directory))
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return False
    return any(line.split()[4] == shown for line in lines)


def _make(path: Path) -> None:
    """Parents are 0755, whatever the umask. A dangling link is not replaced by a directory."""
    missing = list(takewhile(lambda directory: not os.path.lexists(directory), (path, *path.parents)))
    for directory in reversed(missing):
        with suppress(FileExistsError):  # made by another process just now; its owner is checked next
            os.mkdir(directory, 0o700 if directory == path else 0o755)


# Files of hooks, modules and charts are read only if they are regular: a link may lead to a device that never ends, or
# to a pipe without a writer. What a user names on the command line is not read here, since that may be a pipe.


def open_regular(path: Path) -> BinaryIO:
    """A file to read from. Raises OSError, also for what is no regular file."""
    file = open(path, "rb", buffering=0, opener=open_without_waiting)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return io.BufferedReader(file)
    file.close()
    raise OSError(errno.EINVAL, "it is no regular file", str(path))


def read(path: Path) -> bytes:
    """All of it. Raises OSError, also for what is larger than any document may be."""
    with open_regular(path) as file:
        text = file.read(DOCUMENT.size + 1)
    if len(text) > DOCUMENT.size:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return text


def read_text(path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
    """The same as text, whatever its line ends. Raises OSError, UnicodeDecodeError."""
    return io.TextIOWrapper(io.BytesIO(read(path)), encoding, errors).read()


def open_without_waiting(path: str, flags: int) -> int:
    """Opening a pipe must not wait for its other end."""
    return os.open(path, flags | os.O_NONBLOCK)


def unpack(data: bytes, most: int) -> bytes:
    """The bytes of all members of a gzip archive: a kilobyte of it can stand for a megabyte. Raises
    `TooLarge`, or ValueError if it is no gzip or damaged."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as archive:
            unpacked = archive.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from None
    if len(unpacked) > most:
        raise TooLarge(f"it has more than {most:,} bytes when it is unpacked")
    return unpacked


def unpack_file(source: BinaryIO, target: BinaryIO, most: int) -> None:
    """The same from a file into a file, for what is too large for the memory. Raises as `unpack` does, and OSError if
    the target cannot be written."""
    try:
        with gzip.GzipFile(fileobj=source) as archive:
            while data := archive.read(_PIECE):
                most -= len(data)
                if most < 0:
                    raise TooLarge("it is too large when it is unpacked")
                target.write(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from None


# How many files this process may have open, sockets too: as many as the system allows, but no more than usual for the
# processes that it starts. The usual soft limit is 1,024 for the sake of programs that use select(2), which cannot
# handle higher descriptors, and of those that close all that they might have. We do neither, and clients of our ports
# may take hundreds.

_MOST_OPEN = 1 << 20
"""Where the system has no limit, or one beyond any use."""
_SPARE_DESCRIPTORS = 64
"""Descriptors that starting a process, and other threads at that time, may need."""
_ORIGINAL_LIMIT = resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_limit() -> None:
    """Raise the soft limit to the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_OPEN if hard == resource.RLIM_INFINITY else min(hard, _MOST_OPEN)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):  # macOS allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def limit() -> int:
    """How many may be open now."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST_OPEN if soft == resource.RLIM_INFINITY else min(soft, _MOST_OPEN)


@contextmanager
def original_limit(highest: int) -> Iterator[None]:
    """Processes that are started inside the `with` have the soft limit that we were started with. `highest` is about
    the highest descriptor in use: where that comes near the old limit nothing is done, for nothing could be opened;
    then `restore_limit` does it a moment later."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not _is_limit_raised(soft) or highest + _SPARE_DESCRIPTORS > _ORIGINAL_LIMIT:
        yield
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (_ORIGINAL_LIMIT, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def restore_limit(pid: int) -> None:
    """Give a process that we have just started the soft limit that we were started with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _is_limit_raised(soft) and hasattr(resource, "prlimit"):
        with suppress(OSError):  # it has ended already
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (_ORIGINAL_LIMIT, hard))


def _is_limit_raised(soft: int) -> bool:
    unlimited = resource.RLIM_INFINITY
    return unlimited != _ORIGINAL_LIMIT and (soft == unlimited or soft > _ORIGINAL_LIMIT)
