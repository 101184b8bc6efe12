"""One child process from its start to its `Exit`: the process itself as the leader of its group (`Leader`), and the run
of a command in it (`Child`).

A run ends when the child's *own* process ends, not when the last holder of its output does: what it left behind gets a
short grace and is then read to its end in the background (shell-operator waits for it).

On Linux the event loop waits on a pidfd (pidfd_open(2)), elsewhere a thread waits. With a pidfd the ended leader stays
a zombie until `reap`, so that its group can be signalled safely: only an unreaped leader keeps the kernel from giving
the id of the group to another process.
"""

import asyncio
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hookrunner import log
from hookrunner.process.output import LineSink, OutputPipe, OutputStream

_log = log.get("process")
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in one unit of ru_maxrss, getrusage(2)


@dataclass(frozen=True, slots=True)
class Command:
    """One process to run.

    `argv[0]` is an absolute path, `env` the whole environment, `timeout` seconds (None: no limit). `keep_stdout` and
    `keep_stderr` are the bytes of each stream that the `Exit` brings back: the first half from its start, the second
    from its end. `kill_after` are seconds from SIGTERM to SIGKILL, None for those of all children. `stdin` is a file
    that it reads, None for nothing.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    timeout: float | None = None
    keep_stdout: int = 0
    keep_stderr: int = 64 * 1024
    kill_after: float | None = None
    stdin: Path | None = None


@dataclass(frozen=True, slots=True)
class Spawned:
    """A process that has started, and the read ends of its streams."""

    pid: int
    stdout: int
    stderr: int


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended, and what it used.

    Either `code` or `signal` is set (neither if other code took the exit status). `seconds` is wall time until its
    own process ended. `max_rss_bytes` is never less than the memory of this process when it started the child: after
    vfork, Linux counts the parent's peak as the child's (getrusage(2), `ru_maxrss`).
    """

    code: int | None
    signal: int | None
    timed_out: bool
    seconds: float
    user_seconds: float
    system_seconds: float
    max_rss_bytes: int
    stdout: bytes
    stderr: bytes

    @property
    def ok(self) -> bool:
        return self.code == 0 and not self.timed_out

    def __str__(self) -> str:
        """In words: `exit status 3`, `killed by SIGKILL`, `timed out after 5.0s`."""
        if self.timed_out:
            return f"timed out after {self.seconds:.1f}s"
        if self.signal is not None:
            return f"killed by {_signal_name(self.signal)}"
        return "exit status unknown" if self.code is None else f"exit status {self.code}"


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: `kill` from SIGTERM to SIGKILL, `linger` for output that outlives its process. `tidy`: then kill what a
    process leaves behind in its group."""

    kill: float = 5.0
    linger: float = 0.15
    tidy: bool = False


@dataclass(frozen=True, slots=True)
class WaitStatus:
    """What wait4(2) returns: the exit code, negative for a signal, None if other code took it; CPU and peak memory."""

    code: int | None
    resources: resource.struct_rusage


class Child:
    """A running process. `result` is awaited once, by the code that started it; `stop` may be called by any other."""

    def __init__(self, command: Command, spawned: Spawned, sink: LineSink, patience: Patience) -> None:
        self._start = time.monotonic()
        self._timeout = command.timeout
        kill_after = patience.kill if command.kill_after is None else command.kill_after
        self._patience = replace(patience, kill=kill_after)
        self._leader = Leader(spawned.pid)
        self._stdout = OutputPipe(spawned.stdout, OutputStream.STDOUT, sink, command.keep_stdout)
        self._stderr = OutputPipe(spawned.stderr, OutputStream.STDERR, sink, command.keep_stderr)
        self.pipes = (self._stdout, self._stderr)
        self.killed = False
        self.done = asyncio.Event()

    @property
    def pid(self) -> int:
        return self._leader.pid

    def stop(self, grace: float) -> None:
        """Ask it to end: SIGTERM to the group now, SIGKILL after `grace` seconds. `done` is set when it has ended."""
        self._patience = replace(self._patience, kill=grace)
        self._leader.woken.set()

    async def result(self) -> Exit:
        """Wait for its end, its timeout or `stop`. Cancelled, it ends the whole group before it raises."""
        try:
            in_time = await _within(self._timeout, self._leader.woken)
            timed_out = not in_time and not self._leader.ended.is_set()
            if not self._leader.ended.is_set():
                await self._terminate()
            await self._linger()
            if self._patience.tidy:
                self._leader.signal(signal.SIGKILL)
            return self._exit(self._leader.reap(), timed_out)
        except BaseException:
            await self._abandon()
            raise
        finally:
            self.done.set()

    async def _terminate(self) -> None:
        """SIGTERM to the group, and when its time is up SIGKILL to what is left of it."""
        self._leader.signal(signal.SIGTERM)
        try:
            # Who holds the pipes longer than the leader is a child of it that still cleans up.
            ends = (self._leader.ended, *(pipe.eof for pipe in self.pipes))
            self.killed = not await _within(self._patience.kill, *ends)
        finally:
            self._leader.signal(signal.SIGKILL)
        await self._leader.ended.wait()

    async def _abandon(self) -> None:
        """The caller was cancelled: end the group. Cancelled once more, kill it at once; it is reaped when it is
        dead."""
        try:
            if not self._leader.reaped:
                await self._terminate()
        finally:
            self._leader.release()
            for pipe in self.pipes:
                pipe.drain()
                pipe.close()

    async def _linger(self) -> None:
        """Take the rest of the output. If a pipe outlives the process, say who holds it and go on."""
        for pipe in self.pipes:
            pipe.drain()
        if await _within(self._patience.linger, *(pipe.eof for pipe in self.pipes)):
            return
        _log.warn(
            "the hook has ended, but processes that it started still hold its output, which is logged until they end;"
            " wait for them in the hook, or start them with >/dev/null 2>&1",
            processes=self._leader.group() or "none in the hook's process group",
        )
        for pipe in self.pipes:
            pipe.flush()

    def _exit(self, usage: WaitStatus, timed_out: bool) -> Exit:
        code, resources = usage.code, usage.resources
        return Exit(
            code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            timed_out=timed_out,
            seconds=self._leader.end - self._start,
            user_seconds=resources.ru_utime,
            system_seconds=resources.ru_stime,
            max_rss_bytes=resources.ru_maxrss * _RSS_UNIT,
            stdout=self._stdout.kept.bytes(),
            stderr=self._stderr.kept.bytes(),
        )


async def _within(seconds: float | None, *events: asyncio.Event) -> bool:
    """Wait until all are set. False if that took too long. After a pause of the machine, events that were set
    during it count, because the moment at which they were set is unknown."""
    try:
        async with asyncio.timeout(seconds):
            for event in events:
                await event.wait()
    except TimeoutError:
        return all(event.is_set() for event in events)
    return True


def _signal_name(number: int) -> str:
    """Real-time signals have no name of their own."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


