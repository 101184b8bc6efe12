"""Starts the process of a command, or says why it cannot be started and what to do.

`subprocess.Popen` without `preexec_fn` and without another user takes the vfork path on Python 3.11 to 3.13, whatever
the size of this process. A child leads a process group of its own, reads from /dev/null or a file, and has the default
signal mask and SIGPIPE (`restore_signals`).
"""

import asyncio
import errno
import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, TypeAlias

from hookrunner import safe_files
from hookrunner.errors import HookFailed
from hookrunner.process import hashbang
from hookrunner.process.child import Command, Spawned

FileFingerprint: TypeAlias = tuple[int, int, int, int]
"""Device, inode, time of the last change and size of a file."""

_BUSY_TRIES = 20
_BUSY_PAUSE = 0.05  # seconds between them: the writer of the file has a second to end
_SHELL = "/bin/sh"
_LOWEST = 10  # of the copies of descriptors that a child gets
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)  # by Python; a child has their defaults


async def spawn(command: Command) -> Spawned:
    """Start it. A file that is just being written ("text file busy") is tried again for a second.

    Raises HookFailed with what is wrong and what to do.
    """
    for _ in range(_BUSY_TRIES):
        try:
            return _spawn(command)
        except OSError as error:
            if error.errno != errno.ETXTBSY:
                raise HookFailed(f"cannot start {command.argv[0]}: {_advice(command, error)}") from error
        except ValueError as error:  # a NUL in an argument, "=" in a variable's name
            raise HookFailed(f"cannot start {command.argv[0]}: {error}") from error
        await asyncio.sleep(_BUSY_PAUSE)
    raise HookFailed(f"cannot start {command.argv[0]}: some process still has the file open for writing; close it")


def _spawn(command: Command) -> Spawned:
    """Start it once, or raise OSError and leave no descriptor open."""
    ends: list[int] = []
    try:
        ends += os.pipe()
        ends += os.pipe()
        with safe_files.original_limit(max(ends)):
            pid = (_start_with_channels if command.channels else _start)(command, ends[1], ends[3])
        safe_files.restore_limit(pid)
    except BaseException:
        for end in ends:
            os.close(end)
        raise
    os.close(ends[1])
    os.close(ends[3])
    return Spawned(pid, ends[0], ends[2])


def _start(command: Command, stdout: int, stderr: int) -> int:
    """The id of the new process."""
    with _open_stdin(command) as stdin:
        process = subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env=command.env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            process_group=0,
            pass_fds=command.descriptors,
        )
    process.returncode = 0  # Popen must not wait for the child when it is forgotten here: `Leader` does
    return process.pid


