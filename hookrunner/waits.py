"""How one part of the program waits for another: for a notice, for what has come since it looked last, for the next
attempt. Times are seconds of the event loop.

    notifier.notify()                      # wakes all in `await notifier.next()`
    batches.put(item)                      # one reader: `for item in await batches.next_batch(): ...`
    Pauses(1.0, 60.0).after(failures)      # 1, 2, 4 … 60 s after so many failures in a row
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from typing import Generic, TypeVar

from kubetypes.light_dataclasses import dataclass
from kubetypes.timers import timeout_at

_Item = TypeVar("_Item")

_MOST_STEPS = 64
"""More would overflow; the longest pause of every caller is reached long before."""


class Notifier:
    """Wakes all that wait for the next notice. A reader that checks first, and then waits without an `await` between,
    misses none."""

    def __init__(self) -> None:
        self._next: asyncio.Event | None = None

    def notify(self) -> None:
        """Wake all that wait."""
        if self._next:
            self._next.set()
            self._next = None

    async def next(self, until: float | None = None) -> None:
        """Wait for the next notice, at most until this time of the event loop."""
        notice = self._next = self._next or asyncio.Event()
        with suppress(TimeoutError):
            async with timeout_at(until, asyncio.get_running_loop().time()):
                await notice.wait()


@dataclass(frozen=True, slots=True)
class Pauses:
    """Seconds between attempts: `first` after a failure, and longer by a factor after each further one in a row, up to
    `longest`. Iterated, they are the pauses after the first failure, the second, and so on without end."""

    first: float
    longest: float
    factor: float = 2.0

    def after(self, failures: int) -> float:
        """The pause after so many failures in a row; 0 after none."""
        return min(self.first * self.factor ** min(failures - 1, _MOST_STEPS), self.longest) if failures else 0.0

    def __iter__(self) -> Iterator[float]:
        return map(self.after, itertools.count(1))


class Batches(Generic[_Item]):
    """Items that one reader has not read yet, in the order in which they came.

    A few batches are given out at once: `at_once` of them in any `within` seconds. While items keep coming faster, they
    are gathered. 0 is no limit.
    """

    def __init__(self, at_once: int = 0, within: float = 0.0) -> None:
        self._waiting: dict[Hashable, _Item] = {}
        self._arrived = asyncio.Event()
        self._within = within
        self._taken_at = deque([-within] * at_once, at_once)

    def add(self, items: Iterable[_Item]) -> None:
        """Add items, each of which the next batch has once, however often it was added."""
        for item in items:
            self.put(item, item)

    def put(self, item: _Item, key: Hashable = None) -> None:
        """Add an item, and wake the reader. With a key it takes the place of the one that waits under this key."""
        self._waiting[object() if key is None else key] = item
        self._arrived.set()

    def get(self, key: Hashable) -> _Item | None:
        """What waits under a key, None if nothing does."""
        return self._waiting.get(key)

    @property
    def are_waiting(self) -> bool:
        """Does an item wait?"""
        return bool(self._waiting)

    def drop(self, is_dropped: Callable[[_Item], bool]) -> None:
        """Remove the waiting items for which this is true."""
        self._waiting = {key: item for key, item in self._waiting.items() if not is_dropped(item)}

    async def next_batch(self, longest: float | None = None) -> tuple[_Item, ...]:
        """All that waits. Waits for an item, at most for so many seconds, and then for the batch's turn."""
        await self._wait(longest)
        now = asyncio.get_running_loop().time
        if self._taken_at and (pause := self._taken_at[0] + self._within - now()) > 0:
            await asyncio.sleep(pause)
        self._taken_at.append(now())
        return self._take()

    async def next_calm_batch(
        self, calm: float, most: int | None = None, longest: float | None = None
    ) -> tuple[_Item, ...]:
        """All that waits, as soon as nothing more has come for `calm` seconds, after `most` such pauses at the latest.
        Waits for the first item at most for `longest` seconds; without one the batch is empty."""
        await self._wait(longest)
        pauses = itertools.count() if most is None else range(most)
        for _ in pauses if self._waiting else ():
            self._arrived.clear()
            await asyncio.sleep(calm)
            if not self._arrived.is_set():
                break
        return self._take()

    async def _wait(self, longest: float | None) -> None:
        if longest is None:  # as most readers do, for each batch
            await self._arrived.wait()
        elif not self._arrived.is_set():
            now = asyncio.get_running_loop().time()
            with suppress(TimeoutError):
                async with timeout_at(now + longest, now):
                    await self._arrived.wait()

    def _take(self) -> tuple[_Item, ...]:
        self._arrived.clear()
        items, self._waiting = tuple(self._waiting.values()), {}
        return items
