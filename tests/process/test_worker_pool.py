"""Who gets a worker and when, with workers that are no processes, in virtual time. Level: pure."""

import asyncio

import pytest

from hookrunner.process.worker_pool import WorkerPool

pytestmark = pytest.mark.looptime

IDLE = 60.0


class FakeWorker:
    """Remembers how it ended."""

    def __init__(self) -> None:
        self.is_gone = self.has_ended = False
        self.worker = self

    async def wait_ready(self) -> None: ...

    def hang_up(self) -> None:
        self.is_gone = True

    async def end(self) -> None:
        self.is_gone = self.has_ended = True


class Bench:
    """A pool, and all workers that it has started."""

    def __init__(self, most: int, crowded_after: float | None = None) -> None:
        self.started: list[FakeWorker] = []
        self.pool = WorkerPool(self._start, most, IDLE, crowded_after)

    async def _start(self) -> FakeWorker:
        self.started.append(FakeWorker())
        return self.started[-1]

    async def work(self, seconds: float) -> FakeWorker:
        async with self.pool.lend() as worker:
            await asyncio.sleep(seconds)
        return worker


async def test_a_worker_is_lent_to_one_after_the_other() -> None:
    bench = Bench(2)
    first = await bench.work(1)
    assert await bench.work(1) is first
    workers = await asyncio.gather(*(bench.work(1) for _ in range(4)))
    assert (len({*workers}), len(bench.started)) == (2, 2)
    assert asyncio.get_running_loop().time() == pytest.approx(4, abs=0.01)


async def test_a_worker_is_dismissed_when_it_was_idle_for_long() -> None:
    bench = Bench(1)
    worker = await bench.work(1)
    gone = []
    for seconds in (IDLE - 1, 2):
        await asyncio.sleep(seconds)
        gone.append(worker.is_gone)
    assert gone == [False, True]
    assert await bench.work(1) is not worker


async def test_one_that_ended_while_it_was_idle_is_replaced() -> None:
    bench = Bench(1)
    (await bench.work(1)).is_gone = True
    assert await bench.work(1) is bench.started[1]


async def test_a_cancelled_caller_ends_its_worker_and_leaves_the_place_to_the_next() -> None:
    bench = Bench(1)
    cancelled = asyncio.create_task(bench.work(10))
    await asyncio.sleep(1)
    waiting = asyncio.create_task(bench.work(1))
    cancelled.cancel()
    assert await waiting is bench.started[1]
    assert bench.started[0].has_ended


async def test_a_crowd_gets_more_workers_after_a_while_and_keeps_one() -> None:
    bench = Bench(3, crowded_after=1.0)
    long = [asyncio.create_task(bench.work(100)) for _ in range(4)]
    for seconds, workers in ((0.5, 1), (1.0, 3), (10.0, 3)):
        await asyncio.sleep(seconds)
        assert len(bench.started) == workers
    await asyncio.gather(*long)
    await bench.work(0)
    assert [worker.is_gone for worker in bench.started].count(False) == 1


async def test_close_ends_lent_and_idle_workers() -> None:
    bench = Bench(2)
    lent = asyncio.create_task(bench.work(100))
    await asyncio.sleep(0)
    await bench.work(1)
    await bench.pool.close()
    assert [worker.has_ended for worker in bench.started] == [True, True]
    lent.cancel()
