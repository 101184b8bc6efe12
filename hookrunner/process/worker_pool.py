"""Worker processes that are lent one at a time, started when they are needed, and ended when they have nothing to do.

    pool = WorkerPool(start, most=2, idle=60.0)
    async with pool.lend() as worker: ...

Whatever goes wrong while a worker is lent ends that worker, also a cancellation: what it sends next would be taken for
the answer to another request.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar


class WorkerState(Protocol):
    """Whether there is a worker still: `process/worker.py:Worker`."""

    @property
    def is_gone(self) -> bool:
        """Was it dismissed, or has it ended?"""

    @property
    def has_ended(self) -> bool:
        """Has its process ended?"""


class PooledWorker(Protocol):
    """What the pool needs of a worker."""

    @property
    def worker(self) -> WorkerState: ...

    async def wait_ready(self) -> None:
        """Wait until it can be lent. Raises WorkerLost."""

    def hang_up(self) -> None:
        """Dismiss it: an idle worker then ends by itself."""

    async def end(self) -> None:
        """Kill it, and wait until it has ended."""


_Worker = TypeVar("_Worker", bound=PooledWorker)


class WorkerPool(Generic[_Worker]):
    """At most `most` workers, which `start` starts, ended after `idle` seconds without work.

    With `crowded_after` there is one worker at first, and one more when a caller has waited for so many seconds; it is
    dismissed when it returns and another one is idle. `workers` are those whose processes may be running.
    """

    def __init__(
        self, start: Callable[[], Awaitable[_Worker]], most: int, idle: float, crowded_after: float | None = None
    ) -> None:
        self.workers: set[_Worker] = set()
        self._start = start
        self._most = most
        self._idle = idle
        self._crowded_after = crowded_after
        self._least = self._size = most if crowded_after is None else 1
        self._free = asyncio.Semaphore(self._size)
        self._resting: dict[_Worker, asyncio.TimerHandle] = {}

    async def close(self) -> None:
        """Kill all workers."""
        for timer in self._resting.values():
            timer.cancel()
        self._resting.clear()
        await asyncio.gather(*(worker.end() for worker in self.workers))

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[_Worker]:
        """A worker, as soon as one is free. Raises WorkerLost if it cannot be started."""
        await self._take_place()
        try:
            worker = await self._hire()
            try:
                yield worker
            except BaseException:
                await worker.end()
                raise
        except BaseException:
            self._free.release()
            raise
        self._return(worker)

    async def _take_place(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._crowded_after if self._size < self._most else None):
                    await self._free.acquire()
            except TimeoutError:
                if self._size == self._most:
                    continue
                self._size += 1
            return

    async def _hire(self) -> _Worker:
        while self._resting:
            worker, timer = self._resting.popitem()
            timer.cancel()
            if not worker.worker.is_gone:
                return worker
        worker = await self._start()
        self.workers = {other for other in self.workers if not other.worker.has_ended} | {worker}
        try:
            await worker.wait_ready()
        except BaseException:
            await worker.end()
            raise
        return worker

    def _return(self, worker: _Worker) -> None:
        if self._size > self._least and not self._free.locked():
            self._size -= 1
            worker.hang_up()
        else:
            self._resting[worker] = asyncio.get_running_loop().call_later(self._idle, self._dismiss, worker)
            self._free.release()

    def _dismiss(self, worker: _Worker) -> None:
        del self._resting[worker]
        worker.hang_up()
