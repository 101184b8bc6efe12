"""Which instances have units, and when they run. Level: FakeCluster."""

import asyncio

import pytest

from hookrunner.model.addons import RECONCILE, UNMANAGED
from hookrunner.model.events import WatchLost
from tests.convergence.conftest import MakeSite
from tests.convergence.site import module
from tests.instances.living import Living, addon

pytestmark = pytest.mark.looptime

DNS = "dns.kube-system.x"
CNI = {"exclusive": "cni"}


async def started(make_site: MakeSite, *names: str, **keys: object) -> Living:
    """These addons without instances; `keys` are those of each addon.yaml."""
    world = Living(make_site(), *(addon(name, **keys) for name in names))
    await world.start()
    return world


async def test_instance_runs_when_it_is_created_and_when_its_spec_changes(make_site: MakeSite) -> None:
    world = await started(make_site, "dns")
    world.put("x", "dns")
    assert await world.runs() == [DNS]
    world.put("x", "dns", spec={"replicas": 2})
    assert await world.runs() == [DNS]
    world.put("x", "dns", spec={"replicas": 2}, annotations={RECONCILE: "again"})
    assert await world.runs() == [DNS]
    world.put("x", "dns", spec={"replicas": 2}, annotations={RECONCILE: "again", "other": "1"})
    assert await world.runs() == []


async def test_fifty_edits_in_a_second_are_few_runs_and_the_last_one_wins(make_site: MakeSite) -> None:
    world = await started(make_site, "dns", instances="many")
    for name in ("x", "y"):
        world.put(name, "dns")
    assert len(await world.runs()) == 2
    for number in range(50):
        world.put("x", "dns", spec={"replicas": number})
        await asyncio.sleep(0.02)
    runs = await world.runs()
    assert 2 <= len(runs) <= 6
    assert {*runs} == {DNS}
    assert world.planner(DNS).specs[-1] == {"replicas": 49}


async def test_deletion_ends_the_unit_and_lets_the_object_go(make_site: MakeSite) -> None:
    world = await started(make_site, "dns")
    world.put("x", "dns")
    await world.runs()
    packages = world.planner(DNS).packages
    world.delete("x", "dns")
    assert await world.runs() == []
    assert (world.registry.live, world.ended, packages.is_closed, world.cluster.objects) == ((), [DNS], True, {})


async def test_object_created_again_during_its_removal_runs_when_that_is_over(make_site: MakeSite) -> None:
    world = await started(make_site, "dns")
    world.put("x", "dns")
    await world.runs()
    world.site.work.takes = {f"{DNS} uninstall": 20.0}
    world.cluster.delete(world.cluster.objects[next(iter(world.cluster.objects))])
    await asyncio.sleep(1)
    world.put("x", "dns", uid="second", spec={"replicas": 3})
    await asyncio.sleep(1)
    assert world.planner(DNS).instance.uid == "x"
    assert await world.runs() == [DNS]
    assert (world.planner(DNS).instance.uid, world.planner(DNS).specs) == ("second", [{"replicas": 3}])


async def test_unmanaged_instance_is_left_alone_until_it_is_managed_again(make_site: MakeSite) -> None:
    world = await started(make_site, "dns")
    world.put("x", "dns")
    await world.runs()
    world.put("x", "dns", annotations={UNMANAGED: "true"})
    await world.runs()
    assert (world.registry.live, world.site.releases.installed) == ((), {DNS})
    world.put("x", "dns", annotations={})
    assert await world.runs() == [DNS]


async def test_nothing_runs_before_all_instances_are_listed(make_site: MakeSite) -> None:
    """The one that is listed first may have to give way to one that comes later."""
    world = Living(make_site(), addon("dns"))
    world.cluster.listing.clear()
    await world.start()
    world.put("b", "dns", created=2)
    world.put("a", "dns", created=1)
    assert (await world.runs(), world.registry.live) == ([], ())
    world.cluster.listing.set()
    assert (await world.runs(), world.phases) == (["dns.kube-system.a"], {"b": "Conflict", "a": ""})


async def test_rivals_that_cannot_be_listed_hold_an_instance_back(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("a", **CNI), addon("b", **CNI))
    world.cluster.forbidden.add("B")
    world.put("x", "a")
    await world.start()
    assert (await world.runs(), world.phases) == ([], {"x": "Pending"})
    obstacle = world.obstacle("a.kube-system.x")
    assert obstacle
    assert obstacle.message == "waiting for the instances of b, which cannot be listed: forbidden: B"


