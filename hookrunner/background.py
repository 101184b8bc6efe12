"""Tasks that run beside everything else for as long as the process lives, and never die silently.

All of them are children of the one `TaskGroup` in `app.py`; an unexpected error in one is logged with its traceback,
counted, and the task starts again after a back-off, instead of taking the whole process down. One that fails again and
again makes the program not ready: what it should do is not done, and nothing else would say so.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextvars import Context

from hookrunner import log
from hookrunner.errors import internal
from hookrunner.model.timestamps import rfc3339
from hookrunner.waits import Pauses
from kubetypes.light_dataclasses import dataclass

PAUSES = Pauses(1.0, 30.0)
"""Seconds before a crashed task starts again: doubled at each crash in a row."""
STEADY = PAUSES.longest
"""Seconds for which a task must run until its earlier failures no longer count."""
_MANY = 2
"""Failures in a row from which a task counts as failing: once may be bad luck."""
_SHOWN = 3

_log = log.get(__name__)


@dataclass(eq=False, slots=True)
class _Kept:
    """The health of a task: its failures in a row, the first of them (epoch seconds), the last one's reason, and since
    when it runs (seconds of the event loop), None during a pause."""

    name: str
    failures: int = 0
    since: float = 0.0
    reason: str = ""
    began: float | None = None

    def begin(self, now: float) -> None:
        self.began = now

    def fail(self, now: float, reason: str) -> None:
        if self.is_steady(now):
            self.failures = 0
        if not self.failures:
            self.since = time.time()
        self.failures += 1
        self.reason, self.began = reason, None

    def is_steady(self, now: float) -> bool:
        return self.began is not None and now - self.began > STEADY

    def is_failing(self, now: float) -> bool:
        return self.failures >= _MANY and not self.is_steady(now)

    def __str__(self) -> str:
        return f"{self.name} failed {self.failures} times since {rfc3339(self.since)}: {self.reason}"


class Background:
    """Starts named tasks in a task group. `crashes` counts unexpected ends by name, for the metrics."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: dict[asyncio.Task[None], _Kept] = {}
        self.crashes: dict[str, int] = {}

    def keep(self, name: str, run: Callable[[], Awaitable[None]], *, ends: bool = False) -> asyncio.Task[None]:
        """Run `run()` indefinitely: if it raises, or returns, log and call it again. With `ends` a return means it is
        done.

        Cancel the returned task to end it.
        """
        kept = _Kept(name)
        # In a context of its own: the fields that the caller has bound to its log do not belong to the task.
        task = self._group.create_task(self._repeat(kept, run, ends), name=name, context=Context())
        self._tasks[task] = kept
        task.add_done_callback(self._tasks.pop)
        return task

    def stop(self) -> None:
        """Cancel every task that still runs."""
        for task in tuple(self._tasks):
            task.cancel()

    def failing(self) -> Iterator[str]:
        """The names of the tasks that fail again and again."""
        return (kept.name for kept in self._failing())

    def condition(self) -> tuple[bool, str]:
        """For `/readyz`: whether no task fails again and again, and which do, since when, and why."""
        failing = self._failing()
        more = f"; and {len(failing) - _SHOWN} more" if len(failing) > _SHOWN else ""
        shown = "; ".join(map(str, failing[:_SHOWN]))
        return (False, f"{shown}{more}; the log has more, please report it") if failing else (True, "")

    def _failing(self) -> list[_Kept]:
        now = asyncio.get_running_loop().time()
        return [kept for kept in self._tasks.values() if kept.is_failing(now)]

    async def _repeat(self, kept: _Kept, run: Callable[[], Awaitable[None]], ends: bool) -> None:
        loop = asyncio.get_running_loop()
        while True:
            kept.begin(loop.time())
            error: Exception | None = None
            try:
                await run()
            except Exception as raised:
                error = raised
            if error is None and ends:
                return
            kept.fail(loop.time(), internal(error) if error else "it ended, which it never should")
            self.crashes[kept.name] = self.crashes.get(kept.name, 0) + 1
            pause = PAUSES.after(kept.failures)
            what = f"{kept.name} {'failed' if error else 'ended'}"
            _log.error(f"{what} unexpectedly, starting it again in {pause:g}s: please report this", exc_info=error)
            del error  # or its traceback would hold what the task has seen
            await asyncio.sleep(pause)
