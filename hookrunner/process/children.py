"""All children of this process that run commands: start one, stop all, reap orphans.

It knows processes, not hooks: `hooks/` decides what an exit code means, and reads the files of a run.

Orphans are processes that lost their parent and were given to this process, because it is PID 1 or a subreaper
(prctl(2)). None is reaped before it is known that no code waits for it, so no exit status is stolen: neither from the
runs here, nor from other code that starts processes (workers, credential plugins). The latter stay in the process group
of this process, while hooks and all that they start live in groups of their own.
"""

import asyncio
import os
import signal
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

from hookrunner.errors import HookFailed
from hookrunner.process.child import Child, Command, Exit, Patience, Spawned
from hookrunner.process.leader import Leader
from hookrunner.process.output import ChunkSink, LineSink, OutputPipe
from hookrunner.process.prepared_interpreters import PreparedInterpreters
from hookrunner.process.python_script import NotForked
from hookrunner.process.spawn import spawn


class Children:
    """The running children. One per process, used from its event loop."""

    def __init__(self, patience: Patience, interpreters: PreparedInterpreters | None = None) -> None:
        self.interpreters = interpreters or PreparedInterpreters()
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
        return await self.wait(await self.start(command, sink, answer))

    async def start(self, command: Command, sink: LineSink, answer: ChunkSink | None = None) -> Child:
        """Start it for `wait`, which must follow. Raises HookFailed if it cannot be started."""
        self._require_time(command)
        child = Child(command, await self._spawn(command), sink, self._patience, answer)
        self._running[child.pid] = child
        if self._stopping.is_set():  # while the file was busy
            child.stop(grace=0)
        return child

    async def wait(self, child: Child) -> Exit:
        """The end of a child that was started. Cancelled, it is ended as `run` says."""
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
        await self.interpreters.stop()
        return sum(child.killed for child in children)

    def adopt_orphans(self) -> None:
        """Reap processes that lost their parent and came to us: for PID 1, and for a subreaper (prctl(2)).

        Call it in the main thread, in the running loop.
        """
        self._adopting = True
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap_orphans)

    def _reap_orphans(self) -> None:
        """Not while a child may be there whose id is not known yet. It is looked for again after each run."""
        if not self.interpreters.is_forking:
            reap_orphans({*self._running, *self.interpreters.pids})

    def _require_time(self, command: Command) -> None:
        """Raises HookFailed if nothing can be started any more."""
        if self._stopping.is_set():
            raise HookFailed(f"{command.argv[0]} was not started: hookrunner is stopping")

    async def _spawn(self, command: Command) -> Spawned:
        """Start it, in a child of a prepared interpreter if that can be. Raises HookFailed."""
        if command.fork is None:
            return await spawn(command)
        forking = asyncio.ensure_future(self.interpreters.spawn(command))
        try:
            return await asyncio.shield(forking)
        except NotForked:
            self._require_time(command)
            return await spawn(command)
        except asyncio.CancelledError:
            forking.add_done_callback(_abandon)
            raise


def _abandon(forking: asyncio.Future[Spawned]) -> None:
    """End a process that was started too late."""
    if forking.cancelled() or forking.exception():
        return
    spawned = forking.result()
    os.close(spawned.stdout)
    os.close(spawned.stderr)
    leader = Leader(spawned.pid)
    leader.signal(signal.SIGKILL)
    leader.release()


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
