"""Which units have changed: for readers that look at those again, and not at all of several hundred.

    feed = changes.subscribe()              # then look at all units once
    changes.note("dns.default.x")
    for unit in await feed.next_batch(): ...

A reader gets each name once, however often the unit has changed since it looked last, so it has to read what holds now.
A name says only that something may be new. The unit may be gone when the reader comes to it.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar
from weakref import WeakSet

from kubetypes.timers import timeout_at

_T = TypeVar("_T")

CALM = 0.25
"""Seconds without a change until it is calm: what is not urgent holds up no runs then."""

MOST_PAUSES = 12
"""So often that time may begin again: what is not urgent waits three seconds at most."""


async def gather_until_calm(first: Iterable[_T], take: Callable[[], Iterable[_T]]) -> list[_T]:
    """`first`, then what `take` returns after each pause, until it returns nothing or `MOST_PAUSES` are over."""
    gathered = list(first)
    for _ in range(MOST_PAUSES):
        await asyncio.sleep(CALM)
        if not (more := list(take())):
            break
        gathered += more
    return gathered


class UnitFeed:
    """The changes that one reader has not seen yet."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._pending = asyncio.Event()

    def add(self, unit: str) -> None:
        """A unit has changed."""
        self._names[unit] = None
        self._pending.set()

    async def next_batch(self, longest: float | None = None) -> tuple[str, ...]:
        """The units that have changed since the last batch, in the order in which they did; waits for one, at most for
        so many seconds."""
        now = asyncio.get_running_loop().time()
        with suppress(TimeoutError):
            async with timeout_at(None if longest is None else now + longest, now):
                await self._pending.wait()
        return self._take()

    async def next_calm_batch(self, longest: float | None = None) -> tuple[str, ...]:
        """The same, and with them the units that change until it is calm."""
        first = await self.next_batch(longest)
        return tuple(dict.fromkeys(await gather_until_calm(first, self._take))) if first else ()

    def _take(self) -> tuple[str, ...]:
        names, self._names = tuple(self._names), {}
        self._pending.clear()
        return names


class UnitChanges:
    """Tells every reader which units have changed. A feed ends with its last reference."""

    def __init__(self) -> None:
        self._feeds = WeakSet[UnitFeed]()

    def subscribe(self) -> UnitFeed:
        """The changes from now on, for one reader."""
        feed = UnitFeed()
        self._feeds.add(feed)
        return feed

    def note(self, unit: str) -> None:
        """A unit has changed, or what is known of it."""
        for feed in self._feeds:
            feed.add(unit)
