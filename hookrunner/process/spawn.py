"""Starts the process of one command, and says in the user's words why it could not be started.

`subprocess.Popen` without `preexec_fn` and without another user takes the vfork path on Python 3.11 to 3.13, whatever
the size of this process. The child leads a process group of its own, reads from /dev/null, and has the
default signal mask and SIGPIPE (`restore_signals`).
"""

import asyncio
import errno
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hookrunner import safe_files
from hookrunner.errors import HookFailed

_BUSY_TRIES = 20
_BUSY_PAUSE = 0.05  # seconds between them: the writer of the file has a second to end
_HASHBANG = 256  # bytes of the first line that Linux reads, BINPRM_BUF_SIZE


@dataclass(frozen=True, slots=True)
class Command:
    """One process to run.

    `argv[0]` is an absolute path, `env` the whole environment, `timeout` seconds (None: no limit). `keep_stdout` and
    `keep_stderr` are the bytes of each stream that the `Exit` brings back: the first half from its start, the second
    from its end. `kill_after` are seconds from SIGTERM to SIGKILL, None for those of all children.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    timeout: float | None = None
    keep_stdout: int = 0
    keep_stderr: int = 64 * 1024
    kill_after: float | None = None


@dataclass(frozen=True, slots=True)
class Spawned:
    """A process that has started, and the read ends of its streams."""

    pid: int
    stdout: int
    stderr: int


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
            process = subprocess.Popen(
                command.argv,
                cwd=command.cwd,
                env=command.env,
                stdin=subprocess.DEVNULL,
                stdout=ends[1],
                stderr=ends[3],
                process_group=0,
            )
        safe_files.restore_limit(process.pid)
    except BaseException:
        for end in ends:
            os.close(end)
        raise
    os.close(ends[1])
    os.close(ends[3])
    process.returncode = 0  # Popen must not wait for the child when it is forgotten here: `Leader` does
    return Spawned(process.pid, ends[0], ends[2])


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


def _bad_interpreter(path: Path) -> str:
    """The file is there and yet "not found": the kernel means the interpreter in its first line."""
    try:
        with path.open("rb") as file:
            first = file.read(_HASHBANG)
    except OSError as error:
        return f"it cannot be read: {error.strerror}; make it readable: chmod +r {path}"
    if not first.startswith(b"#!"):
        return "its dynamic loader is missing; it was built for another system (glibc or musl?)"
    line = first[2:].split(b"\n")[0]
    interpreter = line.strip().split(b" ")[0].decode(errors="replace")
    if line.endswith(b"\r"):
        return f"its first line ends in CRLF, so {interpreter}\\r is looked for; save it with Unix line ends (dos2unix)"
    return f"its interpreter {interpreter} is not there; install it or mend the first line"
