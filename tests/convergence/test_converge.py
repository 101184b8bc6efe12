"""The rounds of the converge in virtual time: their steps, what interrupts them, and what no failure loses.

Level: pure."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest

from hookrunner.convergence.converge import Converge
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.model.bindings import BindingType, Hook, HookConfig
from hookrunner.model.modules import GLOBAL, Choice, Decision
from hookrunner.model.tasks import HookRun, Order, Task
from hookrunner.model.unit_state import UnitState
from kubetypes.json_values import JSON
from tests.convergence.site import NOWHERE, module

pytestmark = pytest.mark.looptime

GLOBAL_HOOKS = {BindingType.BEFORE_ALL: 1, BindingType.AFTER_ALL: 1}


class Decided:
    """`changes` says for each further decision whether it differs."""

    def __init__(self) -> None:
        self.unsure, self.reason = False, ""
        self.values = 0
        self.changes: list[bool] = []
        self.decided_at: list[float] = []

    @property
    def is_unsure(self) -> bool:
        return self.unsure

    @property
    def doubt(self) -> str:
        return self.reason

    def global_values(self) -> JSON:
        return self.values

    async def decide(self) -> bool:
        self.decided_at.append(asyncio.get_running_loop().time())
        return self.changes.pop(0) if self.changes else False


class Steps:
    """Remembers steps; `decide` takes a second and fails with the errors in `crashes`."""

    def __init__(self, decisions: Decided, seen: list[str]) -> None:
        self.decisions = decisions
        self.crashes: list[Exception] = []
        self._seen = seen

    async def decide(self) -> None:
        self._seen.append("decide")
        await asyncio.sleep(1)
        if self.crashes:
            raise self.crashes.pop()

    async def prepare_deletions(self, states: Sequence[UnitState]) -> None:
        self._seen.append(f"prepare {' '.join(state.name for state in states)}".strip())

    async def define(self, states: Sequence[UnitState]) -> None:
        self._seen.append("define")

    async def clean_up(self) -> None:
        self._seen.append("clean up")


class Runs:
    """Remembers deletions and labels."""

    def __init__(self, seen: list[str]) -> None:
        self.now = asyncio.get_running_loop().time
        self.rounds: list[str] = []
        self.activation = ""
        self._seen = seen

    def request_deletion(self, state: UnitState, cause: str) -> None:
        self._seen.append(f"delete {state.name}")

    def label(self, activation: str) -> None:
        self.activation = activation

    def count_round(self, seconds: float) -> None:
        self.rounds.append(self.activation)


class Turns:
    """Modules take ten seconds."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def close(self) -> None:
        self._seen.append("close")

    def open(self, cause: str) -> None:
        self._seen.append(f"run {cause}")

    async def wait_until_over(self) -> None:
        await asyncio.sleep(10)

    async def wait_for_deletion(self, state: UnitState) -> None:
        await asyncio.sleep(1)


class GlobalHooks:
    """Has one global hook, whose runs take as long as `takes` says."""

    def __init__(self, seen: list[str]) -> None:
        config = HookConfig("v1", lifecycle=GLOBAL_HOOKS)
        self.hooks = {"global/h": Hook("global/h", NOWHERE, config, GLOBAL), "h": Hook("h", NOWHERE, config)}
        self.takes, self.ticking = 0.0, False
        self._seen = seen

    async def wait_for_start(self) -> None:
        self._seen.append("started")

    def enqueue_once(self, order: Order) -> Task:
        assert isinstance(order, HookRun)
        self._seen.append(f"{order.hook} {order.binding}")
        task = Task(order, 0.0)
        asyncio.get_running_loop().call_later(self.takes, task.over.set)
        return task

    def let_modules_tick(self) -> None:
        self.ticking = True

    def wake(self) -> None:
        self._seen.append("wake")


@dataclass(eq=False)
class World:
    """Modules `a` (on), `b` and `c` (off, installed)."""

    seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.states = UnitStates([module(name, weight) for weight, name in enumerate("abc")])
        self.states.module("a").decide(Decision(Choice.ON))
        for name in "bc":
            self.states.module(name).decide(Decision(Choice.OFF))
            self.states[name].mark_live()
        self.decided = Decided()
        self.steps, self.engine = Steps(self.decided, self.seen), GlobalHooks(self.seen)
        self.runs = Runs(self.seen)
        self.converge = Converge(self.states, self.runs, self.steps, Turns(self.seen), self.engine)
        self.keeping = asyncio.create_task(self.converge.keep())

    def take(self) -> Sequence[str]:
        """What has happened since the last look."""
        seen = list(self.seen)
        self.seen.clear()
        return seen


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    world.keeping.cancel()
    await asyncio.gather(world.keeping, return_exceptions=True)


def whole(cause: str) -> list[str]:
    return [
        "close",
        "global/h beforeAll",
        "decide",
        "prepare b c",
        "delete c",
        "delete b",
        "define",
        f"run {cause}",
        "global/h afterAll",
        "clean up",
    ]


