"""Which objects of an earlier process are watched for an instance, and when, in virtual time. Level: pure."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.convergence.unit_states import CALM, UnitStates
from hookrunner.errors import Unreachable
from hookrunner.instances.earlier_objects import EarlierObjects
from hookrunner.instances.instance_hooks import InstanceSubject
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.model.releases import Head
from hookrunner.model.unit_state import UnitState
from kubetypes.json_values import JSON
from tests.convergence.planners import INSTANCE, OBJECT, Written
from tests.instances.living import GatedPlanner
from tests.instances.samples import ADDON, instance

pytestmark = pytest.mark.looptime

UNIT = INSTANCE.name
HEAD = Head(UNIT, "home", 3, "deployed")
TRACKED = [(3, (OBJECT,), False)]


class Tracker(Written):
    """Knows which revisions it watches."""

    def tracks(self, head: Head) -> bool:
        return any(revision >= head.revision for revision, _, _ in self.tracked)


class Records:
    """One release; `away` says that it cannot be read."""

    def __init__(self) -> None:
        self.away, self.reads = False, 0

    async def read_manifest(self, head: Head) -> tuple[JSON, ...]:
        self.reads += 1
        if self.away:
            raise Unreachable("away")
        await asyncio.sleep(0.01)
        return (OBJECT,)


class World:
    """One unit, of which an earlier process has written revision 3."""

    def __init__(self) -> None:
        self.states, self.tracker, self.records = UnitStates(()), Tracker(), Records()
        self.state = UnitState(INSTANCE)
        self.installed: Head | None = HEAD
        self.planner = GatedPlanner(addon=ADDON, instance=instance())
        planner: Any = self.planner
        self._live = {UNIT: LiveUnit(ADDON, self.state, planner, InstanceSubject(planner, print))}
        registry: Any = self
        earlier = EarlierObjects(self.tracker, self.records, self.states, registry)
        self.task = asyncio.create_task(earlier.take_over())

    @property
    def live(self) -> Sequence[LiveUnit]:
        return [*self._live.values()]

    def get(self, unit: str) -> LiveUnit | None:
        return self._live.get(unit)

    def begin(self) -> None:
        """A run begins, and looks at what is installed."""
        self.planner.installed = self.installed
        self.state.request(0.0)
        self.state.begin(0.0, "")

    async def run(self, failure: str = "") -> None:
        """A run has ended that has written nothing."""
        await asyncio.sleep(0)
        self.begin()
        self.state.fail(failure) if failure else self.state.succeed(0.0)
        self.states.note(UNIT)
        await asyncio.sleep(0.1)

    async def after(self, seconds: float) -> list[tuple[int, tuple[JSON, ...], bool]]:
        """What is tracked after a while."""
        await asyncio.sleep(seconds)
        return self.tracker.tracked

    def remove(self) -> None:
        """The instance is gone."""
        self._live.clear()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    yield (world := World())
    world.task.cancel()


async def test_objects_of_an_earlier_process_are_tracked_once_and_were_not_just_written(world: World) -> None:
    await world.run()
    assert await world.after(CALM) == TRACKED
    await world.run()
    assert (await world.after(2 * CALM), world.records.reads) == (TRACKED, 1)


async def test_record_is_read_when_the_runs_of_the_start_are_over(world: World) -> None:
    for _ in range(4):
        await world.run()
        world.states.note("another")
    assert world.records.reads == 0
    assert await world.after(2 * CALM) == TRACKED


async def test_objects_are_tracked_though_no_run_gets_to_them(world: World) -> None:
    await world.run(failure="there is no version")
    assert await world.after(2 * CALM) == TRACKED


async def test_nothing_is_read_of_what_a_run_of_this_process_has_written(world: World) -> None:
    await world.run()
    world.tracker.track(replace(HEAD, revision=4), (), written=True)
    await world.after(2 * CALM)
    assert world.records.reads == 0


@pytest.mark.parametrize("installed", [None, replace(HEAD, status="failed")])
async def test_nothing_is_read_where_no_revision_is_deployed(world: World, installed: Head | None) -> None:
    world.installed = installed
    await world.run()
    assert (await world.after(2 * CALM), world.records.reads) == ([], 0)


async def test_nothing_is_read_while_a_run_may_write(world: World) -> None:
    await asyncio.sleep(0)
    world.begin()
    world.states.note(UNIT)
    assert (await world.after(2 * CALM), world.records.reads) == ([], 0)


async def test_record_that_cannot_be_read_is_read_again_without_another_change(world: World) -> None:
    world.records.away = True
    await world.run()
    assert await world.after(2 * CALM) == []
    world.records.away = False
    assert (await world.after(10), world.records.reads) == (TRACKED, 2)


async def test_instance_that_goes_while_its_record_is_read_is_not_tracked(world: World) -> None:
    await world.run()
    await world.after(CALM - 0.095)
    world.remove()
    assert (await world.after(1), world.records.reads) == ([], 1)
