"""What is shown of a busy module, and when that is trouble. Level: pure."""

import re
import time
from pathlib import Path

from hookrunner.convergence.status import failing_hooks, work
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import Choice, Decision, Module, Phase, Traits
from hookrunner.model.tasks import HookRun, Task, UnitTask
from hookrunner.model.unit_state import ModuleState
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
