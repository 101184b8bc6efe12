"""One child process from its start to its `Exit`: the run of a command.

A run ends when the child's *own* process ends (`leader.py`), not when the last holder of its output does: what it left
behind gets a short grace and is then read to its end in the background (shell-operator waits for it). A command may
ask that it is killed instead.
"""

import asyncio
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from hookrunner import log
from hookrunner.process.leader import Leader, WaitStatus
from hookrunner.process.output import ChunkSink, LineReader, LineSink, OutputPipe, OutputStream
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in one unit of ru_maxrss, getrusage(2)


@dataclass(frozen=True, slots=True)
class ForkTerms:
    """How a command may run in a child of a prepared interpreter, if it is a Python script. `variables` are the names
    of those of its environment that are of this run alone; `packages` may be imported ahead, beside the standard
    library."""

    variables: frozenset[str] = frozenset()
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """One process to run.

    `argv[0]` is an absolute path, `env` the whole environment, `timeout` seconds (None: no limit). `keep_stdout` and
    `keep_stderr` are the bytes of each stream that the `Exit` brings back: the first half from its start, the second
    from its end. `kill_after` are seconds from SIGTERM to SIGKILL, None for those of all children. `stdin` is what it
    reads: a file, bytes, or a descriptor that stays the caller's; None for nothing. `leaves_nothing`: what it leaves
    behind in its group is killed as soon as it has ended, and its output is not waited for. `channels` become its
    descriptors 3 and 4: they stay the caller's too. `descriptors` are open in it under the same numbers. `fork`: it may
    be forked from a prepared interpreter (`prepared_interpreters.py`).
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    timeout: float | None = None
    keep_stdout: int = 0
    keep_stderr: int = 64 * 1024
    kill_after: float | None = None
    stdin: Path | bytes | int | None = None
    leaves_nothing: bool = False
    channels: tuple[int, int] | None = None
    descriptors: tuple[int, ...] = ()
    fork: ForkTerms | None = None


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
    pid: int = 0
    ok: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ok", self.code == 0 and not self.timed_out)

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


class Child:
    """A running process. `result` is awaited once, by the code that started it; `stop` may be called by any other."""

    def __init__(
        self, command: Command, spawned: Spawned, sink: LineSink, patience: Patience, answer: ChunkSink | None = None
    ) -> None:
        self._start = time.monotonic()
        self._leaves_nothing = command.leaves_nothing
        self._timeout = command.timeout
        kill_after = patience.kill if command.kill_after is None else command.kill_after
        self._patience = replace(patience, kill=kill_after)
        self._leader = Leader(spawned.pid)
        self._stdout = LineReader(OutputStream.STDOUT, sink, command.keep_stdout)
        self._stderr = LineReader(OutputStream.STDERR, sink, command.keep_stderr)
        self.pipes = (
            OutputPipe(spawned.stdout, answer or self._stdout, self._leader.woken.set),
            OutputPipe(spawned.stderr, self._stderr, self._leader.woken.set),
        )
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
            if self._leaves_nothing:
                self._leader.signal(signal.SIGKILL)
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
        if self._leaves_nothing:  # its holder has left the group
            for pipe in self.pipes:
                pipe.close()
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
            pid=self._leader.pid,
        )


async def _within(seconds: float | None, *events: asyncio.Event) -> bool:
    """Wait until all are set. False if that took too long. After a pause of the machine, events that were set
    during it count, because the moment at which they were set is unknown."""
    if all(event.is_set() for event in events):
        return True
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
