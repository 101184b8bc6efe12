"""Queues: which task is next, what is merged, how long a failure waits.

Not here: what a task does (test_hook_runs.py), whole programs (tests/flows).

Level: pure.
"""

import asyncio
import re
from dataclasses import dataclass, field

import pytest

from hookrunner.engine.attempts import back_off
from hookrunner.engine.queue_dumps import dump
from hookrunner.engine.queues import Idle, Queue, QueueParts
from hookrunner.kube.back_off import TokenBucket
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType
from hookrunner.model.contexts import Context, ContextType
from hookrunner.model.events import BindingId, FilterBroke, Obstacle
from hookrunner.model.resources import ObjectKey
from hookrunner.model.tasks import Done, Dropped, Failed, FilterRetry, HookRun, Order, Postponed, Task
from tests.fakes.clocks import awkward, run_watched
from tests.fakes.gates import FakeGate
from tests.tables import each


@dataclass
class Clock:
    """Time that a test sets."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Bench:
    """A queue on a clock of the test's own; `missing` maps a binding to what its snapshot lacks."""

    clock: Clock = field(default_factory=Clock)
    gate: FakeGate = field(default_factory=FakeGate)
    compact_at: int = 100

    def __post_init__(self) -> None:
        self.queue = Queue("main", QueueParts(self.gate, self.clock, Metrics(""), self.compact_at))

    def next(self) -> str:
        """The context names of the task that would run now, or the reason why none does."""
        choice = self.queue.pick(self.clock())
        return names(choice.order) if isinstance(choice, Task) else f"<{choice.reason}>"

    def finish(self, outcome: Done | Failed | Postponed | Dropped) -> str:
        """Run the next task to this outcome; its context names after merging."""
        task = self.queue.dequeue_now()
        assert isinstance(task, Task)
        self.queue.settle(task, outcome)
        return names(task.order)

    def drain(self) -> list[str]:
        """Run everything to success."""
        return [self.finish(Done()) for _ in range(len(self.queue)) if len(self.queue)]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def names(order: Order) -> str:
    assert isinstance(order, HookRun)
    return " ".join(context.binding for context in order.contexts)


def run(hook: str, name: str, group: str = "", **more: object) -> HookRun:
    kind = ContextType.GROUP if group else ContextType.EVENT
    context = Context(name, kind, group=group)
    binding = str(more.pop("binding", name))
    more.setdefault("place", sum(map(ord, binding)))
    return HookRun(hook, binding, BindingType.KUBERNETES, "main", (context,), group=group, **more)  # type: ignore[arg-type]


def test_tasks_run_in_order_and_neighbours_of_one_hook_together(bench: Bench) -> None:
    for order in [run("h1", "1"), run("h1", "2"), run("h1", "3"), run("h1", "4"), run("h2", "5"), run("h1", "6")]:
        bench.queue.enqueue(order)
    assert bench.drain() == ["1 2 3 4", "5", "6"]


def test_a_run_of_one_group_collapses_to_its_last_context(bench: Bench) -> None:
    """The vectors of shell-operator."""
    for order in [run("h", "1", "g"), run("h", "2", "g"), run("h", "3", "g"), run("h", "4"), run("h", "5", "g")]:
        bench.queue.enqueue(order)
    assert bench.drain() == ["3 4 5"]


@each(
    ("first", "second"),
    [
        (run("h", "a", merges=False), run("h", "b", merges=False)),
        (run("h", "a"), run("h", "b", allow_failure=True)),
        (run("h", "a", unlocks=(0,)), run("h", "b")),
        (run("h", "a"), run("other", "b")),
    ],
    ids=["not merging", "other allowFailure", "ungrouped synchronization", "other hook"],
)
def test_what_must_not_merge_runs_alone(first: HookRun, second: HookRun) -> None:
    bench = Bench()
    bench.queue.enqueue(first)
    bench.queue.enqueue(second)
    assert bench.drain() == ["a", "b"]


