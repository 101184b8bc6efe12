"""Queues with rules of their own: what runs side by side, what becomes one run, what is run again. Level: pure."""

from dataclasses import replace
from itertools import pairwise

import pytest

from hookrunner.engine.queue_dumps import dump
from hookrunner.engine.queues import Idle, Queue, QueueParts
from hookrunner.engine.repetitions import repeated
from hookrunner.errors import BadHookConfig
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import ONE_BY_ONE, BindingType, Change, Hook, HookConfig, HookSettings, QueueRules
from hookrunner.model.contexts import Context, ContextType, Entry, with_objects
from hookrunner.model.lanes import AgreedRules
from hookrunner.model.resources import ObjectKey
from hookrunner.model.tasks import Done, Failed, HookRun, Order, Task
from tests.fakes.cost import QUADRATIC, growth
from tests.fakes.gates import FakeGate
from tests.tables import each


class Bench:
    """A queue on a clock of the test's own."""

    def __init__(self, concurrency: int = 1, order_by: str = "binding", compact_at: int = 100) -> None:
        self.now = 0.0
        rules = QueueRules(concurrency, order_by)  # type: ignore[arg-type]
        self.queue = Queue("q", QueueParts(FakeGate(), lambda: self.now, Metrics(""), compact_at), rules)

    def add(self, *orders: HookRun) -> None:
        for order in orders:
            self.queue.enqueue(order)

    def begin(self) -> list[str]:
        """Begin whatever may run now; what each is about."""
        begun = list[str]()
        while len(self.queue.running) < self.queue.rules.concurrency:
            if isinstance(task := self.queue.dequeue_now(), Idle):
                break
            begun.append(told(task.order))
        return begun

    def end(self, about: str, outcome: Done | Failed = Done()) -> None:  # noqa: B008
        self.queue.settle(next(task for task in self.queue.running if told(task.order) == about), outcome)

    def waiting(self) -> list[str]:
        return [told(task.order) for task in self.queue if task not in self.queue.running]


def told(order: Order) -> str:
    assert isinstance(order, HookRun)
    return " ".join(
        f"{context.key.name}={context.binding}" if context.key else context.binding for context in order.contexts
    )


def event(name: str, state: str = "1", namespace: str = "n", hook: str = "h", place: int = 0) -> HookRun:
    context = Context(state, ContextType.EVENT, source=place, key=ObjectKey(namespace, "Pod", name))
    return HookRun(hook, "pods", BindingType.KUBERNETES, "q", (context,), place=place)


def synchronization() -> HookRun:
    context = Context("all", ContextType.SYNCHRONIZATION, source=0)
    return HookRun("h", "pods", BindingType.KUBERNETES, "q", (context,), unlocks=(0,))


def first_run(name: str) -> HookRun:
    """The run of an object at the start, in place of a Synchronization."""
    context = Context("first", ContextType.SYNCHRONIZATION, source=0, key=ObjectKey("n", "Pod", name), current=True)
    return HookRun("h", "pods", BindingType.KUBERNETES, "q", (context,))


def tick() -> HookRun:
    return HookRun("h", "tick", BindingType.SCHEDULE, "q", (Context("tick", ContextType.SCHEDULE),))


def test_objects_run_side_by_side_and_each_in_order() -> None:
    bench = Bench(concurrency=2, order_by="object")
    bench.add(event("a"), event("b"), event("c"), event("a", "2"))
    assert bench.begin() == ["a=2", "b=1"]
    bench.add(event("a", "3"))
    assert bench.begin() == []
    bench.end("b=1")
    assert bench.begin() == ["c=1"]
    bench.end("a=2")
    assert bench.begin() == ["a=3"]


def test_of_an_object_that_waits_the_latest_state_is_run_once() -> None:
    bench = Bench(concurrency=5, order_by="object")
    bench.add(event("a"))
    assert bench.begin() == ["a=1"]
    bench.add(*(event("a", str(number)) for number in range(2, 9)), event("b"))
    bench.end("a=1")
    assert bench.begin() == ["a=8", "b=1"]
    assert bench.waiting() == []


def test_a_namespace_is_a_lane() -> None:
    bench = Bench(concurrency=5, order_by="namespace")
    bench.add(event("a", namespace="x"), event("b", namespace="x"), event("c", namespace="y"))
    assert bench.begin() == ["a=1 b=1", "c=1"]


def test_bindings_run_side_by_side() -> None:
    bench = Bench(concurrency=2)
    bench.add(event("a", hook="h1"), event("b", hook="h2"), event("c", hook="h1"))
    assert bench.begin() == ["a=1", "b=1"]
    bench.end("b=1")
    assert bench.begin() == []


GROUP = HookRun("h", "g", BindingType.KUBERNETES, "q", (Context("g", ContextType.GROUP, group="g"),), group="g")


@each("whole", [synchronization(), GROUP], ids=["synchronization", "group"])
def test_what_is_about_no_single_object_has_the_queue_to_itself(whole: HookRun) -> None:
    bench = Bench(concurrency=5, order_by="object")
    bench.add(event("a"), whole, event("b"))
    assert bench.begin() == ["a=1"]
    bench.end("a=1")
    assert bench.begin() == [told(whole)]
    bench.end(told(whole))
    assert bench.begin() == ["b=1"]


