"""When modules are given their turns, in a round and between rounds, in virtual time. Level: pure."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from hookrunner.convergence.turns import TurnDispatcher, TurnRules
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.model.modules import Choice, Decision, Module
from hookrunner.model.unit_state import UnitState
from tests.convergence.site import module

pytestmark = pytest.mark.looptime

ON, OFF = Decision(Choice.ON), Decision(Choice.OFF)


class Runs:
    """Remembers `<module> <cause>`; runs end when the test says so."""

    def __init__(self) -> None:
        self.now = asyncio.get_running_loop().time
        self.seen: list[str] = []

    def give_turn(self, state: UnitState, cause: str) -> None:
        self.seen.append(f"{state.name} {cause}")
        state.request(self.now())

    def take(self) -> list[str]:
        """What was requested since the last look."""
        seen, self.seen = self.seen, []
        return seen


class World:
    """These modules are on, except those in `off`; patience lasts for 30 seconds."""

    def __init__(self, *modules: Module, off: str = "") -> None:
        self.states, self.runs = UnitStates(modules), Runs()
        for state in self.states.modules:
            state.decide(OFF if state.name in off.split() else ON)
        self.turns = TurnDispatcher(self.states, self.runs, TurnRules(30.0))
        self.dispatching = asyncio.create_task(self.turns.dispatch())

    async def opens(self, cause: str) -> list[str]:
        """What is requested when a round comes to the runs of modules."""
        self.turns.open(cause)
        return await self.after()

    async def after(self, seconds: float = 0.01) -> list[str]:
        """What is requested in these seconds."""
        await asyncio.sleep(seconds)
        return self.runs.take()

    async def ends(self, *names: str) -> list[str]:
        """What is requested when these become ready."""
        for name in names:
            self._attempt(name).succeed(self.runs.now())
            self.states[name].become_ready()
            self._finish(name)
        return await self.after()

    async def fails(self, name: str) -> list[str]:
        """What is requested when it fails."""
        self._attempt(name).fail("no")
        self._finish(name)
        return await self.after()

    def _attempt(self, name: str) -> UnitState:
        self.states[name].begin(self.runs.now(), "")
        return self.states[name]

    def _finish(self, name: str) -> None:
        self.states[name].end_attempt(self.runs.now())
        self.states.changed.notify()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """The modules `a`, `b`, which is off, and the gate `gate` with `c` above it."""
    world = World(module("a", 1), module("b", 1), module("gate", 1, gate=True), module("c", 2), off="b")
    yield world
    world.dispatching.cancel()
    await asyncio.gather(world.dispatching, return_exceptions=True)


async def test_no_module_runs_before_the_round_comes_to_them(world: World) -> None:
    assert await world.after(60.0) == []
    assert await world.opens("first") == ["a first", "gate first"]
    assert world.states.module("c").waits_for == "gate, a"
    assert await world.ends("a", "gate") == ["c first"]
    assert world.states.module("c").waits_for == ""


async def test_a_module_that_a_new_round_turns_on_waits_for_the_runs_of_that_round(world: World) -> None:
    """Its definitions come before it."""
    await world.opens("first")
    await world.ends("a", "gate")
    world.turns.close()
    world.states.module("b").decide(ON)
    world.states.changed.notify()
    assert await world.after() == []
    assert await world.opens("second") == ["a second", "b second", "gate second"]


async def test_a_turn_that_was_given_is_used_once(world: World) -> None:
    """Also if its module is deleted and turned on again."""
    await world.opens("first")
    await world.ends("a", "gate")
    world.turns.give([world.states["a"]], "edit")
    assert await world.after() == ["a edit"]
    await world.ends("a")
    world.turns.close()
    world.states["a"].remove()
    world.states.changed.notify()
    assert await world.after() == []


async def test_a_turn_that_was_given_comes_also_before_a_round_gets_to_the_runs(world: World) -> None:
    await world.opens("first")
    await world.ends("a", "gate")
    await world.ends("c")
    world.turns.close()
    world.turns.give([world.states["a"]], "edit")
    assert await world.after() == ["a edit"]
    assert await world.ends("a") == []


async def test_a_given_turn_waits_for_the_gate_and_runs_once_for_its_own_cause(world: World) -> None:
    await world.opens("first")
    await world.ends("a", "gate")
    await world.ends("c")
    for name in ("gate", "c"):
        world.turns.give([world.states[name]], f"edit of {name}")
    assert await world.after() == ["gate edit of gate"]
    assert await world.ends("gate") == ["c edit of c"]
    world.turns.give([world.states["c"]], "another")
    assert await world.after() == ["c another"]


async def test_a_round_takes_over_turns_that_were_given_and_have_not_come(world: World) -> None:
    await world.opens("first")
    await world.ends("a", "gate")
    await world.ends("c")
    for name in ("gate", "c"):
        world.turns.give([world.states[name]], "edit")
    await world.after()
    assert await world.opens("second") == ["a second", "gate second"]
    assert await world.ends("a", "gate") == ["c second"]


async def test_a_module_that_is_off_or_still_to_come_is_given_no_turn(world: World) -> None:
    world.turns.give([world.states["b"]], "edit")
    await world.opens("first")
    world.turns.give([world.states["c"]], "edit")
    await world.ends("gate")
    assert await world.ends("a") == ["c first"]
    world.states.module("a").decide(OFF)
    world.turns.give([world.states["a"]], "edit")
    world.states.module("a").decide(ON)
    assert await world.after() == [], "the round that turns it on again gives it one"


async def test_a_round_is_over_when_all_had_their_turn_or_wait_for_what_fails(world: World) -> None:
    await world.opens("first")
    over = asyncio.create_task(world.turns.wait_until_over())
    await world.ends("a")
    assert not over.done()
    await world.fails("gate")
    assert over.done()
    assert world.states.module("c").waits_for == "gate"
    assert await world.ends("gate") == ["c first"], "repaired after the round"


async def test_patience_with_a_module_that_hangs_ends_without_any_other_change() -> None:
    world = World(module("hangs", 1), module("next", 2))
    assert await world.opens("first") == ["hangs first"]
    assert await world.after(29.0) == []
    assert await world.after(2.0) == ["next first"]
    world.dispatching.cancel()


async def test_a_module_that_hangs_since_an_earlier_round_holds_up_no_other_in_the_next() -> None:
    world = World(module("hangs", 1), module("next", 2))
    await world.opens("first")
    assert await world.after(31.0) == ["next first"]
    await world.ends("next")
    assert await world.opens("second") == ["hangs second", "next second"]
    world.dispatching.cancel()


async def test_modules_that_overtook_a_lower_weight_run_once_more_when_it_is_ready() -> None:
    world = World(module("late", 1), module("next", 2))
    await world.opens("first")
    assert await world.fails("late") == ["next first"]
    await world.ends("next")
    assert await world.ends("late") == ["next Lower-Weight-Ready"]
    await world.ends("next")
    world.turns.give([world.states["late"]], "edit")
    await world.after()
    assert await world.ends("late") == [], "it was ready before"
    world.dispatching.cancel()


@pytest.mark.parametrize(("end", "seconds"), [("removed", 5.0), ("failed", 5.0), ("hangs", 30.0)])
async def test_a_deletion_is_waited_for_until_it_ends_or_fails_or_patience_does(end: str, seconds: float) -> None:
    world = World(module("m", 1), off="m")
    state, began = world.states["m"], world.runs.now()
    state.mark_live()
    state.request_deletion(began)
    waiting = asyncio.create_task(world.turns.wait_for_deletion(state))
    await asyncio.sleep(5.0)
    assert not waiting.done()
    if end == "removed":
        state.remove()
    elif end == "failed":
        state.fail("no")
    world.states.changed.notify()
    async with asyncio.timeout(1000.0):
        await waiting
    assert world.runs.now() - began == pytest.approx(seconds, abs=0.1)
    world.dispatching.cancel()
