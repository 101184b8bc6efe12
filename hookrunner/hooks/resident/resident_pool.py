"""The processes of one resident hook: started when a run needs one, replaced before they grow old, ended when idle.

    process = await pool.claim()            # waits for a free place, for a start, for the pause after a death
    try:
        ...
    finally:
        pool.release(process)

Which runs may be side by side is decided by the queues: here they only find a place. A process that dies is started
again after 1 s, doubled up to 30 s until one answers a run.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextvars import Context

from hookrunner import log
from hookrunner.errors import HookFailed
from hookrunner.hooks.resident.resident_process import ResidentProcess
from hookrunner.model.bindings import Hook, Resident
from hookrunner.model.status import ResidentDump
from hookrunner.process.spawn import fingerprint
from hookrunner.waits import Notifier, Pauses

RESTARTS = Pauses(1.0, 30.0)
"""From the death of one process to the start of the next."""
CRASH_LOOP = 5
"""Deaths in a row without an answer."""
_SPREAD = 0.1
"""Of the number of runs after which a process is replaced: those of one hook do not end together."""

_log = log.get(__name__)

Start = Callable[[], Awaitable[ResidentProcess]]


class ResidentPool:
    """Keeps the processes of a hook. `start` makes one that has said hello."""

    def __init__(self, hook: Hook, settings: Resident, start: Start, pauses: Pauses) -> None:
        self.hook = hook
        self.restarts = Counter[str]()
        self._settings = settings
        self._start = start
        self._pauses = pauses
        self._processes: list[ResidentProcess] = []
        self._old: list[ResidentProcess] = []
        """Replaced, but not before another one is ready."""
        self._starting: asyncio.Task[None] | None = None
        self._waiting = 0
        self._failures = 0
        """Deaths in a row without an answer, `_refused` of them before the hello."""
        self._refused = 0
        self._trouble: HookFailed | None = None
        self._changed = Notifier()
        self._watchers = set[asyncio.Task[None]]()
        self._file = fingerprint(hook.path)
        self._last_used = time.monotonic()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._is_closed = self._is_retired = False

    async def claim(self) -> ResidentProcess:
        """A process with a free place, which is taken. Raises HookFailed if none can be started."""
        if fingerprint(self.hook.path) != self._file:
            self._replace_all("file")
        self._waiting += 1
        try:
            while (process := self._free()) is None:
                refused = self._refused
                self._begin_start()
                await self._changed.next()
                if self._is_closed:
                    raise HookFailed(f"{self.hook.name} was not run: hookrunner is stopping")
                if self._refused > refused and self._trouble:
                    raise HookFailed(str(self._trouble)) from self._trouble
        finally:
            self._waiting -= 1
        process.claimed += 1
        return process

    def release(self, process: ResidentProcess, recycle: bool = False) -> None:
        """Give back the place. `recycle`: the hook asks for a new process."""
        process.claimed -= 1
        self._last_used = time.monotonic()
        if process.has_answered:
            self._failures, self._trouble = 0, None
        if self._is_retired and not self._waiting:
            self._replace_all("")
        elif why := self._due(process, recycle):
            self._replace(process, why)
        self._settle_old()
        self._watch_idle()
        self._changed.notify()

    def is_failing(self) -> bool:
        """Can no process be started at the moment? One is tried again after the pause."""
        if self._trouble is None or self._free():
            return False
        self._begin_start()
        return True

    @property
    def falls_back(self) -> bool:
        """Does a run get a process of its own if none can be started that stays?"""
        return self._settings.fallback

    def state(self) -> ResidentDump:
        """What is shown of it."""
        alive = [process for process in self._processes if process.is_alive]
        return ResidentDump(
            processes=len(alive),
            age=max((time.monotonic() - process.began for process in alive), default=0.0),
            memory=sum(process.usage.read()[2] for process in alive),
            in_use=sum(process.claimed for process in alive),
            places=sum(process.hello.concurrency for process in alive),
            restarts=dict(self.restarts),
            trouble=str(self._trouble or ""),
            in_crash_loop=self._failures >= CRASH_LOOP,
        )

    def retire(self) -> None:
        """The hook is removed or has changed: end every process as soon as it has answered its runs, and runs that wait
        for one."""
        self._is_retired = True
        self._replace_all("")
        self._settle_old()

    async def close(self) -> int:
        """End all: runs are asked to end soon. Returns when no process is left, how many runs had to be ended."""
        self._is_closed = True
        if self._idle_timer:
            self._idle_timer.cancel()
        if self._starting:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        processes = [*self._processes, *self._old]
        ended = await asyncio.gather(*(process.stop_runs() for process in processes if process.open))
        await asyncio.gather(*(process.end() for process in processes))
        self._changed.notify()
        return sum(ended)

    def _free(self) -> ResidentProcess | None:
        """The process that has been there longest among those with a free place."""
        return next((process for process in self._processes if process.free > 0), None)

    def _begin_start(self) -> None:
        """Unless there are enough, or one is dying: its death decides about the pause."""
        is_dying = not all(process.is_alive for process in self._processes)
        is_full = len(self._processes) >= self._settings.workers
        if not (self._starting or self._is_closed or is_dying or is_full):
            # In a context of its own: what the process prints outside of runs is not the log of the run that needed it.
            name = f"start of resident hook {self.hook.name}"
            self._starting = asyncio.create_task(self._add(), name=name, context=Context())

    async def _add(self) -> None:
        """Start one more, after the pause that the last death asks for."""
        try:
            if pause := self._pauses.after(self._failures):
                await asyncio.sleep(pause)
            self._file = fingerprint(self.hook.path)
            process = await self._start()
            process.most_runs = self._settings.max_runs * random.uniform(1 - _SPREAD, 1 + _SPREAD)  # noqa: S311
        except HookFailed as error:
            self._refused += 1
            self._note_failure(error)
        else:
            self._processes.append(process)
            task = asyncio.create_task(self._watch(process))
            self._watchers.add(task)
            task.add_done_callback(self._watchers.discard)
        finally:
            self._starting = None
            self._settle_old()
            self._changed.notify()

    async def _watch(self, process: ResidentProcess) -> None:
        """Note its end, if it was not asked to end."""
        assert process.task
        await asyncio.wait({process.task})
        if process in self._old:
            self._old.remove(process)
        elif process in self._processes:
            self._processes.remove(process)
            if not self._is_closed:
                self._failures = 0 if process.has_answered else self._failures
                self._note_failure(HookFailed(f"{self.hook.name} --resident: {process.reason}"))
        self._changed.notify()

    def _note_failure(self, error: HookFailed) -> None:
        self._failures += 1
        self._trouble = error
        self.restarts["failed"] += 1
        pause = self._pauses.after(self._failures)
        _log.warn("resident hook's process ended, starting it again", **self.hook.fields, error=error, seconds=pause)

    def _due(self, process: ResidentProcess, recycle: bool) -> str:
        """Why it has to be replaced; empty if it has not."""
        if process not in self._processes:
            return ""
        if recycle:
            return "asked"
        if process.ran >= process.most_runs:
            return "runs"
        memory = self._settings.max_memory
        return "memory" if memory and process.used[2] > memory else ""

    def _replace(self, process: ResidentProcess, why: str) -> None:
        """No more runs for it. It ends when another one is ready, or at once if no run waits."""
        if why:
            self.restarts[why] += 1
            _log.info("resident hook's process is replaced", **self.hook.fields, reason=why, runs=process.ran)
        self._processes.remove(process)
        self._old.append(process)

    def _replace_all(self, why: str) -> None:
        for process in list(self._processes):
            self._replace(process, why)

    def _settle_old(self) -> None:
        """End replaced processes that have no run, unless one is being started for runs that wait."""
        if self._waiting and not any(process.is_alive for process in self._processes):
            return
        for process in self._old:
            if not process.claimed:
                process.finish()

    def _watch_idle(self) -> None:
        """One timer for all runs: it looks when the last one was, and is set again."""
        if self._settings.idle and self._idle_timer is None and not self._is_closed:
            self._idle_timer = asyncio.get_running_loop().call_later(self._settings.idle, self._end_idle)

    def _end_idle(self) -> None:
        self._idle_timer = None
        left = self._last_used + self._settings.idle - time.monotonic()
        if left > 0 or any(process.claimed for process in self._processes):
            self._idle_timer = asyncio.get_running_loop().call_later(max(left, 1.0), self._end_idle)
        elif self._processes:
            self._replace_all("")
            self._settle_old()
