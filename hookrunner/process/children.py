"""All children of this process that run commands: start one, stop all, reap orphans.

It knows processes, not hooks: `hooks/` decides what an exit code means, and reads the files of a run.

Orphans are processes that lost their parent and were given to this process, because it is PID 1 or a subreaper
(prctl(2)). None is reaped before it is known that no code waits for it, so no exit status is stolen: neither from the
runs here, nor from other code that starts processes (workers, credential plugins). The latter stay in the process group
of this process, while hooks and all that they start live in groups of their own.

`subprocess.Popen` without `preexec_fn` and without another user takes the vfork path on Python 3.11 to 3.13, whatever
the size of this process. A child leads a process group of its own, reads from /dev/null or a file, and has the default
signal mask and SIGPIPE (`restore_signals`).
"""

import asyncio
import errno
import os
import signal
import subprocess
from collections.abc import Container, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from hookrunner import safe_files
from hookrunner.errors import HookFailed
from hookrunner.process.child import Child, Command, Exit, Patience, Spawned
from hookrunner.process.output import ChunkSink, LineSink, OutputPipe

_BUSY_TRIES = 20
_BUSY_PAUSE = 0.05  # seconds between them: the writer of the file has a second to end
_HASHBANG = 256  # bytes of the first line that Linux reads, BINPRM_BUF_SIZE


class Children:
    """The running children. One per process, used from its event loop."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._running: dict[int, Child] = {}
        self._lingering: list[OutputPipe] = []
        self._adopting = False
        self._stopping = asyncio.Event()

    def __len__(self) -> int:
        return len(self._running)

    async def run(self, command: Command, sink: LineSink, answer: ChunkSink | None = None) -> Exit:
        """Run one command to its end, its lines going to the sink while it runs. With `answer`, its standard output
        goes there instead, and the child is ended as soon as that wants no more.

        When the caller is cancelled, the whole process group is ended first: SIGTERM, then SIGKILL; a second
        cancellation goes to SIGKILL at once. Raises HookFailed if it cannot be started.
        """
        if self._stopping.is_set():
            raise HookFailed(f"{command.argv[0]} was not started: hookrunner is stopping")
        child = Child(command, await spawn(command), sink, self._patience, answer)
        self._running[child.pid] = child
        if self._stopping.is_set():  # while the file was busy
            child.stop(grace=0)
        try:
            return await child.result()
        finally:
            del self._running[child.pid]
            self._lingering = [pipe for pipe in (*self._lingering, *child.pipes) if not pipe.eof.is_set()]
            if self._adopting:
                self._reap_orphans()

    async def stop(self, grace: float) -> int:
        """End all: SIGTERM to their groups, SIGKILL after `grace` seconds. Return how many had to be killed.

        Their `run` calls return as usual, with the signal. Nothing can be started from now on. Output of what children
        left behind earlier is given up.
        """
        self._stopping.set()
        children = list(self._running.values())
        for child in children:
            child.stop(grace)
        for child in children:
            await child.done.wait()
        for pipe in self._lingering:
            pipe.drain()
            pipe.close()
        return sum(child.killed for child in children)

    def adopt_orphans(self) -> None:
        """Reap processes that lost their parent and came to us: for PID 1, and for a subreaper (prctl(2)).

        Call it in the main thread, in the running loop.
        """
        self._adopting = True
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap_orphans)

    def _reap_orphans(self) -> None:
        reap_orphans(self._running)


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
        with _open_stdin(command) as stdin, safe_files.original_limit(max(ends)):
            process = subprocess.Popen(
                command.argv,
                cwd=command.cwd,
                env=command.env,
                stdin=stdin,
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


def _open_stdin(command: Command) -> AbstractContextManager[BinaryIO | int]:
    """Bytes are passed as a file without a name: a child that never reads them holds up nothing."""
    match command.stdin:
        case int() as descriptor:
            return nullcontext(descriptor)
        case bytes() as content:
            return _anonymous_file(content)
        case path:
            return (path or Path(os.devnull)).open("rb")


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
        with path.open("rb") as file:
            first = file.read(_HASHBANG)
    except OSError:
        return ""
    if first.startswith(b"#!"):
        line = first[2:].split(b"\n")[0]
        interpreter = line.strip().split(b" ")[0]
        is_good = interpreter and not line.endswith(b"\r") and Path(os.fsdecode(interpreter)).exists()
        return "" if is_good else _bad_interpreter(path)
    if first.isascii() and b"\0" not in first:  # no binary has such a beginning
        return "it is a text without a first line like #!/bin/bash; add one"
    return ""


def _bad_interpreter(path: Path) -> str:
    """The file exists and yet is "not found": the kernel means the interpreter in its first line."""
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
    return f"its interpreter {interpreter} is not there; install it or correct the first line"


def reap_orphans(ours: Container[int]) -> None:
    """Reap every ended child that no code waits for. `ours` are the children whose `run` is going on.

    The kernel shows one ended child at a time, the oldest first. If that is in `ours`, look again when it has been
    reaped, which is soon.
    """
    while (pid := _ended_child()) is not None and pid not in ours:
        if not _is_orphan(pid):
            _reap_behind(ours)  # its owner may never come for it
            return
        os.waitpid(pid, os.WNOHANG)


def _ended_child() -> int | None:
    """Look at a child that has ended without taking its exit status (WNOWAIT)."""
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return ended.si_pid if ended else None


def _is_orphan(pid: int) -> bool:
    try:
        return os.getpgid(pid) != os.getpgrp()
    except ProcessLookupError:  # a thread has waited for it in the meantime
        return False


def _reap_behind(ours: Container[int]) -> None:
    """Reap those that the kernel does not show because another zombie stands before them.

    Does nothing on a kernel without the list of children, proc_tid_children(5): then they wait for that zombie's owner.
    """
    for pid in _children():
        if pid not in ours and _is_orphan(pid):
            os.waitpid(pid, os.WNOHANG)


def _children() -> list[int]:
    """The children of all threads, whether they have ended or not."""
    pids: list[int] = []
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            pids += map(int, path.read_text().split())
    return pids
