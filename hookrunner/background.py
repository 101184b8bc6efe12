"""Tasks that run beside everything else for as long as the process lives, and never die silently.

All of them are children of the one `TaskGroup` in `app.py`; an unexpected error in one is logged with its traceback,
counted, and the task starts again after a back-off, instead of taking the whole process down.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context

from hookrunner import log

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds before a crashed task starts again: doubled at each crash in a row."""

_log = log.get("background")


class Background:
    """Starts named tasks in a task group. `crashes` counts unexpected errors by name, for the metrics."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: set[asyncio.Task[None]] = set()
        self.crashes: dict[str, int] = {}

    def keep(self, name: str, run: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run `run()` for ever: if it raises, log and call it again; if it returns, it was done.

        Cancel the returned task to end it.
        """
        # In a context of its own: what whoever asks for it has bound to its log is no business of the task's.
        task = self._group.create_task(self._kept(name, run), name=name, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def stop(self) -> None:
        """Cancel every task that still runs."""
        for task in tuple(self._tasks):
            task.cancel()

    async def _kept(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        pause = FIRST_PAUSE
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                return await run()
            except Exception:
                self.crashes[name] = self.crashes.get(name, 0) + 1
                pause = FIRST_PAUSE if loop.time() - began > LONGEST_PAUSE else pause
                _log.error(
                    f"{name} failed unexpectedly, starting it again in {pause:g}s: please report this", exc_info=True
                )
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
