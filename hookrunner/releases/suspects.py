"""Objects that are to be looked at, each once, the earliest first."""

import asyncio
import heapq
from contextlib import suppress
from itertools import count

from hookrunner.releases.ordering import ObjectId


class Suspects:
    """For one reader. What is added again before it was taken is taken once, at the earlier of the two times."""

    def __init__(self) -> None:
        self._due: dict[ObjectId, float] = {}
        self._row: list[tuple[float, int, ObjectId]] = []
        self._turns = count()
        self._changed = asyncio.Event()

    def add(self, one: ObjectId, delay: float = 0.0) -> None:
        """Look at it in `delay` seconds."""
        due = asyncio.get_running_loop().time() + delay
        if due < self._due.get(one, float("inf")):
            self._due[one] = due
            heapq.heappush(self._row, (due, next(self._turns), one))
            self._changed.set()

    async def next(self) -> ObjectId:
        """The next one, when its time has come."""
        while True:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._row[0][0] if self._row else None):
                    await self._changed.wait()
                    continue
            due, _, one = heapq.heappop(self._row)
            if self._due.get(one) == due:
                del self._due[one]
                return one