def test_runs_of_objects_at_the_start_are_side_by_side_and_become_one_with_their_events() -> None:
    bench = Bench(concurrency=2, order_by="object")
    bench.add(*map(first_run, "abc"), event("c", "2"), event("b", "2"), event("c", "3"))
    assert bench.begin() == ["a=first", "b=2"]
    bench.end("a=first", Failed("no"))
    assert bench.begin() == ["c=3"]


@each("order_by", ["binding", "namespace"])
def test_where_lanes_are_no_objects_each_of_the_start_has_a_run_of_its_own(order_by: str) -> None:
    bench = Bench(order_by=order_by, compact_at=2)
    bench.add(*map(first_run, "abc"), event("d"), event("e"), event("f"))
    for about in ("a=first", "b=first", "c=first", "d=1 e=1 f=1"):
        assert bench.begin() == [about]
        bench.end(about)


@pytest.mark.slow
@each("outcome", [Done(), Done(again_after=600)], ids=["done", "again"])
def test_objects_that_wait_cost_each_the_same_however_many_there_are(outcome: Done) -> None:
    def run_all(count: int) -> None:
        bench = Bench(concurrency=20, order_by="object")
        bench.queue.enqueue_first([first_run(str(number)) for number in range(count)])
        while bench.begin():
            for task in tuple(bench.queue.running):
                bench.queue.settle(task, outcome)

    assert growth(run_all, 150) < QUADRATIC / 2


def test_a_failed_object_holds_up_no_other_one() -> None:
    bench = Bench(concurrency=1, order_by="object")
    bench.add(event("a"), event("b"), event("a", "2"))
    bench.begin()
    bench.end("a=2", Failed("no"))
    assert bench.begin() == ["b=1"]
    bench.end("b=1")
    assert bench.begin() == []
    bench.now = 60
    assert bench.begin() == ["a=2"]


def test_a_failed_object_that_changes_is_tried_again_at_once() -> None:
    bench = Bench(concurrency=2, order_by="object")
    bench.add(event("a"), event("b"))
    bench.begin()
    bench.end("a=1", Failed("no"))
    bench.end("b=1", Failed("no"))
    bench.now = 1
    bench.add(event("a", "2"))
    assert bench.begin() == ["a=2"]
    assert [task.failures for task in bench.queue.running] == [1]


def test_an_object_that_changes_while_it_fails_is_tried_again_at_once() -> None:
    bench = Bench(concurrency=2, order_by="object")
    bench.add(event("a"))
    bench.begin()
    bench.add(event("a", "2"))
    bench.end("a=1", Failed("no"))
    assert bench.begin() == ["a=2"]


def test_an_object_that_changes_with_each_failure_is_tried_twice_in_a_pause() -> None:
    bench, begun = Bench(order_by="object"), list[float]()
    bench.add(event("a"))
    for second in range(200):
        bench.now = float(second)
        while bench.begin():
            begun.append(bench.now)
            bench.end("a=1", Failed("no"))
            bench.add(event("a"))
    pauses = [after - before for before, after in pairwise(begun)]
    assert (pauses[0], len(begun) <= 2 * 200 / 32 + 12) == (0, True)
    assert all(first + second >= 5 for first, second in pairwise(pauses))
    assert sum(pauses[-2:]) >= 32


def test_a_failed_object_of_another_kind_of_lane_waits_for_its_pause() -> None:
    for rules in ("namespace", "binding"):
        bench = Bench(concurrency=2, order_by=rules)
        bench.add(event("a"))
        bench.begin()
        bench.end("a=1", Failed("no"))
        bench.add(event("a", "2"))
        assert bench.begin() == []


def test_rules_of_a_queue_may_change_while_it_works() -> None:
    bench = Bench()
    bench.add(*map(event, "abc"))
    assert bench.begin() == ["a=1 b=1 c=1"]
    bench.queue.set_rules(QueueRules(3, "object"))
    bench.add(*map(event, "cde"))
    assert bench.begin() == ["d=1", "e=1"]
    bench.queue.set_rules(ONE_BY_ONE)
    assert bench.begin() == []
    for about in ("a=1 b=1 c=1", "d=1", "e=1"):
        bench.end(about)
    assert bench.begin() == ["c=1"]


def test_compaction_keeps_lanes_apart() -> None:
    bench = Bench(concurrency=2, order_by="object", compact_at=4)
    bench.add(*(event(name, str(number)) for number in range(5) for name in "ab"))
    assert sorted(bench.waiting())[0].startswith("a=")
    assert all(len({part[0] for part in text.split()}) == 1 for text in bench.waiting())
    assert bench.begin() == ["a=4", "b=4"]


def test_a_run_is_repeated_after_the_time_that_its_hook_asks_for() -> None:
    bench = Bench()
    bench.add(event("a"))
    bench.begin()
    bench.end("a=1", Done(again_after=600))
    assert "runs again at" in dump(bench.queue).tasks[0][1]
    assert (bench.begin(), bench.queue.resting) == ([], True)
    bench.now = 599
    bench.add(event("b"))
    assert bench.begin() == ["b=1"]
    bench.end("b=1")
    bench.now = 600
    assert bench.begin() == ["a=1"]
    bench.end("a=1")
    assert len(bench.queue) == 0