async def test_a_round_has_its_steps_in_order_and_deletes_the_heaviest_first(world: World) -> None:
    world.converge.request("OperatorStartup", at_once=False)
    assert (world.converge.has_begun, world.converge.is_busy) == (False, True)
    await asyncio.sleep(30)
    assert world.take() == ["started", *whole("OperatorStartup")]
    assert world.converge.converged.is_set()
    assert (world.converge.is_busy, world.converge.has_decided, world.engine.ticking) == (False, True, True)


async def test_only_modules_that_are_off_and_installed_are_deleted(world: World) -> None:
    """An undecided one may have been meant to run."""
    world.states.module("c").decide(Decision(Choice.UNDECIDED))
    world.states["b"].remove()
    world.converge.request("first", at_once=False)
    await asyncio.sleep(30)
    assert [step for step in world.take() if step.startswith(("prepare", "delete"))] == ["prepare"]


async def test_runs_between_rounds_have_no_label(world: World) -> None:
    world.converge.request("OperatorStartup", at_once=False)
    await asyncio.sleep(30)
    assert world.runs.activation == ""


async def test_the_first_rounds_are_labelled_as_the_start(world: World) -> None:
    for cause in ("OperatorStartup", "KubeConfig-Changed"):
        world.converge.request(cause, at_once=False)
        await asyncio.sleep(30)
    assert world.runs.rounds == ["OperatorStartup", ""]


async def test_a_request_waits_for_the_end_of_the_round(world: World) -> None:
    world.converge.request("first", at_once=False)
    await asyncio.sleep(5)
    for cause in ("second", "third", "second"):
        world.converge.request(cause, at_once=False)
    await asyncio.sleep(60)
    assert world.take() == ["started", *whole("first"), *whole("second, third")]


async def test_an_urgent_request_interrupts_the_round_and_begins_another(world: World) -> None:
    world.converge.request("first", at_once=False)
    await asyncio.sleep(5)
    world.converge.request("second", at_once=True)
    assert world.converge.phase == "WaitDeleteAndRunModules"
    await asyncio.sleep(60)
    assert world.take() == ["started", *whole("first")[:8], *whole("second")]
    assert world.converge.phase == ""


async def test_the_phase_says_where_the_round_is(world: World) -> None:
    world.engine.takes = 2.0
    world.converge.request("first", at_once=False)
    phases = []
    for seconds in (1.0, 2.0, 13.0, 10.0):
        await asyncio.sleep(seconds)
        phases.append(world.converge.phase)
        assert world.converge.is_busy is bool(world.converge.phase)
    assert phases == ["WaitBeforeAll", "WaitDeleteAndRunModules", "WaitAfterAll", ""]


async def test_a_crash_does_not_lose_what_the_round_was_for(world: World) -> None:
    world.steps.crashes = [ZeroDivisionError("oops")]
    world.converge.request("first", at_once=False)
    with pytest.raises(ZeroDivisionError):
        await world.keeping
    world.keeping = asyncio.create_task(world.converge.keep())
    await asyncio.sleep(30)
    assert world.take()[-10:] == whole("first")


async def test_the_start_is_not_over_while_global_values_are_in_doubt(world: World) -> None:
    world.decided.reason = "the section global is refused"
    world.converge.request("first", at_once=False)
    await asyncio.sleep(30)
    assert not world.converge.converged.is_set()
    world.decided.reason = ""
    world.converge.request("second", at_once=True)
    await asyncio.sleep(30)
    assert world.converge.converged.is_set()
    assert world.runs.rounds == ["OperatorStartup", "OperatorStartup"]


async def test_global_values_that_after_all_hooks_change_cause_another_round(world: World) -> None:
    world.engine.takes = 1.0
    world.converge.request("first", at_once=False)
    await asyncio.sleep(14.5)
    assert world.converge.phase == "WaitAfterAll"
    world.decided.values = 1
    await asyncio.sleep(60)
    assert world.take() == ["started", *whole("first"), *whole("AfterAll-Hooks-Change-GlobalValues")]


async def test_undecided_modules_are_decided_about_again_with_a_back_off(world: World) -> None:
    """Until a decision differs: that is a round."""
    world.converge.request("first", at_once=False)
    await asyncio.sleep(20)
    world.take()
    world.decided.unsure, world.decided.changes = True, [False, False, True]
    world.converge.request("second", at_once=False)
    await asyncio.sleep(15)
    world.take()
    await asyncio.sleep(60)
    first, second, third, *_ = world.decided.decided_at
    assert 5 <= second - first < third - second
    assert world.take()[: len(whole(""))] == whole("Decided-After-Doubt")


async def test_a_round_begins_the_back_off_of_decisions_anew(world: World) -> None:
    world.converge.request("first", at_once=False)
    await asyncio.sleep(20)
    world.decided.unsure = True
    world.converge.request("second", at_once=False)
    await asyncio.sleep(200)
    world.decided.decided_at.clear()
    world.converge.request("third", at_once=False)
    await asyncio.sleep(26)
    assert world.decided.decided_at