def test_a_grouped_synchronization_takes_its_neighbours_along_and_opens_their_gates(bench: Bench) -> None:
    bench.queue.enqueue(run("h", "a", "g", unlocks=(0,)))
    bench.queue.enqueue(run("h", "b", "g", unlocks=(1,)))
    task = bench.queue.dequeue_now()
    assert isinstance(task, Task)
    assert isinstance(task.order, HookRun)
    assert (names(task.order), task.order.unlocks) == ("b", (0, 1))


def test_a_failure_keeps_the_whole_queue_waiting(bench: Bench) -> None:
    bench.queue.enqueue(run("h1", "a"))
    bench.queue.enqueue(run("h2", "b"))
    bench.finish(Failed("boom"))
    assert bench.next().startswith("<sleep after fail for 5s")
    bench.clock.now = 5.0
    assert bench.next() == "a"


def test_a_failed_run_keeps_what_it_merged_and_may_take_more(bench: Bench) -> None:
    for name in "ab":
        bench.queue.enqueue(run("h", name))
    assert bench.finish(Failed("boom")) == "a b"
    bench.queue.enqueue(run("h", "c"))
    bench.clock.now = 5.0
    assert bench.finish(Done()) == "a b c"
    assert len(bench.queue) == 0


def test_a_parked_task_lets_others_pass_but_keeps_its_lane_in_order(bench: Bench) -> None:
    for hook, name, binding in [("h1", "1", "x"), ("h2", "2", "x"), ("h1", "3", "y"), ("h1", "4", "x")]:
        bench.queue.enqueue(run(hook, name, binding=binding))
    bench.finish(Failed("boom", park=True))
    assert [bench.finish(Done()), bench.finish(Done())] == ["2", "3"]
    assert bench.next() == "<waiting for task>"
    bench.clock.now = 5.0
    assert bench.finish(Done()) == "1 4"


def test_hurry_ends_the_back_off_of_one_lane_only(bench: Bench) -> None:
    for hook in "ab":
        bench.queue.enqueue(run(hook, hook))
        bench.finish(Failed("broken", park=True))
    assert bench.next() == "<waiting for task>"
    (lane,) = run("b", "b").lanes
    bench.queue.hurry(lane)
    assert bench.finish(Done()) == "b"
    assert bench.next() == "<waiting for task>"
    bench.clock.now = 3600
    assert bench.next() == "a"


def test_a_parked_task_keeps_the_order_of_every_binding_that_it_has_merged(bench: Bench) -> None:
    bench.queue.enqueue(run("h", "a1", binding="a"))
    bench.queue.enqueue(run("h", "b1", binding="b"))
    bench.finish(Failed("boom", park=True))
    bench.queue.enqueue(run("h", "b2", binding="b"))
    bench.queue.enqueue(run("h", "c1", binding="c"))
    assert bench.finish(Done()) == "c1"
    assert bench.next() == "<waiting for task>"
    bench.clock.now = 5.0
    assert bench.finish(Done()) == "a1 b1 b2"


def test_a_rate_limit_delays_the_task_and_not_its_neighbours(bench: Bench) -> None:
    bench.queue.enqueue(run("h1", "a"))
    bench.queue.enqueue(run("h2", "b"))
    task = bench.queue.pick(0)
    assert isinstance(task, Task)
    bench.queue.settle(task, Postponed(3.0))
    assert bench.finish(Done()) == "b"
    bench.clock.now = 3.0
    assert bench.next() == "a"


def test_a_missing_snapshot_sets_a_task_aside_until_it_exists() -> None:
    bench = Bench(gate=FakeGate({"b": Obstacle("no such kind", brief=False)}))
    bench.queue.enqueue(run("h1", "b"))
    bench.queue.enqueue(run("h2", "c"))
    assert bench.next() == "c"
    assert "waiting for snapshot of no such kind" in dump(bench.queue).tasks[0][1]
    bench.gate.missing.clear()
    assert bench.next() == "b"


