"""Instances of addons as units: they run outside of the chain of weights, come and go, and leave nothing behind.

Level: FakeApi."""

import asyncio
import gc
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.convergence.events import Notice
from hookrunner.convergence.plan import Plan
from hookrunner.convergence.units import NewUnit
from hookrunner.errors import BadModule, HookFailed, RunBlocked, RunPostponed
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import GLOBAL
from hookrunner.model.operations import ValuesOperation
from hookrunner.model.release_state import ReleaseState
from hookrunner.model.resources import ObjectReference
from hookrunner.model.unit_state import UnitState
from tests.controllers.event_server import EventServer
from tests.convergence.conftest import MakeSite
from tests.convergence.planners import INSTANCE, FakePlanner, FakeSubject
from tests.convergence.site import AFTER_DELETE, NO_SCHEMAS, Site, module
from tests.convergence.test_events import posting
from tests.examples import several

pytestmark = pytest.mark.looptime

DNS = INSTANCE.name


def new(name: str = DNS, planner: FakePlanner | None = None) -> NewUnit:
    about = ObjectReference("addons.x-k8s.io/v1alpha1", "DNS", "default", name.rpartition(".")[2])
    unit = replace(INSTANCE, name=name, section=name)
    return NewUnit(unit, planner or FakePlanner(), FakeSubject(), ReleaseState(), about, NO_SCHEMAS)


async def started(site: Site, planner: FakePlanner | None = None) -> UnitState:
    """A site that has started without the unit, which is then added and runs."""
    await site.start()
    site.seen()
    state = site.units.add(new(planner=planner))
    site.units.start(state, "test")
    await site.rests()
    return state


async def test_first_converge_runs_instances_with_the_modules_and_waits_for_none(make_site: MakeSite) -> None:
    site = make_site(module("a", 10), module("b", 20))
    site.work.takes = {"a release": 3.0, f"{DNS} release": 60.0}
    state = site.units.add(new())
    site.units.start(state, "too early: the first round does it")
    await site.start()
    steps = site.seen()
    assert steps.index("b beforeHelm") > steps.index("a release") > steps.index(f"{DNS} beforeHelm")
    assert f"{DNS} release" in steps
    assert asyncio.get_running_loop().time() == pytest.approx(30.0, abs=1.0), "after its patience a converge is over"


async def test_converge_is_over_when_each_instance_is_installed_or_parked(make_site: MakeSite) -> None:
    site = make_site(module("a", 10), strict=True)
    site.units.add(new("dns.x.blocked", FakePlanner(blocked=RunBlocked("no version"))))
    site.units.add(new("dns.x.failing", FakePlanner(blocked=HookFailed("no"))))
    await site.start()
    assert asyncio.get_running_loop().time() < 1.0
    assert [state.error for state in site.states.instances] == ["no version", "no"]


async def test_instance_that_is_added_later_runs_at_once(make_site: MakeSite) -> None:
    site = make_site(module("a", 10))
    state = await started(site)
    assert (state.ready, state.phase) == (True, "Ready")
    assert DNS in site.releases.installed


async def test_blocked_unit_touches_nothing_and_is_not_tried_again_by_time(make_site: MakeSite) -> None:
    planner = FakePlanner(blocked=RunBlocked("no version fits"))
    site = make_site()
    state = await started(site, planner)
    await asyncio.sleep(600)
    assert (state.error, state.live, planner.planned, site.seen()) == ("no version fits", False, 1, [])
    assert isinstance(state.failure, RunBlocked)
    planner.blocked = None
    site.tasks.request(state, "channel moved")
    assert await site.rests() == [f"{DNS} beforeHelm", f"{DNS} release"]
    assert (state.error, state.ready) == ("", True)


async def test_failed_unit_is_tried_again_after_its_back_off(make_site: MakeSite) -> None:
    planner = FakePlanner(blocked=HookFailed("source cannot be reached"))
    site = make_site()
    state = await started(site, planner)
    planner.blocked = None
    await asyncio.sleep(10)
    assert (state.ready, planner.planned) == (True, 2)


class SlowPlanner(FakePlanner):
    """Looks at once whether it is blocked, and says so a second later."""

    async def plan(self, state: UnitState) -> Plan:
        blocked = self.blocked
        await asyncio.sleep(1.0)
        self.planned += 1
        if blocked:
            raise blocked
        return self.present(state)