def _start_with_channels(command: Command, stdout: int, stderr: int) -> int:
    """The same with descriptors 3 and 4, which Popen cannot place. posix_spawn cannot change the directory: a shell
    does, and becomes the command."""
    with ExitStack() as stack, _open_stdin(command) as stdin:
        # Above those that they become, so that none of them is overwritten before it is copied.
        given = [_copied(stack, source) for source in (_number(stdin), stdout, stderr, *(command.channels or ()))]
        return os.posix_spawn(
            _SHELL,
            [_SHELL, "-c", 'cd "$0" && exec "$@"', str(command.cwd.absolute()), *command.argv],
            command.env,
            file_actions=[
                *((os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate(given)),
                *((os.POSIX_SPAWN_CLOSE, inherited) for inherited in _inheritable(len(given))),
            ],
            setpgroup=0,
            setsigdef=_IGNORED,
        )


def _copied(stack: ExitStack, descriptor: int) -> int:
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
    stack.callback(os.close, copy)
    return copy


def _number(file: BinaryIO | int) -> int:
    return file if isinstance(file, int) else file.fileno()


def _inheritable(lowest: int) -> Iterator[int]:
    """Descriptors of this process that a child would get: Python opens none such, but may have been given some."""
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # that of the list itself
            if int(name) >= lowest and os.get_inheritable(int(name)):
                yield int(name)


def _open_stdin(command: Command) -> AbstractContextManager[BinaryIO | int]:
    """Bytes are passed as a file without a name: a child that never reads them holds up nothing."""
    match command.stdin:
        case int() as descriptor:
            return nullcontext(descriptor)
        case bytes() as content:
            return _anonymous_file(content)
        case None:
            return _open_null()
        case path:
            return path.open("rb")


@contextmanager
def _open_null() -> Iterator[int]:
    """Nothing to read. Without a file object of Python, which costs 30 µs in each run."""
    descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _anonymous_file(content: bytes) -> Iterator[BinaryIO]:
    with _open_anonymous() as file:
        file.write(content)
        file.seek(0)
        yield file


def _open_anonymous() -> BinaryIO:
    """A file without a name; in memory on Linux."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("stdin"), "w+b")
    return TemporaryFile()


def _advice(command: Command, error: OSError) -> str:
    """What is wrong and what to do."""
    path = Path(command.argv[0])
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR if not command.cwd.is_dir():
            return f"its working directory {command.cwd} is not there"
        case errno.ENOENT | errno.ENOTDIR if not path.exists():
            return "the file is not there"
        case errno.ENOENT | errno.ENOTDIR:
            return _bad_interpreter(path)
        case errno.EACCES if not os.access(path, os.X_OK):
            return f"permission denied; make it executable: chmod +x {path}"
        case errno.EACCES:
            return "permission denied; see whether its interpreter is executable and no mount on the way is `noexec`"
        case errno.ENOEXEC:
            return (
                "exec format error; a script needs a first line like #!/bin/bash, a binary this machine's architecture"
            )
        case errno.E2BIG:
            return "its arguments and environment are too long for the system; set fewer or shorter variables"
        case errno.EAGAIN | errno.ENOMEM:
            return f"{error.strerror}; raise the limit of processes (ulimit -u, the pod's pids limit) or of memory"
        case errno.EMFILE | errno.ENFILE:
            return f"{error.strerror}; raise the limit of open files (ulimit -n)"
        case _:
            return str(error.strerror or error)


def fingerprint(path: Path) -> FileFingerprint | None:
    """What changes when the file does; None if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def why_not_startable(path: Path) -> str:
    """What is wrong with an executable and what to do, as far as that shows without starting it; else ""."""
    if not safe_files.may_exist(path):
        return "the file is not there; correct the path"
    if not safe_files.may_be_file(path):
        return "it is no file but a directory or a device; name the executable itself"
    if not os.access(path, os.X_OK):
        return f"permission denied; make it executable: chmod +x {path}"
    return _bad_first_line(path)


def _bad_first_line(path: Path) -> str:
    """A script without a first line, or whose interpreter is missing. What cannot be read may still be executed."""
    try:
        head = hashbang.read_head(path)
    except OSError:
        return ""
    if line := hashbang.parse(head):
        is_good = line.interpreter and not line.ends_in_return and Path(line.interpreter).exists()
        return "" if is_good else _bad_interpreter(path)
    if head.isascii() and b"\0" not in head:  # no binary has such a beginning
        return "it is a text without a first line like #!/bin/bash; add one"
    return ""


def _bad_interpreter(path: Path) -> str:
    """The file exists and yet is "not found": the kernel means the interpreter in its first line."""
    try:
        line = hashbang.parse(hashbang.read_head(path))
    except OSError as error:
        return f"it cannot be read: {error.strerror}; make it readable: chmod +r {path}"
    if line is None:
        return "its dynamic loader is missing; it was built for another system (glibc or musl?)"
    interpreter = line.interpreter.rstrip("\r")
    if line.ends_in_return:
        return f"its first line ends in CRLF, so {interpreter}\\r is looked for; save it with Unix line ends (dos2unix)"
    return f"its interpreter {interpreter} is not there; install it or correct the first line"
