"""SIGTERM and SIGINT as events, and work that gives way to them."""

import asyncio
import signal
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(eq=False)
class Signals:
    """SIGTERM and SIGINT: the first asks for the end, a second one is in a hurry."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hurried: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._heard)

    def _heard(self) -> None:
        (self.hurried if self.asked.is_set() else self.asked).set()

    async def unless_asked(self, work: Coroutine[None, None, T]) -> T | None:
        """The result of some work, or None if the end was asked for first; then the work is cancelled."""
        return await _unless(self.asked, work)

    async def unless_hurried(self, work: Coroutine[None, None, T]) -> T | None:
        """As `unless_asked`, for the second signal."""
        return await _unless(self.hurried, work)


async def _unless(event: asyncio.Event, work: Coroutine[None, None, T]) -> T | None:
    task, waiting = asyncio.create_task(work), asyncio.create_task(event.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    return None if task.cancelled() else task.result()