@pytest.mark.parametrize("obstacle", [RunPostponed("waiting for a Service"), HookFailed("no")], ids=["gate", "failure"])
async def test_unit_that_was_requested_during_an_attempt_that_fails_runs_at_once(
    make_site: MakeSite, obstacle: Exception
) -> None:
    """What it failed for may have been corrected."""
    planner, site = SlowPlanner(blocked=obstacle), make_site()
    await site.start()
    state = site.units.add(new(planner=planner))
    site.units.start(state, "test")
    await asyncio.sleep(0.5)
    planner.blocked = None
    site.tasks.request(state, "corrected")
    await asyncio.sleep(2.0)
    assert (state.ready, planner.planned) == (True, 2)


async def test_unit_that_causes_its_own_next_run_has_a_back_off(make_site: MakeSite) -> None:
    planner, site = SlowPlanner(blocked=HookFailed("no")), make_site()
    await site.start()
    state = site.units.add(new(planner=planner))
    site.units.start(state, "test")
    for _ in range(120):
        site.tasks.request(state, "a hook changes values in each run")
        await asyncio.sleep(0.5)
        if state.busy_since is None:
            break
    await asyncio.sleep(2.0)
    assert planner.planned == 2


async def test_runs_of_an_instance_make_no_events_of_modules(make_site: MakeSite) -> None:
    """Its phases are its Events; only a deletion that fails has no phase of its own."""
    planner = FakePlanner(blocked=HookFailed("no"))
    site = make_site(hooks={"dns": {"h": AFTER_DELETE}})
    state = await started(site, planner)
    planner.blocked = None
    await asyncio.sleep(10)
    site.work.fails = {f"{DNS} afterDeleteHelm"}
    deletion = asyncio.create_task(site.units.delete(state, "deleted by its user"))
    await site.rests()
    reasons = [notice.reason for notice in await site.states.notices.next_batch()]
    assert reasons == ["DeleteFailed"]
    deletion.cancel()


async def test_global_value_runs_all_instances_once_and_another_edit_none(make_site: MakeSite) -> None:
    site = make_site(module("a", 10))
    await started(site)
    site.seen()
    site.edit(a="x: 1")
    assert not [step for step in await site.rests() if step.startswith(DNS)]
    site.edit(GLOBAL="x: 1")
    assert [step for step in await site.rests() if step.startswith(DNS)] == [f"{DNS} beforeHelm", f"{DNS} release"]
    site.edit(aEnabled="false")
    assert not [step for step in await site.rests() if step.startswith(DNS)]


async def delete(site: Site, state: UnitState) -> None:
    """Delete what a unit has installed, and then the unit."""
    await site.units.delete(state, "deleted by its user")
    await site.units.remove(state)


async def test_deletion_runs_delete_hooks_and_removes_the_unit(make_site: MakeSite) -> None:
    site = make_site(hooks={"dns": {"h": AFTER_DELETE}})
    state = await started(site)
    site.seen()
    await delete(site, state)
    assert site.seen() == [f"{DNS} uninstall", f"{DNS} afterDeleteHelm"]
    assert (site.states.get(DNS), site.releases.installed) == (None, set())


async def test_deletion_that_fails_is_repeated_and_runs_no_hook_twice(make_site: MakeSite) -> None:
    site = make_site(hooks={"dns": {"h": {BindingType.BEFORE_DELETE_HELM: 1}}})
    state = await started(site)
    site.seen()
    site.work.fails = {f"{DNS} uninstall"}
    deleting = asyncio.ensure_future(site.units.delete(state, "deleted"))
    await asyncio.sleep(1.0)
    assert (state.error, deleting.done()) == (f"{DNS} uninstall: no", False)
    site.work.fails = set()
    await deleting
    assert site.seen() == [f"{DNS} beforeDeleteHelm", f"{DNS} uninstall", f"{DNS} uninstall"]


async def running(site: Site) -> UnitState:
    """A unit whose release is under way."""
    site.work.takes = {f"{DNS} release": 20.0}
    await site.start()
    state = site.units.add(new())
    site.units.start(state, "test")
    await site.reaches(f"{DNS} release")
    return state


async def test_deletion_during_a_run_follows_it(make_site: MakeSite) -> None:
    site = make_site()
    state = await running(site)
    await site.units.delete(state, "deleted")
    assert site.seen() == [f"{DNS} beforeHelm", f"{DNS} release", f"{DNS} uninstall"]


