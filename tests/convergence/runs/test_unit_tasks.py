"""Runs and deletions as tasks, in virtual time: which tasks are enqueued, what an attempt's outcome does, and what ends
a back-off.

Level: pure."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from hookrunner.background import Background
from hookrunner.convergence.runs.unit_tasks import AT_ONCE, EVERY, UnitTasks
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine.queues import QueueParts
from hookrunner.engine.run_gate import MissingSnapshot
from hookrunner.engine.workers import Queues
from hookrunner.errors import HookFailed, RunPostponed
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Choice, Decision
from hookrunner.model.releases import Adoption, KeptObject, WriteNotes
from hookrunner.model.tasks import Outcome, Task, UnitTask, own_queue
from hookrunner.model.unit_state import UnitState
from tests.convergence.site import module
from tests.fakes.gates import FakeGate

pytestmark = pytest.mark.looptime
ADOPTED = Adoption("default/ConfigMap/a", "gone/a")


class Attempts:
    """Remembers attempts with their seconds. Each takes as long as `takes` says; modules in `broken` fail with the
    error that stands there."""

    def __init__(self, word: str, seen: list[tuple[float, str]]) -> None:
        self.takes = 0.0
        self.broken: dict[str, Exception] = {}
        self.notes = WriteNotes()
        self._word = word
        self._seen = seen

    async def run(self, state: UnitState) -> None:
        self._seen.append((asyncio.get_running_loop().time(), f"{self._word} {state.name}"))
        state.mark_live()
        await asyncio.sleep(self.takes)
        state.release.note_written(self.notes)
        if error := self.broken.get(state.name):
            raise error
        if self._word == "delete":
            state.remove()


@dataclass(eq=False)
class World:
    """Modules `a` and `b` that are on, each with its queue and worker."""

    states: UnitStates
    tasks: UnitTasks
    runs: Attempts
    deletions: Attempts
    queues: Queues
    metrics: Metrics
    attempts: list[tuple[float, str]] = field(default_factory=list)

    @property
    def seen(self) -> list[str]:
        return [attempt for _, attempt in self.attempts]

    def switch(self, name: str, choice: Choice) -> UnitState:
        self.states.module(name).decide(Decision(choice))
        return self.states[name]

    def run(self, *names: str) -> None:
        for name in names:
            self.tasks.give_turn(self.states[name], "test")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock, metrics = asyncio.get_running_loop().time, Metrics("", True)
    states, queues = UnitStates([module("a", 1), module("b", 1)]), Queues(QueueParts(FakeGate(), clock, metrics, 0))
    attempts = list[tuple[float, str]]()
    runs, deletions = Attempts("run", attempts), Attempts("delete", attempts)
    tasks = UnitTasks(states, (runs.run, deletions.run), queues, metrics, clock)

    async def run(_: object, task: Task) -> Outcome:
        assert isinstance(task.order, UnitTask)
        return await tasks.carry_out(task.order)

    async with asyncio.TaskGroup() as group:
        background = Background(group)
        for state in states.modules:
            state.decide(Decision(Choice.ON))
            queues.open(own_queue(state.name), run, background)
        yield World(states, tasks, runs, deletions, queues, metrics, attempts)
        await queues.stop(0)
        background.stop()


async def test_only_modules_that_are_on_and_in_their_turn_run_again(world: World) -> None:
    """The others find everything as it is then."""
    world.run("b")
    await asyncio.sleep(1)
    world.switch("b", Choice.UNDECIDED)
    for state in world.states.modules:
        world.tasks.request(state, "test")
    await asyncio.sleep(1)
    assert world.seen == ["run b"]
    world.switch("b", Choice.ON)
    world.tasks.request(world.states["b"], "test")
    await asyncio.sleep(1)
    assert world.seen == ["run b", "run b"]


async def fail(world: World, *names: str) -> None:
    """Let these modules fail once, and be repaired."""
    world.runs.broken = dict.fromkeys(names, HookFailed("broken"))
    world.run(*names)
    await asyncio.sleep(0.1)
    world.runs.broken = {}


async def test_a_failed_module_runs_again_after_its_back_off(world: World) -> None:
    await fail(world, "a")
    assert (world.states["a"].error, world.states["a"].set_aside) == ("broken", True)
    await asyncio.sleep(6)
    (first, _), (second, _) = world.attempts
    assert second - first >= 5
    assert (world.states["a"].error, world.states["a"].ready) == ("", True)


async def test_a_run_that_is_postponed_is_tried_again_and_is_no_failure(world: World) -> None:
    world.runs.broken["a"] = RunPostponed("waiting for a Service")
    world.run("a")
    await asyncio.sleep(30)
    assert len(world.seen) > 1
    assert world.states["a"].error == "waiting for a Service"
    assert "module_run_errors_total{" not in world.metrics.exposition().decode()
    del world.runs.broken["a"]
    await asyncio.sleep(60)
    assert world.states["a"].ready


async def test_a_request_ends_the_back_off_of_a_failed_module(world: World) -> None:
    await fail(world, "a")
    world.run("a")
    await asyncio.sleep(0.1)
    assert world.seen == ["run a", "run a"]
    assert world.states["a"].error == ""


async def test_a_module_that_works_again_ends_the_back_off_of_others_that_failed(world: World) -> None:
    await fail(world, "a", "b")
    world.run("a")
    await asyncio.sleep(0.1)
    assert world.seen == ["run a", "run b", "run a", "run b"]
    notices = await world.states.notices.next_batch()
    assert [notice.reason for notice in notices] == ["ModuleFailed", "ModuleFailed", "ModuleHealed", "ModuleHealed"]


async def test_a_module_that_never_failed_leaves_the_back_off_of_others(world: World) -> None:
    await fail(world, "b")
    world.run("a")
    await asyncio.sleep(4)
    assert world.seen == ["run b", "run a"]
    await asyncio.sleep(2)
    assert world.seen == ["run b", "run a", "run b"]


async def test_requests_during_a_run_bring_one_more_run(world: World) -> None:
    """What runs now may have read what is outdated."""
    world.runs.takes = 10.0
    world.run("a")
    await asyncio.sleep(1)
    world.run("a", "a", "a")
    assert not world.states["a"].ready
    await asyncio.sleep(30)
    assert [at for at, _ in world.attempts] == [0, 10]
    assert world.states["a"].ready


@pytest.mark.parametrize("error", [None, HookFailed("broken")])
async def test_many_edits_share_runs_and_the_last_one_is_seen(world: World, error: HookFailed | None) -> None:
    """Three runs at once, then one each half second, which covers all requests until then; also of a unit that fails,
    which each edit tries again."""
    world.runs.broken = {"a": error} if error else {}
    for _ in range(30):
        world.run("a")
        await asyncio.sleep(0.1)
    last = asyncio.get_running_loop().time() - 0.1
    await asyncio.sleep(1)
    assert 3 < len(world.seen) < 10
    assert [at for at, _ in world.attempts][:3] == pytest.approx([0, 0.1, 0.2])
    assert last <= world.attempts[-1][0] <= last + EVERY


async def test_a_unit_that_was_edited_often_holds_up_no_other_and_is_deleted_at_once(world: World) -> None:
    for _ in range(AT_ONCE + 1):
        world.run("a")
        await asyncio.sleep(0.01)
    world.run("b")
    world.tasks.request_deletion(world.switch("a", Choice.OFF), "test")
    await asyncio.sleep(0.01)
    assert world.seen == ["run a"] * AT_ONCE + ["run b", "delete a"]


async def test_requests_during_a_deletion_bring_no_second_one(world: World) -> None:
    state = world.switch("a", Choice.OFF)
    state.mark_live()
    world.deletions.takes = 10.0
    for _ in range(3):
        world.tasks.request_deletion(state, "test")
        await asyncio.sleep(1)
        assert len(world.queues.by_name[own_queue("a")]) == 1
    await asyncio.sleep(30)
    assert world.seen == ["delete a"]
    assert (state.live, state.busy_since) == (False, None)


async def test_a_task_that_comes_too_late_does_nothing(world: World) -> None:
    """The module was turned off before its run, or on before its deletion."""
    world.run("a")
    world.tasks.request_deletion(world.states["b"], "test")
    world.switch("a", Choice.OFF)
    await asyncio.sleep(0.1)
    assert world.seen == []
    for state in world.states.modules:
        assert (state.busy_since, state.owed_since, state.adopting) == (None, None, False)


async def test_a_task_before_its_turn_does_nothing_and_keeps_no_module_busy(world: World) -> None:
    world.run("a")
    world.states["a"].await_turn()
    await asyncio.sleep(0.1)
    assert world.seen == []
    assert world.states["a"].busy_since is None
    world.run("a")
    await asyncio.sleep(0.1)
    assert world.seen == ["run a"]


async def test_a_failure_in_what_is_no_longer_wanted_counts_and_is_forgotten(world: World) -> None:
    world.runs.takes, world.runs.broken = 1.0, {"a": HookFailed("broken")}
    world.run("a")
    await asyncio.sleep(0.5)
    world.switch("a", Choice.OFF)
    await asyncio.sleep(1)
    assert world.states["a"].error == ""
    assert 'module_run_errors_total{module="a"} 1' in world.metrics.exposition().decode()
    await asyncio.sleep(60)
    assert world.seen == ["run a"]


async def test_a_missing_snapshot_is_recognized_by_the_type_of_the_error(world: World) -> None:
    words = "h: waiting for the snapshot of cms"
    for error, lacks in ((MissingSnapshot(words), True), (HookFailed(words), False)):
        world.runs.broken = {"a": error}
        world.run("a")
        await asyncio.sleep(0.1)
        assert (world.states["a"].error, isinstance(world.states["a"].failure, MissingSnapshot)) == (words, lacks)


async def test_a_bug_in_a_run_is_a_failure_of_its_module(world: World) -> None:
    world.runs.broken = {"a": ZeroDivisionError("oops")}
    world.run("a", "b")
    await asyncio.sleep(0.1)
    assert "ZeroDivisionError" in world.states["a"].error
    assert world.states["b"].ready
    assert world.states["a"].busy_since is None


@pytest.mark.parametrize("error", [None, HookFailed("broken")])
async def test_an_adoption_returns_when_its_run_has_ended(world: World, error: HookFailed | None) -> None:
    """Also if another run was under way, which must not take over anything."""
    state = world.states["a"]
    world.runs.takes = 10.0
    world.run("a")
    await asyncio.sleep(1)
    assert not state.may_adopt
    adoption = asyncio.create_task(world.tasks.request_adoption(state))
    await asyncio.sleep(10)
    world.runs.notes, world.runs.broken = WriteNotes([ADOPTED]), {"a": error} if error else {}
    assert (state.may_adopt, adoption.done()) == (True, False)
    await adoption
    assert (asyncio.get_running_loop().time(), state.may_adopt) == (20, False)
    assert (state.release.adopted, state.error) == ((ADOPTED,), "broken" if error else "")
    reasons = [notice.reason for notice in await world.states.notices.next_batch()]
    assert "ObjectsAdopted" in reasons


async def test_what_stays_although_it_has_left_the_release_is_news_once(world: World) -> None:
    world.runs.notes = WriteNotes(kept=[KeptObject("default/ConfigMap/a", "it was taken over")])
    for _ in range(2):
        world.run("a")
        await asyncio.sleep(1)
        world.runs.notes = WriteNotes()
    notices = await world.states.notices.next_batch()
    kept = [notice.message for notice in notices if notice.reason == "Kept"]
    assert kept == ["default/ConfigMap/a: it was taken over"]


async def test_tasks_are_measured_like_those_of_hooks(world: World) -> None:
    world.tasks.label("OperatorStartup")
    world.run("a")
    await asyncio.sleep(0.1)
    world.tasks.count_round(3.0)
    text = world.metrics.exposition().decode()
    assert 'module_run_seconds_count{activation="OperatorStartup",module="a"} 1' in text
    assert 'tasks_queue_action_duration_seconds_count{action="AddLast",queue_name="module/a"} 1' in text.replace(
        "queue_action=", "action="
    )
    assert 'convergence_total{activation="OperatorStartup"} 1' in text