async def test_rivals_that_are_not_listed_yet_leave_an_instance_as_it_is(make_site: MakeSite) -> None:
    """The API server is away for a moment: a restart should not say otherwise than what the status says."""
    world = Living(make_site(), addon("a", **CNI), addon("b", **CNI))
    world.cluster.unreachable.add("B")
    world.put("x", "a")
    await world.start()
    assert (await world.runs(), world.registry.live, world.status("x")) == ([], (), {})


async def test_unreachable_server_later_on_changes_nothing(make_site: MakeSite) -> None:
    world = await started(make_site, "a", "b", **CNI)
    world.put("x", "a")
    assert await world.runs() == ["a.kube-system.x"]
    world.cluster.tell(WatchLost("away", brief=True))
    assert (await world.runs(), world.phases) == ([], {"x": ""})


async def test_removal_runs_those_that_had_to_give_way_and_no_others(make_site: MakeSite) -> None:
    many = addon("many", instances="many")
    world = Living(make_site(), addon("a", **CNI), addon("b", **CNI), addon("other"), many)
    await world.start()
    for number, (name, of) in enumerate([("old", "a"), ("young", "a"), ("rival", "b"), ("z", "other"), ("m", "many")]):
        world.put(name, of, created=number)
    await world.runs()
    assert world.phases == {"old": "", "young": "Conflict", "rival": "Conflict", "z": "", "m": ""}
    tries = {live.unit: live.state.requested for live in world.registry.live}
    world.delete("old", "a")
    assert await world.runs() == ["a.kube-system.young"]
    again = {live.unit for live in world.registry.live if live.state.requested > tries[live.unit]}
    assert again == {"a.kube-system.young", "b.kube-system.rival"}
    world.delete("m", "many")
    assert await world.runs() == []


async def test_deletion_that_a_foreign_finalizer_delays_runs_those_that_had_to_give_way(make_site: MakeSite) -> None:
    """The unit ends with our finalizer; the object, which has priority, exists until the other one is removed."""
    world = await started(make_site, "dns")
    world.put("old", "dns", created=1)
    world.put("young", "dns", created=2)
    await world.runs()
    world.delete("old", "dns", "example.com/mine")
    await world.runs()
    assert [live.unit for live in world.registry.live] == ["dns.kube-system.young"]
    world.cluster.delete(world.object("old"))
    await world.runs()
    assert world.phases == {"young": ""}


async def test_deletion_of_an_instance_without_a_unit_runs_those_that_require_its_addon(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("proxy"), addon("dns", requires={"addons": ["proxy"]}))
    await world.start()
    world.put("p", "proxy", annotations={UNMANAGED: "true"})
    world.put("x", "dns")
    await world.runs()
    tries = world.planner(DNS).tries
    world.cluster.delete(world.object("p"))
    await asyncio.sleep(0.1)
    assert world.planner(DNS).tries > tries


async def test_instance_that_cannot_be_looked_at_leaves_the_others_alone(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("dns", instances="many"))
    world.faulty = {"a"}
    for name in ("a", "b"):
        world.put(name, "dns")
    await world.start()
    assert world.phases == {"b": ""}
    world.put("c", "dns")
    assert await world.runs() == ["dns.kube-system.c"]


async def test_older_instance_that_is_managed_again_takes_precedence(make_site: MakeSite) -> None:
    world = await started(make_site, "dns")
    world.put("old", "dns", created=1)
    assert await world.runs() == ["dns.kube-system.old"]
    world.put("old", "dns", created=1, annotations={UNMANAGED: "true"})
    world.put("young", "dns", created=2)
    assert {*await world.runs()} == {"dns.kube-system.young"}
    world.put("old", "dns", created=1)
    assert (await world.runs(), world.phases) == (["dns.kube-system.old"], {"old": "", "young": "Conflict"})


async def test_installed_instance_keeps_precedence_over_an_older_one_that_is_resumed(make_site: MakeSite) -> None:
    world = await started(make_site, "dns")
    world.put("old", "dns", created=1, spec={"suspend": True})
    world.put("young", "dns", created=2)
    assert {*await world.runs()} == {"dns.kube-system.young"}
    world.put("old", "dns", created=1)
    assert (await world.runs(), world.phases) == ([], {"old": "Conflict", "young": ""})
    world.delete("young", "dns")
    assert await world.runs() == ["dns.kube-system.old"]


