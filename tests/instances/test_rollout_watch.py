"""When a rollout is given up, and when the end of its time is noticed, in virtual time. Level: pure."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.instances.instance_hooks import InstanceSubject
from hookrunner.instances.rollout_watch import RolloutWatch
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.model.addon_status import Installed, InstanceFacts, LastHealthy, ObjectReport
from hookrunner.model.addons import CommonFields
from hookrunner.model.unit_state import UnitState
from tests.convergence.planners import INSTANCE
from tests.fakes.cluster import running
from tests.instances.living import GatedPlanner
from tests.instances.samples import ADDON, instance

pytestmark = pytest.mark.looptime

BROKEN = (ObjectReport("Job a/b", "Failed", "it failed"),)
SECOND = Installed("2.0.0", "", INSTANCE.name, 2, "1970-01-01T00:00:00Z")
FACTS = InstanceFacts(
    1, CommonFields(timeout=60, rollback_on_failure=True), installed=SECOND, last_healthy=LastHealthy("1.0.0", 1, "")
)


class Watched:
    """Rollouts that are watched: what was requested, and when which unit was woken."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.woken: list[tuple[float, str]] = []
        self.jump = 0.0
        self._now = asyncio.get_running_loop().time
        self.rollouts = RolloutWatch(self._request, self._wake, lambda: self._now() + self.jump)

    def _request(self, state: UnitState, cause: str) -> None:
        self.requests.append((state.name, cause))

    def _wake(self, unit: str) -> None:
        self.woken.append((round(self._now()), unit))


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    watched = Watched()
    async with running(watched.rollouts.keep()):
        yield watched


def live(name: str = INSTANCE.name) -> LiveUnit:
    planner: Any = GatedPlanner(addon=ADDON, instance=instance())
    return LiveUnit(ADDON, UnitState(replace(INSTANCE, name=name)), planner, InstanceSubject(planner, print))


async def test_each_unit_is_woken_at_the_end_of_its_time_and_not_before(watched: Watched) -> None:
    watched.rollouts.judge(live("late"), FACTS)
    await asyncio.sleep(1)
    watched.rollouts.judge(live("early"), replace(FACTS, fields=replace(FACTS.fields, timeout=30)))
    watched.rollouts.judge(live("done"), replace(FACTS, fields=replace(FACTS.fields, timeout=40)))
    watched.rollouts.judge(live("done"), replace(FACTS, last_healthy=LastHealthy("2.0.0", 2, "")))
    await asyncio.sleep(100)
    assert watched.woken == [(30, "early"), (60, "late")]


async def test_time_that_is_prolonged_counts(watched: Watched) -> None:
    unit = live()
    watched.rollouts.judge(unit, FACTS)
    await asyncio.sleep(10)
    watched.rollouts.judge(unit, replace(FACTS, fields=replace(FACTS.fields, timeout=90)))
    await asyncio.sleep(100)
    assert watched.woken == [(90, unit.unit)]


async def test_failed_rollout_is_given_up_once(watched: Watched) -> None:
    unit = live()
    for _ in range(3):
        watched.rollouts.judge(unit, replace(FACTS, objects=BROKEN))
    assert watched.requests == [(unit.unit, "Rollback")]
    given_up = unit.planner.given_up
    assert (given_up.revision, given_up.reason) == (2, "Job a/b: it failed")


async def test_rollout_under_way_is_left_alone(watched: Watched) -> None:
    unit = live()
    watched.rollouts.judge(unit, FACTS)
    watched.rollouts.judge(unit, replace(FACTS, objects=BROKEN, fields=CommonFields(timeout=60)))
    assert (watched.requests, unit.planner.given_up.revision) == ([], 0)


@pytest.mark.parametrize("jump", [5 * 3600.0, -5 * 3600.0])
async def test_wall_clock_that_is_set_makes_no_rollout_late_or_endless(watched: Watched, jump: float) -> None:
    unit = live()
    watched.rollouts.judge(unit, FACTS)
    await asyncio.sleep(10)
    watched.jump = jump
    for timeout in (60, 90):
        facts = replace(FACTS, fields=replace(FACTS.fields, timeout=timeout))
        assert not watched.rollouts.judge(unit, facts).timed_out
    await asyncio.sleep(81)
    assert watched.woken == [(90, unit.unit)]
    assert watched.rollouts.judge(unit, facts).timed_out


async def test_next_rollout_is_measured_from_its_own_beginning(watched: Watched) -> None:
    unit = live()
    watched.rollouts.judge(unit, FACTS)
    await asyncio.sleep(10)
    watched.jump = -3600.0
    third = replace(SECOND, revision=3, started_at="1969-12-31T23:00:10Z")
    assert not watched.rollouts.judge(unit, replace(FACTS, installed=third)).timed_out
    await asyncio.sleep(100)
    assert watched.woken == [(70, unit.unit)]