def test_a_repetition_reads_its_object_when_it_runs() -> None:
    deleted = replace(event("b").contexts[0], change=Change.DELETED, obj=b"{}")
    added = replace(event("a").contexts[0], change=Change.ADDED, obj=b"{}")
    again = repeated(replace(event("a"), contexts=(added, deleted), unlocks=(0,)))
    assert [(context.current, context.obj) for context in again.contexts] == [(True, None), (False, b"{}")]
    entry = Entry(ObjectKey("n", "Pod", "a"), b"new", None)
    assert [context.obj for context in with_objects(again.contexts, lambda index, key: entry)] == [b"new", b"{}"]
    assert [context.obj for context in with_objects(again.contexts, lambda index, key: None)] == [b"{}"]


def test_an_earlier_event_takes_the_place_of_a_repetition() -> None:
    bench = Bench()
    bench.add(event("a"))
    bench.begin()
    bench.end("a=1", Done(again_after=600))
    bench.add(event("a", "2"))
    assert bench.waiting() == ["a=2"]
    assert bench.begin() == ["a=2"]


def test_an_event_of_one_object_leaves_the_repetition_of_all() -> None:
    bench = Bench()
    bench.add(synchronization())
    bench.begin()
    bench.end("all", Done(again_after=5))
    bench.add(event("a"), tick())
    assert bench.waiting() == ["all", "a=1", "tick"]
    assert bench.begin() == ["a=1 tick"]
    bench.end("a=1 tick")
    bench.now = 5
    task = bench.queue.dequeue_now()
    assert isinstance(task, Task)
    assert isinstance(task.order, HookRun)
    assert (told(task.order), task.order.unlocks) == ("all", ())


def test_an_event_during_a_run_takes_the_place_of_the_repetition_that_it_asks_for() -> None:
    for rules in ("binding", "object", "namespace"):
        bench = Bench(order_by=rules)
        bench.add(event("a"))
        bench.begin()
        bench.add(event("a", "2"))
        bench.end("a=1", Done(again_after=5))
        assert bench.begin() == ["a=2"]
        bench.end("a=2")
        bench.now = 60
        assert bench.begin() == []


def test_of_a_repetition_about_several_objects_those_without_an_event_stay() -> None:
    bench = Bench()
    bench.add(event("a"), event("b"), event("c"))
    bench.begin()
    bench.add(event("b", "2"))
    bench.end("a=1 b=1 c=1", Done(again_after=5))
    bench.add(event("c", "2"))
    assert bench.begin() == ["b=2 c=2"]
    bench.end("b=2 c=2")
    bench.now = 5
    assert bench.begin() == ["a=1"]
    bench.end("a=1")
    assert (len(bench.queue), bench.queue._repetitions) == (0, {})


@each("outcome", [Done(again_after=600), Failed("no")], ids=["runs again", "failed"])
def test_a_group_that_waits_for_its_time_keeps_no_lane_waiting(outcome: Done | Failed) -> None:
    bench = Bench(concurrency=5, order_by="object")
    bench.add(GROUP)
    bench.begin()
    bench.end("g", outcome)
    bench.add(event("a"))
    assert bench.begin() == ["a=1"]
    bench.add(event("b"))
    assert bench.begin() == ["b=1"]


def test_a_repetition_that_was_asked_for_twice_is_one() -> None:
    bench = Bench()
    for seconds in (600, 60):
        bench.add(event("a"))
        bench.begin()
        bench.end("a=1", Done(again_after=seconds))
    assert bench.waiting() == ["a=1"]
    bench.now = 60
    assert bench.begin() == ["a=1"]


def test_a_hook_that_is_removed_is_not_repeated() -> None:
    bench = Bench()
    bench.add(event("a"))
    bench.begin()
    bench.end("a=1", Done(again_after=600))
    bench.queue.forget("h")
    assert (len(bench.queue), bench.queue._repetitions) == (0, {})


def test_hooks_that_state_different_rules_for_a_queue_are_refused_by_name() -> None:
    def hook(name: str, concurrency: int) -> Hook:
        settings = HookSettings(queues={"q": QueueRules(concurrency, "object")})
        return Hook(name, None, HookConfig("v1", settings=settings))  # type: ignore[arg-type]

    rules = AgreedRules()
    rules.add([hook("a", 2)])
    rules.add([hook("c", 2)])
    assert rules.of("q") == QueueRules(2, "object")
    with pytest.raises(BadHookConfig, match=r"settings.queues.q is .concurrency: 3, .*2.* in a;") as error:
        rules.add([hook("b", 3)])
    assert error.value.hook == "b"
    for name in "ac":
        rules.forget(hook(name, 2))
    with pytest.raises(BadHookConfig, match=r"4.*3.* in b;"):
        rules.add([hook("b", 3), hook("d", 4)])
    assert rules.of("q") == ONE_BY_ONE
