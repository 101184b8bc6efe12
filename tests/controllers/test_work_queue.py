"""The rules of the work queue, in virtual time. There is no I/O, so a few idle cycles of the loop are enough.

Level: pure."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from hookrunner.controllers.work_queue import WorkQueue
from hookrunner.errors import HookrunnerError
from hookrunner.waits import Pauses
from tests.fakes.cluster import settle

pytestmark = pytest.mark.looptime(noop_cycles=2)


def now() -> float:
    return round(asyncio.get_running_loop().time(), 3)


@pytest.fixture
async def queue() -> WorkQueue[str]:
    return WorkQueue("test", Pauses(5.0, 300.0))


class Reconciler:
    """Notes when each key was reconciled; what becomes of it is the next of `outcomes`, and None after these."""

    def __init__(self, *outcomes: float | Exception | None, seconds: float = 0.0) -> None:
        self.outcomes = [*outcomes]
        self.seconds = seconds
        self.begun: list[tuple[str, float]] = []
        self.running: list[str] = []

    async def reconcile(self, key: str) -> float | None:
        assert key not in self.running
        self.begun.append((key, now()))
        self.running.append(key)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.running.remove(key)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @property
    def times(self) -> list[float]:
        return [at for _, at in self.begun]


@asynccontextmanager
async def working(
    queue: WorkQueue[str], reconcile: Callable[[str], Awaitable[float | None]], workers: int = 1
) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(queue.work(reconcile, workers))
        yield
        task.cancel()


async def test_key_added_several_times_is_reconciled_once(queue: WorkQueue[str]) -> None:
    reconciler = Reconciler()
    for key in ("a", "b", "a", "a"):
        queue.add(key)
    assert len(queue) == 2
    async with working(queue, reconciler.reconcile):
        await asyncio.sleep(1)
    assert [key for key, _ in reconciler.begun] == ["a", "b"]


async def test_key_added_while_it_runs_comes_again_and_never_twice_at_once(queue: WorkQueue[str]) -> None:
    reconciler = Reconciler(seconds=10.0)
    async with working(queue, reconciler.reconcile, workers=4):
        queue.add("a")
        for _ in range(3):
            await asyncio.sleep(1)
            queue.add("a")
            queue.add_after("a", 1.0)
        await asyncio.sleep(60)
    assert reconciler.times == [0, 10]


async def test_workers_take_keys_side_by_side(queue: WorkQueue[str]) -> None:
    reconciler = Reconciler(seconds=10.0)
    for key in "abcde":
        queue.add(key)
    async with working(queue, reconciler.reconcile, workers=2):
        await asyncio.sleep(60)
    assert reconciler.begun == [("a", 0), ("b", 0), ("c", 10), ("d", 10), ("e", 20)]


async def test_back_off_of_a_key_doubles_up_to_the_longest_and_ends_with_success(queue: WorkQueue[str]) -> None:
    reconciler = Reconciler(*[HookrunnerError("refused")] * 8)
    async with working(queue, reconciler.reconcile):
        queue.add("a")
        await asyncio.sleep(900)
        assert (queue.failures("a"), queue.backing_off) == (8, 1)
        await asyncio.sleep(500)
        assert (queue.failures("a"), queue.backing_off) == (0, 0)
    assert [b - a for a, b in zip(reconciler.times, reconciler.times[1:], strict=False)] == [
        5, 10, 20, 40, 80, 160, 300, 300,
    ]  # fmt: skip


async def test_exact_delay_counts_no_failure_and_forgets_none(queue: WorkQueue[str]) -> None:
    refused = HookrunnerError("refused")
    reconciler = Reconciler(refused, refused, 42.0, refused)
    async with working(queue, reconciler.reconcile):
        queue.add("a")
        await asyncio.sleep(200)
    assert reconciler.times == [0, 5, 15, 57, 77]


async def test_failing_key_delays_no_other(queue: WorkQueue[str]) -> None:
    async def reconcile(key: str) -> None:
        begun.append((key, now()))
        if key == "bad":
            raise HookrunnerError("refused")

    begun: list[tuple[str, float]] = []
    async with working(queue, reconcile):
        queue.add("bad")
        queue.add("good")
        await asyncio.sleep(1)
        queue.add("good")
        await asyncio.sleep(1)
    assert begun == [("bad", 0), ("good", 0), ("good", 1)]


async def test_change_ends_the_pause_but_not_the_count(queue: WorkQueue[str]) -> None:
    refused = HookrunnerError("refused")
    reconciler = Reconciler(refused, refused)
    async with working(queue, reconciler.reconcile):
        queue.add("a")
        await asyncio.sleep(2)
        queue.add("a")
        await asyncio.sleep(100)
    assert reconciler.times == [0, 2, 12]


async def test_earliest_of_several_times_counts(queue: WorkQueue[str]) -> None:
    reconciler = Reconciler()
    queue.add_after("a", 30.0)
    queue.add_after("a", 10.0)
    queue.add_after("a", 20.0)
    queue.add_after("b", 0.0)
    async with working(queue, reconciler.reconcile):
        await asyncio.sleep(100)
    assert reconciler.begun == [("b", 0), ("a", 10)]


async def test_unforeseen_error_is_a_failure_of_its_key(
    queue: WorkQueue[str], capfd: pytest.CaptureFixture[str]
) -> None:
    reconciler = Reconciler(KeyError("hunter2"))
    async with working(queue, reconciler.reconcile):
        queue.add("a")
        await asyncio.sleep(10)
    assert reconciler.times == [0, 5]
    assert "internal error: KeyError in test_work_queue.py" in capfd.readouterr().err


async def test_shut_down_lets_running_keys_finish_and_begins_no_other(queue: WorkQueue[str]) -> None:
    reconciler = Reconciler(HookrunnerError("refused"), seconds=10.0)
    for key in "ab":
        queue.add(key)
    queue.add_after("c", 3.0)
    work = asyncio.create_task(queue.work(reconciler.reconcile, workers=1))
    await asyncio.sleep(1)
    queue.add("a")
    queue.shut_down()
    queue.add("d")
    await work
    assert now() == 10
    await asyncio.sleep(100)
    assert reconciler.begun == [("a", 0)]
    await queue.work(reconciler.reconcile)


async def test_keys_of_cancelled_runs_wait_again(queue: WorkQueue[str]) -> None:
    reconciler = Reconciler(seconds=10.0)
    queue.add("a")
    async with working(queue, reconciler.reconcile):
        await asyncio.sleep(1)
    assert (len(queue), queue.failures("a")) == (1, 0)
    async with working(queue, reconciler.reconcile):
        await asyncio.sleep(20)
    assert reconciler.times == [0, 1]


@pytest.mark.parametrize("seed", range(5))
async def test_every_added_key_is_reconciled_after_its_last_change(queue: WorkQueue[str], seed: int) -> None:
    """Random adds, delays, failures and lengths of runs; `Reconciler` refuses to run a key twice at once."""
    chance = random.Random(seed)
    outcomes = [chance.choice([None, None, 3.0, HookrunnerError("refused")]) for _ in range(100)]
    reconciler = Reconciler(*outcomes, seconds=chance.choice([0.0, 0.5, 4.0]))
    added: dict[str, float] = {}
    async with working(queue, reconciler.reconcile, workers=3):
        for _ in range(100):
            key = chance.choice("abcdef")
            if chance.random() < 0.3:
                queue.add_after(key, chance.uniform(0.0, 9.0))
            else:
                queue.add(key)
                added[key] = now()
            await (settle() if chance.random() < 0.5 else asyncio.sleep(chance.uniform(0.0, 2.0)))
        await asyncio.sleep(3600)
    last = dict(reconciler.begun)
    assert all(last[key] >= at for key, at in added.items())
    assert (len(queue), queue.backing_off) == (0, 0)