def test_a_snapshot_that_is_about_to_come_is_waited_for() -> None:
    bench = Bench(gate=FakeGate({"b": Obstacle("listing", brief=True)}))
    bench.queue.enqueue(run("h1", "b"))
    bench.queue.enqueue(run("h2", "c"))
    assert bench.next() == "<waiting for snapshot>"


def test_a_run_does_not_take_along_what_is_held_up() -> None:
    bench = Bench(gate=FakeGate({"b": Obstacle("no such kind", brief=False)}))
    for name in "abc":
        bench.queue.enqueue(run("h", name))
    assert [bench.finish(Done()), bench.finish(Done())] == ["a", "c"]


def retry(name: str) -> FilterRetry:
    broken = FilterBroke(BindingId("h", 0), ObjectKey("default", "ConfigMap", name), "hangs", 0.0)
    return FilterRetry("h", "cms", "main", broken)


def test_filters_are_tried_again_when_nothing_else_can_run_and_in_turn() -> None:
    """A filter that hangs takes its deadline each time: many of them must not starve the queue, nor one the others."""
    bench, objects = Bench(), []
    bench.queue.enqueue(retry("a"))
    bench.queue.enqueue(retry("b"))
    bench.queue.enqueue(run("h2", "x"))
    assert bench.finish(Done()) == "x"
    for now in (0.0, 0.0, 100.0, 200.0):
        bench.clock.now = now
        task = bench.queue.pick(now)
        assert isinstance(task, Task)
        assert isinstance(task.order, FilterRetry)
        objects.append(task.order.broken.key.name)
        bench.queue.settle(task, Failed("hangs", park=True))
    assert objects == ["a", "b", "a", "b"]


def test_followers_come_first_in_their_order(bench: Bench) -> None:
    bench.queue.enqueue(run("h1", "a"))
    bench.queue.enqueue(run("h2", "b"))
    bench.finish(Done((run("h3", "c"), run("h4", "d"))))
    assert bench.drain() == ["c", "d", "b"]


def test_a_dropped_task_is_gone(bench: Bench) -> None:
    bench.queue.enqueue(run("h1", "a"))
    bench.finish(Dropped("enough"))
    assert len(bench.queue) == 0


@each(
    ("failures", "fraction", "seconds"),
    [(0, 0.99, 5.0), (1, 0.0, 6.0), (1, 0.99, 6.9), (2, 0.55, 7.5), (3, 0.0, 9.0), (4, 0.99, 13.9), (5, 0.99, 21.9)]
    + [(failures, 0.5, 32.0) for failures in (6, 7, 1000)],
)
def test_back_off_grows_as_documented(failures: int, fraction: float, seconds: float) -> None:
    """The pauses of shell-operator."""
    assert back_off(failures, fraction) == pytest.approx(seconds)


def test_every_failure_waits_longer_and_a_new_task_begins_with_the_first_pause(bench: Bench) -> None:
    bench.queue.enqueue(run("h", "a"))
    waits = []
    for _ in range(8):
        bench.finish(Failed("boom"))
        choice = bench.queue.pick(bench.clock())
        assert isinstance(choice, Idle)
        assert choice.until is not None
        waits.append(round(choice.until - bench.clock(), 3))
        bench.clock.now = choice.until
    assert waits[0] == 5.0
    assert waits == sorted(waits)
    assert waits[-1] == 32.0
    bench.finish(Done())
    bench.queue.enqueue(run("h", "b"))
    bench.finish(Failed("boom"))
    assert bench.next().startswith("<sleep after fail for 5s")


def test_a_dump_says_which_task_waits_for_its_rate_limit_and_until_when(bench: Bench) -> None:
    for name in ("limited", "free"):
        bench.queue.enqueue(run(name, name))
    bench.finish(Postponed(12.5))
    limited, free = (text for _, text in dump(bench.queue).tasks)
    assert re.search(
        r":limited:waiting for its rate limit until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(12.5s left\)$", limited
    )
    assert free.endswith(":free")
    bench.clock.now = 12.5
    assert "rate limit" not in str(dump(bench.queue))


