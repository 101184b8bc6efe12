"""What a queue does while it is held up for long: it merges runs, keeps every context in order, and stays cheap.

Level: pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.model.bindings import BindingType
from hookrunner.model.events import Obstacle
from hookrunner.model.tasks import Done, Failed, HookRun, Task
from tests.engine.test_queues import Bench, run
from tests.fakes.cost import QUADRATIC, growth
from tests.fakes.gates import FakeGate


def test_a_long_wait_merges_runs_and_loses_no_context() -> None:
    """A hundred runs become one, in order, across another hook's task in between."""
    bench = Bench(compact_at=10)
    bench.queue.enqueue(run("blocker", "x", merges=False))
    for number in range(25):
        bench.queue.enqueue(run("h", str(number)))
        if number == 5:
            bench.queue.enqueue(run("other", "o"))
    assert len(bench.queue) < 15
    assert " ".join(n for n in bench.drain() if n not in ("x", "o")).split() == [str(n) for n in range(25)]
    assert bench.queue.compactions == {"h": 2}


def test_a_long_wait_merges_nothing_into_a_run_that_would_overtake_a_parked_one() -> None:
    bench = Bench(compact_at=4)
    bench.queue.enqueue(run("h", "b0", binding="b"))
    bench.finish(Failed("boom", park=True))
    for name in ("a1", "b1", "a2", "b2"):
        bench.queue.enqueue(run("h", name, binding=name[0]))
    assert bench.finish(Done()) == "a1 a2"
    bench.clock.now = 5.0
    assert bench.drain() == ["b0 b1 b2"]


def test_parked_failures_of_two_bindings_are_retried_alone_after_their_own_pauses() -> None:
    """A merged one would lose its attempts and its back-off, and be tried each time that the other is."""
    bench = Bench()
    for name in "ab":
        bench.queue.enqueue(run("h", name))
        bench.finish(Failed("boom", park=True))
    bench.clock.now = 60.0
    assert bench.finish(Failed("boom", park=True)) == "a"
    assert bench.finish(Done()) == "b"
    assert [task.failures for task in bench.queue] == [2]


def test_a_long_wait_merges_nothing_into_or_from_a_failed_run() -> None:
    bench = Bench(compact_at=3)
    for name in "ab":
        bench.queue.enqueue(run("h", name))
        bench.finish(Failed("boom", park=True))
    bench.clock.now = 60.0
    bench.queue.enqueue_first([run("blocker", "x", merges=False)])
    for name in "cd":
        bench.queue.enqueue(run("h", name))
    assert bench.drain() == ["x", "a", "b c d"]


def test_a_long_wait_merges_nothing_that_waits_for_a_snapshot_into_a_run_that_does_not() -> None:
    bench = Bench(compact_at=3, gate=FakeGate({"b": Obstacle("no such kind", brief=False)}))
    bench.queue.enqueue(run("blocker", "x", merges=False))
    for name in ("a1", "b1", "a2"):
        bench.queue.enqueue(run("h", name, binding=name[0]))
    assert [bench.finish(Done()), bench.finish(Done())] == ["x", "a1 a2"]


@pytest.mark.slow
def test_many_events_in_a_held_up_queue_cost_little_each() -> None:
    bench = Bench()
    bench.queue.enqueue(run("blocker", "x", merges=False))
    for number in range(20_000):
        bench.queue.enqueue(run("h", str(number)))
    assert sum(bench.queue.compactions.values()) < 60


@pytest.mark.slow
def test_the_cost_of_runs_that_never_merge_grows_with_their_number() -> None:
    """Seen in a soak with `combine: false`: looking for what may merge at each event held the loop up for seconds."""

    def work(size: int) -> None:
        bench = Bench()
        for number in range(size):
            bench.queue.enqueue(run("h", str(number), merges=False))
        assert len(bench.queue) == size

    assert growth(work, 250) < QUADRATIC * 0.7


orders = st.lists(
    st.tuples(st.sampled_from(["h1", "h2"]), st.sampled_from(["", "g1", "g2"]), st.booleans(), st.booleans()),
    max_size=40,
)


@pytest.mark.slow
@given(orders, st.integers(2, 12), st.randoms(use_true_random=False))
def test_merging_keeps_every_context_in_order(
    specs: list[tuple[str, str, bool, bool]],
    compact_at: int,
    dice: "st.random.Random",  # type: ignore[name-defined]
) -> None:
    """Whatever is merged when: ungrouped contexts of a hook and allowFailure all arrive in order; of each group the
    last one arrives, and nothing comes after it that came before."""
    bench = Bench(compact_at=compact_at)
    got: list[tuple[str, bool, str, str]] = []

    def step() -> None:
        task = bench.queue.dequeue_now()
        if not isinstance(task, Task):
            bench.clock.now += 40
            return
        order = task.order
        assert isinstance(order, HookRun)
        failed = dice.random() < 0.3
        if not failed:
            got.extend((order.hook, order.allow_failure, c.group, c.binding) for c in order.contexts)
        bench.queue.settle(task, Failed("boom", park=dice.random() < 0.5) if failed else Done())

    put: list[tuple[str, bool, str, str]] = []
    for number, (hook, group, allowed, pause) in enumerate(specs):
        put.append((hook, allowed, group, str(number)))
        bench.queue.enqueue(run(hook, str(number), group, allow_failure=allowed, binding=f"{hook}{allowed}"))
        if pause:
            step()
    while len(bench.queue):
        step()
    for hook in ("h1", "h2"):
        for allowed in (True, False):
            mine = [c for c in got if c[:2] == (hook, allowed)]
            sent = [c for c in put if c[:2] == (hook, allowed)]
            assert [c for c in mine if not c[2]] == [c for c in sent if not c[2]]
            for group in ("g1", "g2"):
                assert [c for c in mine if c[2] == group][-1:] == [c for c in sent if c[2] == group][-1:]


def test_runs_that_only_let_events_flow_merge_into_one_that_does_so_for_all() -> None:
    first, second = (
        HookRun("h", "b", BindingType.KUBERNETES, "main", (), group="g", unlocks=(index,)) for index in (0, 1)
    )
    merged = first.merged([second])
    assert (merged.contexts, merged.unlocks) == ((), (0, 1))
