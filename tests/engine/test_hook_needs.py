"""Which failing hooks and endless runs need the user. Level: pure."""

import time

import pytest

from hookrunner.engine.attempts import FIRST_DELAY
from hookrunner.engine.hook_needs import LONG, endless_runs, failing_hooks
from hookrunner.engine.queues import Queue, QueueParts
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType
from hookrunner.model.needs import UserNeed
from hookrunner.model.tasks import Failed, HookRun, Task, UnitTask
from tests.fakes.gates import FakeGate


def run(hook: str, binding: str = "tick") -> HookRun:
    return HookRun(hook, binding, BindingType.SCHEDULE, "main", (), merges=False)


def queue_with(*orders: HookRun | UnitTask, name: str = "main") -> Queue:
    queue = Queue(name, QueueParts(FakeGate(), lambda: 0.0, Metrics("")))
    for order in orders:
        queue.enqueue(order)
    return queue


def fail(queue: Queue, park: bool = False) -> None:
    task = queue.dequeue_now()
    assert isinstance(task, Task)
    queue.settle(task, Failed(f"{task.order.hook} FAILED: exit status 1\nsee above", park))


def test_a_failing_hook_is_shown_with_its_queue_its_next_try_and_what_waits_behind_it() -> None:
    queue = queue_with(run("a.sh"), run("b.sh"), run("c.sh"))
    fail(queue)
    [need] = failing_hooks([queue])
    assert (need.name, need.message) == ("a.sh", "has failed once for tick: exit status 1; see above")
    assert (need.failures, need.queue, need.behind) == (1, "main", 2)
    assert need.again - time.time() == pytest.approx(FIRST_DELAY, abs=1)


def test_nothing_waits_behind_a_parked_failure() -> None:
    queue = queue_with(run("a.sh"), run("b.sh"))
    fail(queue, park=True)
    assert [need.behind for need in failing_hooks([queue])] == [0]


def test_of_several_failures_of_a_hook_the_most_frequent_counts() -> None:
    once, often = queue_with(run("a.sh", "x")), queue_with(run("a.sh", "y"), name="q")
    fail(once)
    fail(often)
    next(iter(often)).failures = 7
    assert [(need.failures, need.queue) for need in failing_hooks([once, often])] == [(7, "q")]


def test_runs_of_modules_and_tasks_that_did_not_fail_are_left_out() -> None:
    module = queue_with(UnitTask("ModuleRun", "dns", "test"))
    fail(module)
    assert list(failing_hooks([module, queue_with(run("a.sh"))])) == list[UserNeed]()


def test_a_run_is_reported_when_it_is_long_and_others_wait_for_it() -> None:
    crowded, alone = queue_with(run("a.sh"), run("b.sh")), queue_with(run("a.sh"))
    [need] = endless_runs([crowded], [(run("a.sh"), 0.0)], LONG)
    assert (need.name, need.message, need.behind) == ("a.sh", "has been running for 10m for tick", 1)
    assert list(endless_runs([crowded], [(run("a.sh"), 1.0)], LONG)) == list[UserNeed]()
    assert list(endless_runs([alone], [(run("a.sh"), 0.0)], LONG)) == list[UserNeed]()
