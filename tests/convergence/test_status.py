"""What is shown of a busy module, and when that is trouble. Level: pure."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hookrunner.convergence.decisions.configuration import NOTHING_LOST
from hookrunner.convergence.runs.hook_loading import CompiledHooks
from hookrunner.convergence.status import ModulesStatus, StatusSources, failing_hooks, work
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine.queues import Queue, QueueParts
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import Choice, Decision, Module, Phase, Traits
from hookrunner.model.needs import Urgency, UserNeed
from hookrunner.model.tasks import Failed, HookRun, Task, UnitTask
from hookrunner.model.unit_state import ModuleState
from tests.convergence.site import module
from tests.fakes.gates import FakeGate
from tests.tables import each

ON, OFF = Decision(Choice.ON), Decision(Choice.OFF)


@each(
    ("phase", "wait", "expected"),
    [
        (Phase.STARTUP, True, "its onStartup hooks run"),
        (Phase.WAIT_FOR_SYNCHRONIZATION, False, "its Synchronizations run"),
        (Phase.CAN_RUN_HELM, False, "its hooks run, or its release is applied"),
        (Phase.CAN_RUN_HELM, True, "its hooks run, or its release is applied and its objects get ready"),
    ],
)
def test_a_busy_module_shows_its_step_and_for_how_long(phase: Phase, wait: bool, expected: str) -> None:
    state = _state(ON, phase, 40.0, wait)
    for text in (work(state), work(state, 30.0)):
        assert re.fullmatch(rf"at it for [0-9]+ s: {expected}", text)
    assert work(state, 3600.0) == ""


def test_an_idle_module_shows_no_work() -> None:
    assert work(_state(ON, Phase.READY, 40.0)) == work(_state(OFF, Phase.STARTUP, 40.0)) == ""
    assert work(_state(ON, Phase.STARTUP, None)) == ""


def test_a_hook_that_waits_for_a_retry_is_shown_with_its_module() -> None:
    queues = [
        [_failed("a/hooks/h.sh", "a", 1), _failed("a/hooks/later.sh", "a", 9)],
        [_failed("b/hooks/h.sh", "b", 3), _failed("h.sh", "", 3), _failed("c/hooks/h.sh", "c", 0)],
        [Task(UnitTask("ModuleRun", "d", "test"), 0.0, failures=2)],
    ]
    assert failing_hooks(queues) == {
        "a": "a/hooks/h.sh has failed once for tick: exit status 1",
        "b": "b/hooks/h.sh has failed 3 times for tick: exit status 1",
    }


def _failed(hook: str, module: str, failures: int) -> Task:
    order = HookRun(hook, "tick", BindingType.SCHEDULE, "main", (), module=module)
    return Task(order, 0.0, failures=failures, error=f"{hook} FAILED: exit status 1")


def _state(decision: Decision, phase: Phase, lasts: float | None, wait: bool = False) -> ModuleState:
    module = Module("dns", "dns", 10, Path("dns"), Path("."), traits=Traits(wait=wait))
    state = ModuleState(module, decision)
    state.reach(phase)
    if lasts is not None:
        state.request(time.monotonic() - lasts)
    return state


def test_each_phase_in_which_a_module_is_at_work_is_explained() -> None:
    explained = {phase for phase in Phase if work(_state(ON, phase, 40.0, wait=False))}
    assert set(Phase) - explained == {Phase.READY, Phase.HOOKS_DISABLED}


REJECTED = Module("Bad", "bad", 1, Path("x/010-Bad"), Path("."), problem="no name")


@dataclass
class Rest:
    """What else is known: maintenance, drift, refused sections and a missing ConfigMap."""

    unseen: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    maintained: frozenset[str] = frozenset()
    retired: dict[str, str] = field(default_factory=dict)
    since: float = 0.0
    drifted: dict[str, str] = field(default_factory=dict)

    @property
    def configuration(self) -> "Rest":
        return self

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def is_maintained(self, key: str) -> bool:
        return key in self.maintained

    def forecast(self, source: str) -> str:
        return source

    def drift(self, state: ModuleState) -> list[str]:
        return [self.drifted[state.name]] if state.name in self.drifted else []

    def problems(self, state: ModuleState) -> list[str]:
        return []


def status_of(states: UnitStates, rest: Rest, queues: Sequence[Queue] = ()) -> ModulesStatus:
    known: Any = rest
    waiting: Any = queues
    more = StatusSources(known, known, known, (REJECTED,), known, CompiledHooks(states.notices), known)
    return ModulesStatus(states, known, more, waiting)


def needs_of(states: UnitStates, rest: Rest, queues: Sequence[Queue] = ()) -> list[UserNeed]:
    return [*status_of(states, rest, queues).needs()]


def test_a_module_is_ready_from_its_first_success_until_more_is_requested() -> None:
    states = UnitStates([module("dns", 10)])
    state, status, shown = states.module("dns"), status_of(states, Rest()), list[bool]()
    steps: tuple[Callable[[], None], ...] = (
        lambda: state.decide(ON),  # deletions and definitions come before its turn
        lambda: state.request(0.0),
        lambda: state.begin(0.0, ""),
        state.become_ready,
        lambda: state.succeed(0.0),
        lambda: state.request(0.0),
    )
    for step in steps:
        step()
        shown.append(status.rows()[0].ready)
    assert shown == [False, False, False, False, True, False]


def test_what_is_wrong_with_modules_needs_the_user_by_its_urgency() -> None:
    states = UnitStates([module(name, 10) for name in ("bad", "waits", "odd", "kept", "new")])
    for state in states.modules[:4]:
        state.decide(ON)
    states.module("bad").fail("no way")
    states.module("waits").wait_for(["bad"])
    states.module("odd").decide(Decision(Choice.UNDECIDED, "Script", "exit status 1"))
    rest = Rest(maintained=frozenset({"kept"}), drifted={"kept": "Service a/b"}, retired={"old": "delete it"})
    needs = [(need.urgency, need.name, need.message) for need in needs_of(states, rest)]
    assert needs == [
        (Urgency.FAILING, "bad", "no way"),
        (Urgency.WAITING, "waits", "waits for bad"),
        (Urgency.FAILING, "odd", "undecided: exit status 1"),
        (Urgency.ADVICE, "kept", "not as applied: Service a/b"),
        (Urgency.WAITING, "new", "undecided: not decided yet"),
        (Urgency.FAILING, "x/010-Bad", "no name"),
        (Urgency.ADVICE, "old", "delete it"),
        (Urgency.ADVICE, "kept", "its objects are left as they are: maintenance is NoResourceReconciliation"),
    ]


def test_a_missing_configuration_is_critical_if_modules_would_be_removed() -> None:
    lost, harmless = "ConfigMap a/b is deleted; unless it is created before 12:00, uninstalled: dns", "it is deleted; "
    needs = needs_of(UnitStates([]), Rest(missing=(lost, harmless + NOTHING_LOST), refused={"dns": "size: no number"}))
    assert [need.urgency for need in needs[1:]] == [Urgency.CRITICAL, Urgency.ADVICE, Urgency.FAILING]
    unseen = Rest(unseen="the configuration cannot be read: forbidden")
    [_, need] = needs_of(UnitStates([]), unseen)
    assert (need.urgency, need.message) == (Urgency.CRITICAL, unseen.unseen)


def test_a_failed_module_has_its_failures_and_its_next_try() -> None:
    states = UnitStates([module("bad", 10)])
    queue = Queue("module/bad", QueueParts(FakeGate(), lambda: 0.0, Metrics("")))
    states.module("bad").decide(ON)
    states.module("bad").fail("no way")
    queue.enqueue(UnitTask("ModuleRun", "bad", "test"))
    task = queue.dequeue_now()
    assert isinstance(task, Task)
    queue.settle(task, Failed("no way"))
    need, _ = needs_of(states, Rest(), [queue])
    assert (need.failures, need.again > time.time()) == (1, True)
