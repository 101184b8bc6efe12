"""For how long a dump says that a task has been running. What else it shows: test_queues.py. Level: pure."""

from collections.abc import Sequence

from hookrunner.engine.queue_dumps import dump
from hookrunner.engine.queues import Queue, QueueParts
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType
from hookrunner.model.tasks import HookRun, UnitTask
from hookrunner.model.timestamps import brief_duration
from tests.fakes.gates import FakeGate


def run(hook: str, module: str = "") -> HookRun:
    return HookRun(hook, "b", BindingType.SCHEDULE, "main", (), merges=False, module=module)


def queue_with(*orders: HookRun | UnitTask) -> tuple[Queue, list[float]]:
    """A queue whose first task was begun at 3 s, and its clock."""
    clock = [0.0]
    queue = Queue("main", QueueParts(FakeGate(), lambda: clock[0], Metrics("")))
    for order in orders:
        queue.enqueue(order)
    clock[0] = 3.0
    queue.dequeue_now()
    return queue, clock


def shown(queue: Queue, inline: Sequence[tuple[HookRun, float]] = ()) -> list[str]:
    return [text for _, text in dump(queue, inline).tasks]


def test_a_task_that_runs_says_for_how_long() -> None:
    queue, clock = queue_with(run("a.sh"), run("b.sh"))
    clock[0] += 6 * 3600 + 125
    first, second = shown(queue)
    assert first.endswith(":running for 6h2m")
    assert second.endswith("b.sh:b")


def test_a_modules_run_names_the_hook_that_it_waits_for() -> None:
    queue, clock = queue_with(UnitTask("ModuleRun", "ingress", "Converge"))
    clock[0] += 40
    ours, other = (run(f"{module}/a.sh", module) for module in ("ingress", "dns"))
    assert shown(queue, [(ours, 33.0), (other, 0.0)])[0].endswith(":running for 40s (a.sh for 10s)")


def test_durations_are_short() -> None:
    assert [brief_duration(seconds) for seconds in (3.21, 62, 2820, 22320)] == ["3.2s", "62s", "47m", "6h12m"]
