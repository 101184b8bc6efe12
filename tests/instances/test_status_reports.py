"""What the status of an instance says as it runs, from the unit and the health of its objects, in virtual time.

Level: FakeCluster."""

import asyncio

import pytest

from hookrunner.convergence.runs.unit_tasks import AT_ONCE
from hookrunner.errors import HookFailed
from hookrunner.instances.protection.protection_state import PENDING
from hookrunner.model.addon_status import ObjectReport, ProtectionState
from hookrunner.model.timestamps import rfc3339
from tests.convergence.conftest import MakeSite
from tests.instances.living import Living, addon

pytestmark = pytest.mark.looptime

DNS = "dns.kube-system.x"
LATE = ObjectReport("Deployment a/b", "InProgress", "0 of 2 Pods are ready")


async def installed(make_site: MakeSite, report: ObjectReport | None = None, **spec: object) -> Living:
    """An instance, with an object in that state."""
    world = Living(make_site(), addon("dns", instances="many"))
    world.objects.become(DNS, report)
    await world.start()
    world.put("x", "dns", spec=spec)
    assert await world.runs() == [DNS]
    return world


def said(world: Living) -> list[str]:
    """The phases that were written since the last look."""
    phases = [phase for _, phase in world.server.statuses]
    world.server.statuses.clear()
    return phases


async def test_instance_that_cannot_be_reported_leaves_the_others_alone(make_site: MakeSite) -> None:
    world = await installed(make_site)
    world.objects.faulty.add("dns.kube-system.a")
    for name in ("a", "b"):
        world.put(name, "dns")
    await world.runs()
    assert (world.status("a"), world.status("b")["phase"]) == ({}, "Current")


async def test_protection_is_said_if_it_is_asked_for_and_stays_while_it_is_being_written(make_site: MakeSite) -> None:
    world = await installed(make_site)
    assert protected(world) == []
    world.put("x", "dns", spec={"protect": True}, generation=2)
    for state, shown in (
        (PENDING, "Unknown"),
        (ProtectionState("True", "Enforced", "by x"), "True"),
        (PENDING, "True"),
        (ProtectionState("False", "NotServed", "no such kind"), "False"),
    ):
        world.protection.state = state
        world.site.states.unit_changes.note(DNS)
        await world.runs()
        assert protected(world) == [shown]


def protected(world: Living) -> list[str]:
    """The status of the condition, without it empty."""
    return [entry["status"] for entry in world.status("x")["conditions"] if entry["type"] == "Protected"]


async def test_run_that_ends_soon_is_one_status(make_site: MakeSite) -> None:
    world = await installed(make_site)
    assert (said(world), world.status("x")["healthy"]) == (["Current"], True)


async def test_long_run_is_said_to_be_under_way(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("dns"))
    world.site.work.takes = {f"{DNS} release": 60.0}
    await world.start()
    world.put("x", "dns")
    await asyncio.sleep(1.9)
    assert said(world) == []
    await asyncio.sleep(1.0)
    assert said(world) == ["Applying"]


async def test_edit_does_not_count_as_applied_before_its_run_has_ended(make_site: MakeSite) -> None:
    """Nor while a run waits after many others, if something else of the instance changes meanwhile."""
    world = await installed(make_site)
    for _ in range(AT_ONCE):
        world.site.tasks.request(world.site.states[DNS], "test")
        await asyncio.sleep(0.1)
    world.put("x", "dns", spec={"a": 2}, generation=2)
    world.objects.become(DNS, None)
    await asyncio.sleep(0.1)
    shown = world.status("x")
    assert (world.planner(DNS).tried, shown["observedGeneration"], shown["phase"]) == (1, 2, "Applying")
    await world.runs()
    assert (world.planner(DNS).tried, world.status("x")["phase"]) == (2, "Current")


async def test_health_of_an_object_changes_the_status_of_its_instance_alone(make_site: MakeSite) -> None:
    world = await installed(make_site, LATE)
    world.put("y", "dns")
    await world.runs()
    assert sorted(world.server.statuses) == [("x", "InProgress"), ("y", "Current")]
    said(world)
    world.objects.become(DNS, None)
    await asyncio.sleep(1)
    assert world.server.statuses == [("x", "Current")]


async def test_timeout_is_noticed_when_it_passes(make_site: MakeSite) -> None:
    world = await installed(make_site, LATE, timeout="60s")
    await asyncio.sleep(50)
    assert said(world) == ["InProgress"]
    await asyncio.sleep(15)
    assert said(world) == ["Failed"]
    world.objects.become(DNS, None)
    await asyncio.sleep(1)
    assert said(world) == ["Current"]


async def test_timeout_counts_from_the_start_that_an_earlier_process_has_written(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("dns"))
    world.objects.become(DNS, LATE)
    began = rfc3339(world.site.now() - 50)
    world.put("x", "dns", spec={"timeout": "60s"}, status={"revision": 1, "startedAt": began})
    await world.start()
    await world.runs()
    assert (said(world), world.status("x")["startedAt"]) == (["InProgress"], began)
    await asyncio.sleep(15)
    assert said(world) == ["Failed"]


async def test_failed_run_is_said_once_however_often_it_is_repeated(make_site: MakeSite) -> None:
    world = await installed(make_site)
    said(world)
    world.site.work.fails = {f"{DNS} release"}
    world.put("x", "dns", spec={"a": 1}, generation=2)
    await asyncio.sleep(600)
    assert said(world) == ["Applying"]
    assert str(HookFailed(f"{DNS} release: no")) in str(world.status("x")["errors"])


async def test_removal_that_takes_long_is_said(make_site: MakeSite) -> None:
    world = await installed(make_site)
    world.site.work.takes = {f"{DNS} uninstall": 60.0}
    said(world)
    world.delete("x", "dns")
    await asyncio.sleep(30)
    assert said(world) == ["Terminating"]
    await world.runs()
    assert (world.cluster.objects, world.reported.find(DNS)) == ({}, None)


@pytest.mark.slow
async def test_five_hundred_instances_cost_what_they_change(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("dns", instances="many"), addon("proxy"))
    units = [f"dns.kube-system.x{number}" for number in range(500)]
    world.site.work.takes = {f"{unit} release": 0.01 + number / 1000 for number, unit in enumerate(units)}
    for number in range(500):
        world.put(f"x{number}", "dns")
    await world.start()
    await world.runs()
    assert (len(said(world)), {world.status(f"x{number}")["phase"] for number in range(500)}) == (500, {"Current"})
    world.put("p", "proxy")
    world.put("x7", "dns", spec={"a": 1}, generation=2)
    world.cluster.delete(world.cluster.objects[next(iter(world.cluster.objects))])
    assert sorted(await world.runs()) == ["dns.kube-system.x7", "proxy.kube-system.p"]
    assert {world.planner(unit).tries for unit in units[1:] if not unit.endswith("x7")} == {1}
    assert sorted(name for name, _ in world.server.statuses) == ["p", "x7"]
