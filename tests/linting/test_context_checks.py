"""When contexts of different bindings can be combined in one run. Findings about texts: test_samples.py.

Level: pure."""

from hookrunner.linting.context_checks import may_combine
from hookrunner.model.bindings import Change, HookConfig, Kubernetes, Schedule
from tests.tables import each

NO_CHANGES: frozenset[Change] = frozenset()
GROUPED = Kubernetes("pods", "Pod", group="all")
TICK = Schedule("tick", "* * * * *")


@each(
    ("kubernetes", "schedules", "meet"),
    [
        ((), (), False),
        ((Kubernetes("pods", "Pod"),), (), True),
        ((Kubernetes("pods", "Pod", changes=NO_CHANGES),), (), False),
        ((Kubernetes("pods", "Pod", changes=NO_CHANGES),), (TICK,), False),
        ((GROUPED,), (), False),
        ((GROUPED, Kubernetes("nodes", "Node", group="all")), (), False),
        ((GROUPED, Kubernetes("nodes", "Node", group="other")), (), True),
        ((GROUPED, Kubernetes("nodes", "Node", group="other", queue="q")), (), False),
        ((GROUPED, Kubernetes("nodes", "Node", group="other", allow_failure=True)), (), False),
        ((), (TICK,), False),
        ((), (TICK, Schedule("tock", "* * * * *")), True),
        ((), (TICK, Schedule("tock", "* * * * *", queue="q")), False),
        ((GROUPED,), (TICK,), True),
        ((GROUPED,), (Schedule("tick", "* * * * *", group="all"),), False),
    ],
)
def test_contexts_combine_only_across_different_bindings_of_a_queue(
    kubernetes: tuple[Kubernetes, ...], schedules: tuple[Schedule, ...], meet: bool
) -> None:
    assert may_combine(HookConfig("v1", kubernetes=kubernetes, schedules=schedules)) is meet
