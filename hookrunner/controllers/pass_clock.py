"""When a loop makes its passes: at common times, so that the questions of several loops can share a call.

    clock = PassClock(period=10.0)
    while await clock.wait_for_pass(nodes.wait_for_view):
        ...                     # one pass
    clock.stop()                # from elsewhere: `wait_for_pass` is False from now on

The first pass comes as soon as it can. The others begin when the clock of the event loop shows a multiple of the
period: loops with one period, or with multiples of it, then ask in one and the same moment, without waiting for each
other. A pass may be told to be repeated after an exact time instead, shorter or longer than the period.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeAlias

from kubetypes.timers import timeout_at

Readiness: TypeAlias = Callable[[asyncio.Event], Awaitable[bool]]
"""Waits until a pass can be made, or until the event is set; can it?"""


class PassClock:
    """The times of one loop's passes, `period` seconds apart."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._began: float | None = None
        self._repeated_at: float | None = None
        self._stopped = asyncio.Event()

    async def wait_for_pass(self, ready: Readiness) -> bool:
        """Wait until the next pass is due and can be made; False after `stop`."""
        now = asyncio.get_running_loop().time
        if self._began is not None:
            tick = next_tick(self._began, now(), self._period)
            await wait_until_set(self._stopped, tick if self._repeated_at is None else self._repeated_at)
        self._repeated_at = None
        can_begin = await ready(self._stopped)
        self._began = now()
        return can_begin and not self._stopped.is_set()

    def repeat_after(self, seconds: float | None) -> None:
        """Make the next pass exactly so many seconds from now; None: when it is due."""
        self._repeated_at = None if seconds is None else asyncio.get_running_loop().time() + seconds

    def stop(self) -> None:
        """No pass begins any more."""
        self._stopped.set()


def next_tick(began: float, now: float, period: float) -> float:
    """When the pass after one that began then is due: at a multiple of the period that is not over. Passes begin half a
    period apart at least, which concerns those that began late: the first, and one that had to wait for a watch."""
    return period * math.ceil(max(began + period / 2, now) / period)


async def wait_until_set(event: asyncio.Event, until: float) -> bool:
    """Wait for an event, until this time of the loop's clock at the latest; did it happen?"""
    try:
        async with timeout_at(until, asyncio.get_running_loop().time()):
            await event.wait()
    except TimeoutError:
        return False
    return True


async def wait_unless(stopped: asyncio.Event, waiting: Coroutine[object, object, None]) -> None:
    """Wait for something, until the event is set at the latest. Raises what the waiting raises."""
    tasks = asyncio.create_task(waiting), asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    if tasks[0].done():
        tasks[0].result()