def test_a_dump_says_when_a_parked_task_is_tried_again(bench: Bench) -> None:
    bench.queue.enqueue(run("h", "a"))
    bench.finish(Failed("boom", park=True))
    ((_, text),) = dump(bench.queue).tasks
    assert re.search(r":failures 1:boom:next attempt at \S+Z \(5.0s left\)$", text)


def test_what_failed_since_a_time_can_be_tried_at_once(bench: Bench) -> None:
    bench.queue.enqueue(run("early", "a", binding="a"))
    bench.finish(Failed("boom", park=True))
    bench.clock.now = 1.0
    bench.queue.enqueue(run("late", "b"))
    bench.finish(Failed("boom", park=True))
    bench.queue.hurry_failed(0.5)
    assert bench.next() == "b"


def test_a_rate_limit_is_not_hurried(bench: Bench) -> None:
    bench.queue.enqueue(run("h", "a"))
    bench.finish(Failed("boom"))
    bench.clock.now = 5.0
    bench.finish(Postponed(9))
    bench.queue.hurry_failed(0.0)
    assert bench.next() == "<waiting for task>"


async def test_a_task_in_an_empty_queue_is_taken_at_once(bench: Bench) -> None:
    """Nothing polls: the taker wakes in the same turn of the loop."""
    taker = asyncio.create_task(bench.queue.dequeue())
    await asyncio.sleep(0)
    bench.queue.enqueue(run("h", "a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert taker.done()


async def test_a_closed_queue_gives_out_nothing(bench: Bench) -> None:
    bench.queue.enqueue(run("h", "a"))
    bench.queue.close()
    assert await bench.queue.dequeue() is None


@each("outcome", [Failed("boom"), Failed("boom", park=True), Postponed(0.2)])
def test_a_task_that_waits_is_taken_where_the_timer_is_early(outcome: Failed | Postponed) -> None:
    run_watched(taken_again(outcome), awkward(0.2 if isinstance(outcome, Postponed) else 5.0))


async def taken_again(outcome: Failed | Postponed) -> None:
    queue = Queue("main", QueueParts(FakeGate(), asyncio.get_running_loop().time, Metrics("")))
    queue.enqueue(run("h", "a"))
    for _ in range(2):
        task = await queue.dequeue()
        assert task is not None
        queue.settle(task, outcome)


def test_a_task_is_merged_when_its_rate_limit_lets_it_run() -> None:
    bench = Bench(gate=FakeGate(pauses=[3.0, 0.0, 0.0]))
    bench.queue.enqueue(run("h", "a"))
    bench.queue.enqueue(run("other", "b"))
    assert bench.finish(Done()) == "b"
    bench.queue.enqueue(run("h", "c"))
    assert (bench.next(), len(bench.queue)) == ("c", 2)
    bench.clock.now = 3.0
    assert bench.finish(Done()) == "a c"


@each("interval", [0.1, 0.2, 1.1, 7.7])
def test_a_rate_limit_ends_where_the_timer_is_early(interval: float) -> None:
    """What is left of it when its task comes up again is no reason to ask at once."""
    run_watched(limited(interval), awkward(interval))


async def limited(interval: float) -> None:
    now = asyncio.get_running_loop().time
    bucket, began = TokenBucket(interval, 1), now()
    queue = Queue("main", QueueParts(FakeGate(take=lambda: bucket.take(now())), now, Metrics("")))
    for name in ("a", "b", "c", "d"):
        queue.enqueue(run(name, name))
    while len(queue):
        task = await queue.dequeue()
        assert task is not None
        queue.settle(task, Done())
    assert now() - began == pytest.approx(3 * interval, abs=0.01)
