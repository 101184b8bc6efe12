"""The memory that requests' bodies may take, all together: every client that reaches a webhook port can send them.

One half is for bodies as they came, from their first byte until they are answered: one that waits costs as much as one
that runs. The other half is for what is parsed. Those who need room there wait for it in the order in which they came,
and hold nothing of that half meanwhile; so the halves cannot wait for each other.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager


class Exhausted(Exception):
    """There is no room at the moment; the message is the number of bytes that are taken."""


class Budget:
    """`memory` is the whole, in bytes."""

    def __init__(self, memory: int) -> None:
        self.half = memory // 2
        self._taken = 0
        self._parsed = 0
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @contextmanager
    def taking(self) -> Iterator[Callable[[int], None]]:
        """Room for one body until the end of the `with`; what is given has to be told of every byte that comes. It
        raises Exhausted if that is too much. Sizes that clients announce do not count: it costs nothing to announce."""
        taken = 0

        def take(size: int) -> None:
            nonlocal taken
            if self._taken + size > self.half:
                raise Exhausted(self._taken)
            self._taken += size
            taken += size

        try:
            yield take
        finally:
            self._taken -= taken

    @asynccontextmanager
    async def parsing(self, cost: int) -> AsyncIterator[None]:
        """Room for what is parsed, at most a half, until the end of the `with`; waits for it as long as it takes."""
        async with self._turn:
            while self._parsed + cost > self.half:
                self._freed.clear()
                await self._freed.wait()
            self._parsed += cost
        try:
            yield
        finally:
            self._parsed -= cost
            self._freed.set()
