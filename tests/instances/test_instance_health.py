"""Which objects are watched for an instance, and when that is decided, in virtual time. Level: pure."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import Any

import pytest

from hookrunner.convergence.unit_states import CALM, UnitStates
from hookrunner.errors import Unreachable
from hookrunner.instances.instance_health import InstanceHealth
from hookrunner.instances.instance_hooks import InstanceSubject
from hookrunner.instances.instance_registry import LiveUnit
from hookrunner.model.addon_status import ObjectReport
from hookrunner.model.releases import Head
from hookrunner.model.unit_state import UnitState
from hookrunner.releases.manifest_objects import ReleaseId
from kubetypes.json_values import JSON
from tests.convergence.planners import INSTANCE, OBJECT
from tests.instances.living import GatedPlanner
from tests.instances.samples import ADDON, instance

pytestmark = pytest.mark.looptime

UNIT = INSTANCE.name
REPORT = (ObjectReport("ConfigMap default/a", "Current"),)


class Tracker:
    """Knows the health of what it tracks: `tracked` has each call, with whether objects were just written."""

    def __init__(self) -> None:
        self.tracked: list[tuple[str, bool]] = []
        self.news = asyncio.Queue[ReleaseId]()

    def track(self, identity: ReleaseId, objects: Iterable[JSON], written: bool) -> None:
        self.tracked.append((identity.name, written))

    def reports(self, identity: ReleaseId) -> tuple[ObjectReport, ...] | None:
        return REPORT

    def forget(self, identity: ReleaseId) -> None:
        self.tracked.append((f"forget {identity.name}", False))

    async def changes(self) -> AsyncGenerator[ReleaseId, None]:
        while True:
            yield await self.news.get()


class Records:
    """One release at a revision; `away` says that it cannot be read."""

    def __init__(self) -> None:
        self.revision, self.away, self.reads = 1, False, 0

    async def read_head(self, name: str, namespace: str) -> Head | None:
        self.reads += 1
        if self.away:
            raise Unreachable("away")
        return Head(name, namespace, self.revision, "deployed")

    async def read_manifest(self, head: Head) -> tuple[JSON, ...]:
        await asyncio.sleep(0.01)
        return (OBJECT,)


class World:
    """One unit whose health is kept."""

    def __init__(self) -> None:
        self.states, self.tracker, self.records = UnitStates(()), Tracker(), Records()
        self.state, self.planner = UnitState(INSTANCE), GatedPlanner(addon=ADDON, instance=instance())
        planner: Any = self.planner
        self._live = {UNIT: LiveUnit(ADDON, self.state, planner, InstanceSubject(planner, print))}
        self.health = InstanceHealth(self.tracker, self.records, "home")
        registry: Any = self
        works = self.health.follow_runs(self.states, registry), self.health.take_over(self.states, registry)
        self.tasks = [*map(asyncio.create_task, works)]

    @property
    def live(self) -> list[LiveUnit]:
        return [*self._live.values()]

    def get(self, unit: str) -> LiveUnit | None:
        return self._live.get(unit)

    async def run(self, revision: int) -> None:
        """A run has ended with this revision."""
        self.records.revision = revision
        self.state.request(0.0)
        self.state.begin(0.0, "")
        self.state.release.settle(Head(UNIT, "home", revision, "deployed"))
        self.state.succeed(0.0)
        self.states.note(UNIT)
        await asyncio.sleep(0.1)

    def remove(self) -> None:
        """The instance is gone."""
        self._live.clear()
        self.health.forget(UNIT)

    def end(self) -> None:
        for task in self.tasks:
            task.cancel()


async def test_objects_are_tracked_after_each_revision_and_not_after_each_run() -> None:
    world = World()
    await world.run(1)
    assert world.health.reports(UNIT, 1) == REPORT
    await world.run(1)
    assert world.records.reads == 1
    world.planner.installed = Head(UNIT, "home", 1, "deployed")
    assert world.health.reports(UNIT, 2) is None
    await world.run(2)
    assert world.tracker.tracked == [(UNIT, True), (UNIT, True)]
    world.end()


async def test_objects_of_an_earlier_process_were_not_just_written() -> None:
    world = World()
    world.planner.installed = Head(UNIT, "home", 3, "deployed")
    await world.run(3)
    await asyncio.sleep(CALM)
    assert world.tracker.tracked == [(UNIT, False)]
    world.end()


async def test_record_of_an_earlier_process_is_read_when_the_runs_of_the_start_are_over() -> None:
    world = World()
    await asyncio.sleep(0)
    world.planner.installed = Head(UNIT, "home", 3, "deployed")
    for _ in range(4):
        await world.run(3)
        world.states.note("another")
    assert world.records.reads == 0
    await asyncio.sleep(2 * CALM)
    assert world.records.reads == 1
    world.end()


async def test_objects_of_an_earlier_process_are_tracked_though_no_run_gets_to_them() -> None:
    world = World()
    world.records.revision, world.planner.installed = 3, Head(UNIT, "home", 3, "deployed")
    world.state.request(0.0)
    world.state.begin(0.0, "")
    world.state.fail("there is no version")
    world.states.note(UNIT)
    await asyncio.sleep(2 * CALM)
    assert (world.health.reports(UNIT, 3), world.tracker.tracked) == (REPORT, [(UNIT, False)])
    world.end()


async def test_record_that_cannot_be_read_is_read_again_without_another_change() -> None:
    world = World()
    world.records.away = True
    await world.run(1)
    assert world.health.reports(UNIT, 1) is None
    world.records.away = False
    await asyncio.sleep(10)
    assert (world.health.reports(UNIT, 1), world.records.reads) == (REPORT, 2)
    world.end()


async def test_change_of_health_is_one_of_the_unit() -> None:
    world = World()
    world.tracker.news.put_nowait(ReleaseId(UNIT, "home"))
    assert await anext(world.health.changes()) == UNIT
    world.end()


async def test_instance_that_is_gone_is_tracked_no_more() -> None:
    world = World()
    await world.run(1)
    world.remove()
    assert (world.tracker.tracked[1:], world.health.reports(UNIT, 1)) == ([(f"forget {UNIT}", False)], None)
    world.end()


async def test_instance_that_goes_while_its_record_is_read_is_not_tracked() -> None:
    world = World()
    run = asyncio.create_task(world.run(1))
    await asyncio.sleep(0.005)
    world.remove()
    await run
    assert (world.records.reads, world.tracker.tracked) == (1, [])
    world.end()