async def test_removal_waits_for_the_attempt_under_way_and_leaves_what_is_installed(make_site: MakeSite) -> None:
    site = make_site()
    state = await running(site)
    await site.units.remove(state)
    assert (site.releases.installed, site.states.get(DNS)) == ({DNS}, None)
    assert f"{DNS} uninstall" not in site.seen()


async def test_unit_can_be_added_again_under_its_name_once_it_is_removed(make_site: MakeSite) -> None:
    site = make_site()
    state = await started(site)
    with pytest.raises(BadModule):
        site.units.add(new())
    await delete(site, state)
    again = site.units.add(new())
    site.units.start(again, "created again")
    await site.rests()
    assert again.ready


@pytest.mark.parametrize("name", ["a", GLOBAL])
async def test_unit_never_takes_the_place_of_a_module(make_site: MakeSite, name: str) -> None:
    site = make_site(module("a", 10))
    before = site.store.effective("a")
    with pytest.raises((BadModule, KeyError)):
        site.units.add(new("a"))
    assert (site.store.effective("a"), [*site.states.instances]) == (before, [])


LIVING = (
    "Task",
    "Queue",
    "Monitor",
    "Subscription",
    "Section",
    "UnitState",
    "TokenBucket",
    "Hook",
    "_Thread",
    "_Kept",
)


UNTIL_EVENTS_ARE_FORGOTTEN = 3660
"""Seconds: repetitions of an Event are counted for an hour."""


def count(site: Site) -> Counter[str]:
    """What lives: objects by class, tasks, shared watches, queues, hooks, series of metrics, open files."""
    gc.collect()
    objects = Counter(name for thing in gc.get_objects() if (name := type(thing).__name__) in LIVING)
    others = {"tasks": len(asyncio.all_tasks()), "watches": len(site.streams), "queues": len([*site.queues])}
    others |= {"hooks": len(site.engine.hooks), "samples": site.metrics.exposition().count(b"\n")}
    return Counter({**objects, **others, "descriptors": len([*Path("/proc/self/fd").iterdir()])})


def grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """What is more than before, and by how much. Less it may be: what earlier tests have left goes at any time."""
    return {what: more for what, living in after.items() if (more := living - before.get(what, 0)) > 0}


async def live(site: Site, name: str, is_deleted: bool) -> None:
    """The whole life of a unit."""
    state = site.units.add(new(name))
    site.units.start(state, "test")
    while not state.ready:
        await site.states.changed.next()
    site.store.patch(name, [ValuesOperation("add", "/dns/x", 1)])
    site.states.notices.publish(Notice(name, "Applied", "it is"))
    await (delete(site, state) if is_deleted else site.units.remove(state))


@pytest.mark.slow
@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "removed"])
async def test_many_units_come_and_go_and_leave_nothing_behind(make_site: MakeSite, is_deleted: bool) -> None:
    site = make_site(module("a", 10), listens=True)
    await site.start()
    async with posting(EventServer(), site.states.notices):
        await live(site, "dns.default.first", is_deleted)
        await asyncio.sleep(UNTIL_EVENTS_ARE_FORGOTTEN)
        before = count(site)
        for batch in range(several(20)):
            lives = (live(site, f"dns.default.x{batch}-{number}", is_deleted) for number in range(50))
            await asyncio.gather(*lives)
        await asyncio.sleep(UNTIL_EVENTS_ARE_FORGOTTEN)
        assert grown(before, count(site)) == {}
    assert before["watches"] == before["Monitor"] == 1, "those of the module"


@pytest.mark.slow
async def test_units_that_live_are_seen_by_the_count(make_site: MakeSite) -> None:
    """The other side of the test above."""
    site = make_site(module("a", 10), listens=True)
    await site.start()
    before = count(site)
    await asyncio.gather(*(started_once(site, f"dns.default.x{number}") for number in range(5)))
    after = count(site)
    for what in ("UnitState", "Queue", "Monitor", "Hook", "Section", "tasks", "watches", "queues", "hooks"):
        assert after[what] >= before[what] + 5, what
    assert after["samples"] > before["samples"]


async def started_once(site: Site, name: str) -> None:
    state = site.units.add(new(name))
    site.units.start(state, "test")
    while not state.ready:
        await site.states.changed.next()
