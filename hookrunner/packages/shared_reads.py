"""Reads that several ask for at once: those who come while one is under way share the next one.

    reads = SharedReads()
    text = await reads.read(("channel", "stable"), partial(source.read_channel, "stable"))

Each gets what was there after it had asked, as if it had read alone: a read that has begun may be too old for it. After
a start all instances of an addon want the same channel and the same package.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

_T = TypeVar("_T")


class SharedReads:
    """Reads by key. The same key always stands for the same read."""

    def __init__(self) -> None:
        self._next: dict[Hashable, asyncio.Task[Any]] = {}
        self._turns = WeakValueDictionary[Hashable, asyncio.Lock]()

    async def read(self, key: Hashable, read: Callable[[], Awaitable[_T]]) -> _T:
        """The result of a read that begins from now on; raises what it raises. It goes on if its reader is cancelled:
        others may wait for it."""
        coming = self._next.get(key)
        if coming is None:
            coming = self._next[key] = asyncio.create_task(self._begin(key, read))
            coming.add_done_callback(_take_error)
        result: _T = await asyncio.shield(coming)
        return result

    async def _begin(self, key: Hashable, read: Callable[[], Awaitable[_T]]) -> _T:
        async with self._turns.setdefault(key, asyncio.Lock()):
            del self._next[key]
            return await read()


def _take_error(read: asyncio.Task[Any]) -> None:
    """Say nothing of an error for which no task waits any more."""
    if not read.cancelled():
        read.exception()