class Leader:
    """A started process that is not reaped yet.

    `ended` is set when it has ended, by itself or not; `woken` then too, and before that by code that
    interrupts the wait. `end` is the time.monotonic() of its end.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ended = asyncio.Event()
        self.woken = asyncio.Event()
        self.end = 0.0
        self._loop = asyncio.get_running_loop()
        self._usage: WaitStatus | None = None
        self._released = False
        try:
            self._pidfd = os.pidfd_open(pid)
        except (AttributeError, OSError):  # not Linux, or no descriptor left
            threading.Thread(target=self._wait, name=f"wait-{pid}", daemon=True).start()
        else:
            self._loop.add_reader(self._pidfd, self._readable)

    @property
    def reaped(self) -> bool:
        return self._usage is not None

    def signal(self, number: signal.Signals) -> None:
        """Send to the whole group. A group that has ended is no error."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError as error:
            _log.warn(f"cannot send {number.name} to the hook's processes", pid=self.pid, error=error)

    def reap(self) -> WaitStatus:
        """The exit status of a process that has ended; the zombie is gone after it."""
        if self._usage is None:
            self._usage = _wait4(self.pid)
        return self._usage

    def release(self) -> None:
        """Give up the exit status: reap the zombie now, or when the process ends."""
        self._released = True
        if self.ended.is_set():
            self._discard()

    def group(self) -> list[str]:
        """The processes in the group besides the leader: `name[pid]`. Empty where there is no /proc."""
        return [f"{row.name}[{row.pid}]" for row in processes() if row.group == self.pid != row.pid]

    def _readable(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._has_ended()

    def _has_ended(self) -> None:
        self.end = time.monotonic()
        self.ended.set()
        self.woken.set()
        if self._released:
            self._discard()

    def _discard(self) -> None:
        with suppress(ChildProcessError):  # reaped already, here or by `reap_orphans`
            os.waitpid(self.pid, os.WNOHANG)

    def _wait(self) -> None:
        self._usage = _wait4(self.pid)
        with suppress(RuntimeError):  # the loop was closed in the meantime
            self._loop.call_soon_threadsafe(self._has_ended)


def _wait4(pid: int) -> WaitStatus:
    try:
        _, status, resources = os.wait4(pid, 0)
    except ChildProcessError:  # SIGCHLD is ignored, or other code waits for every child
        _log.error("the exit status of a process was taken by other code", pid=pid)
        return WaitStatus(None, resource.struct_rusage((0,) * 16))
    return WaitStatus(os.waitstatus_to_exitcode(status), resources)


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One process: its name, its state (one letter, `Z` for a zombie), its parent and its process group."""

    pid: int
    name: str
    state: str
    parent: int
    group: int


def processes() -> Iterator[ProcessRow]:
    """Every process that /proc shows, proc_pid_stat(5). Those that end during the call may be missing. About 20 µs
    each."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = path.read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        pid, _, name = head.partition(" (")
        state, parent, group, *_ = tail.split()
        yield ProcessRow(int(pid), name, state, int(parent), int(group))