async def test_suspension_lets_another_one_in_only_if_nothing_is_installed(make_site: MakeSite) -> None:
    needs = addon("a", exclusive="cni", requires={"addons": ["absent"]})
    world = Living(make_site(), needs, addon("b", **CNI), addon("c", **CNI))
    await world.start()
    for number, of in enumerate("abc"):
        world.put(of, of, created=number)
    assert (await world.runs(), world.phases) == ([], {"a": "Pending", "b": "Conflict", "c": "Conflict"})
    world.put("a", "a", created=0, spec={"suspend": True})
    assert await world.runs() == ["b.kube-system.b"]
    world.put("b", "b", created=1, spec={"suspend": True})
    assert (await world.runs(), world.phases) == ([], {"a": "Suspended", "b": "Suspended", "c": "Conflict"})


async def test_instance_whose_first_run_is_under_way_keeps_others_out_when_it_is_suspended(make_site: MakeSite) -> None:
    """Its run has passed the gates before: nothing stops it from installing."""
    world = await started(make_site, "a", "b", **CNI)
    world.site.work.takes = {"a.kube-system.old release": 30.0}
    world.put("old", "a", created=1)
    await world.site.reaches("a.kube-system.old release")
    world.put("old", "a", created=1, spec={"suspend": True})
    world.put("young", "b", created=2)
    await asyncio.sleep(10)
    assert world.phases["young"] == "Conflict"
    await world.runs()
    assert world.phases == {"old": "Suspended", "young": "Conflict"}


async def test_instance_without_a_unit_that_its_user_takes_over_lets_others_in(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("a", **CNI), addon("b", **CNI))
    await world.start()
    world.site.states.add(module("a.kube-system.old", 10).unit)  # so it never gets a unit
    world.put("old", "a", created=1)
    world.put("young", "b", created=2)
    assert (await world.runs(), world.phases) == ([], {"young": "Conflict"})
    world.put("old", "a", created=1, annotations={UNMANAGED: "true"})
    assert await world.runs() == ["b.kube-system.young"]


async def test_shut_out_instance_keeps_precedence_if_it_has_installed_something(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("dns"), namespaces=("other",))
    world.site.releases.installed.add(DNS)
    world.put("x", "dns", created=1)
    world.put("y", "dns", created=2, namespace="other")
    await world.start()
    assert (await world.runs(), world.phases) == ([], {"x": "Conflict", "y": "Conflict"})
    world.delete("x", "dns")
    assert await world.runs() == ["dns.other.y"]


async def test_sources_are_asked_for_the_addons_that_use_them(make_site: MakeSite) -> None:
    world = await started(make_site, "a", "b")
    world.put("x", "a")
    world.put("y", "b")
    await world.runs()
    world.registry.ask_sources({"b"}, "Source-Changed")
    assert await world.runs() == ["b.kube-system.y"]
    asked = [world.planner(unit).packages.asked for unit in ("a.kube-system.x", "b.kube-system.y")]
    assert asked == [0, 1]


async def test_suspended_instance_runs_when_it_is_resumed(make_site: MakeSite) -> None:
    world = await started(make_site, "dns")
    world.put("x", "dns")
    await world.runs()
    world.put("x", "dns", spec={"suspend": True, "a": 1})
    assert (await world.runs(), world.phases) == ([], {"x": "Suspended"})
    await asyncio.sleep(3600)
    world.put("x", "dns", spec={"suspend": False, "a": 1})
    assert (await world.runs(), world.planner(DNS).specs[-1]) == ([DNS], {"a": 1})


async def test_deletion_does_not_wait_for_edits_that_are_gathered(make_site: MakeSite) -> None:
    world = await started(make_site, "dns")
    world.put("x", "dns")
    await world.runs()
    for number in range(5):
        world.put("x", "dns", spec={"a": number})
        await asyncio.sleep(0.01)
    world.delete("x", "dns")
    await asyncio.sleep(0.2)
    assert (world.cluster.objects, world.registry.live) == ({}, ())
    await world.runs()
    assert world.registry.live == ()
