"""All children of this process that run commands: start one, stop all, reap what is not ours.

Knows processes, not hooks: what the exit code means, and what the files beside it say, is for `hooks`.
"""

import asyncio
import signal

from hookrunner.errors import HookFailed
from hookrunner.process.child import Child, Exit, Patience
from hookrunner.process.orphans import reap_orphans
from hookrunner.process.pipes import LineSink, Pipe
from hookrunner.process.spawn import Command, spawn


class Children:
    """The running children. One per process, used from its event loop."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._running: dict[int, Child] = {}
        self._lingering: list[Pipe] = []
        self._adopting = False
        self._stopping = asyncio.Event()

    def __len__(self) -> int:
        return len(self._running)

    async def run(self, command: Command, sink: LineSink) -> Exit:
        """Run one command to its end, its lines going to the sink while it runs.

        When the caller is cancelled, the whole process group is ended first: SIGTERM, then SIGKILL; a second
        cancellation goes to SIGKILL at once. Raises HookFailed if it cannot be started.
        """
        if self._stopping.is_set():
            raise HookFailed(f"{command.argv[0]} was not started: hookrunner is stopping")
        child = Child(command, await spawn(command), sink, self._patience)
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

        To be called in the main thread, in the running loop.
        """
        self._adopting = True
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap_orphans)

    def _reap_orphans(self) -> None:
        reap_orphans(self._running)
