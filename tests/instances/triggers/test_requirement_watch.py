"""What opens each gate of `requires`, without waiting for a back-off. Level: FakeCluster."""

import asyncio
from typing import Any

import pytest

from hookrunner.model.addon_status import ObjectReport
from kubetypes.json_values import JSON
from tests.convergence.conftest import MakeSite, limited, make_site
from tests.convergence.site import Site, module
from tests.fakes.objects import config_map
from tests.instances.living import Living, addon

__all__ = ["limited", "make_site"]

pytestmark = pytest.mark.looptime

UNIT = "dns.kube-system.x"
MAP: JSON = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
DEPLOYMENT: JSON = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}


async def waiting(site: Site, **requires: Any) -> Living:
    """An instance that waits for something."""
    world = Living(site, addon("dns", instances="many", requires=requires), addon("proxy"))
    world.put("x", "dns")
    await world.start()
    assert world.phases == {"x": "Pending"}
    return world


async def opens_within(world: Living, seconds: float, unit: str = UNIT) -> bool:
    """Does it run before its next attempt, which is seconds away?"""
    await asyncio.sleep(seconds)
    return f"{unit} release" in world.site.seen()


def deployment(ready: int, generation: int = 1) -> JSON:
    """A Deployment of two Pods."""
    metadata = {"name": "web", "namespace": "default", "uid": "w", "generation": generation}
    status: JSON = {"observedGeneration": generation, "replicas": 2, "updatedReplicas": 2, "readyReplicas": ready}
    status |= {"availableReplicas": ready, "conditions": [{"type": "Available", "status": str(ready == 2)}]}
    spec = {"replicas": 2}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec, "status": status}


async def test_required_object_opens_the_gate_when_it_is_created(make_site: MakeSite) -> None:
    world = await waiting(make_site(), objects=[MAP])
    await asyncio.sleep(300)
    assert [str(selection) for selection in world.cluster.watches if selection.kind == "ConfigMap"] != []
    world.cluster.put(config_map("other"))
    assert not await opens_within(world, 0.1)
    world.cluster.put(config_map("settings"))
    assert await opens_within(world, 0.1)


async def test_required_object_opens_the_gate_when_it_is_ready(make_site: MakeSite) -> None:
    world = await waiting(make_site(), objects=[DEPLOYMENT])
    await asyncio.sleep(300)
    world.cluster.put(deployment(1))
    assert not await opens_within(world, 0.1)
    assert "1" in str(world.obstacle(UNIT)), "the message follows"
    world.cluster.put(deployment(2))
    assert await opens_within(world, 0.1)


async def test_object_is_watched_once_for_all_and_only_while_one_waits_for_it(make_site: MakeSite) -> None:
    world = await waiting(make_site(), objects=[MAP])
    world.put("y", "dns")
    await world.runs()
    opened = [selection.kind for selection in world.cluster.watches]
    assert (opened.count("ConfigMap"), world.cluster.open_watches) == (1, 3)
    world.cluster.put(config_map("settings"))
    assert sorted(await world.runs()) == [UNIT, "dns.kube-system.y"]
    assert world.cluster.open_watches == 2, "those of the two kinds"
    world.cluster.delete(config_map("settings"))
    assert (await world.runs(), world.phases) == ([], {"x": "", "y": ""}), "an open gate is not closed by time"


@pytest.mark.slow
async def test_many_that_wait_for_one_object_run_once_each_and_disturb_no_other(make_site: MakeSite) -> None:
    many = addon("dns", instances="many", requires={"objects": [MAP]})
    world = Living(make_site(), many, addon("broken"))
    for number in range(50):
        world.put(f"x{number}", "dns")
    world.put("b", "broken")
    world.site.work.fails = {"broken.kube-system.b release"}
    world.site.work.takes = {f"dns.kube-system.x{number} release": number / 100 for number in range(50)}
    await world.start()
    await asyncio.sleep(300)
    before = {live.unit: world.planner(live.unit).tries for live in world.registry.live}
    world.cluster.put(config_map("settings"))
    await asyncio.sleep(2)
    more = {unit: world.planner(unit).tries - tries for unit, tries in before.items()}
    assert more.pop("broken.kube-system.b") <= 1
    assert {*more.values()} == {1}


async def test_watch_ends_with_the_instance_that_waits(make_site: MakeSite) -> None:
    world = await waiting(make_site(), objects=[MAP])
    world.delete("x", "dns")
    await world.runs()
    assert world.cluster.open_watches == 2


def slow_read(world: Living) -> None:
    """The next read returns a second after the server has answered."""
    read = world.server.get

    async def slowly(path: str, *args: Any, **more: Any) -> Any:
        world.server.get = read  # type: ignore[method-assign]
        try:
            return await read(path)
        finally:
            await asyncio.sleep(1.0)

    world.server.get = slowly  # type: ignore[method-assign]


async def test_object_that_appears_during_a_run_is_not_missed(make_site: MakeSite) -> None:
    """The run has looked before, and the watch shows the object from its first list on."""
    world = Living(make_site(), addon("dns", requires={"objects": [MAP]}))
    await world.start()
    slow_read(world)
    world.put("x", "dns")
    await asyncio.sleep(0.5)
    world.cluster.put(config_map("settings"))
    assert await opens_within(world, 0.7)


async def test_object_that_appears_during_a_run_is_not_missed_by_an_open_watch(make_site: MakeSite) -> None:
    """The watch stays open for another addon, which waits for more, and the run has looked before."""
    dns, web = addon("dns", requires={"objects": [MAP]}), addon("web", requires={"objects": [MAP, DEPLOYMENT]})
    world = Living(make_site(), dns, web)
    world.put("w", "web")
    await world.start()
    await asyncio.sleep(300)
    slow_read(world)
    world.put("x", "dns")
    await asyncio.sleep(0.5)
    world.cluster.put(config_map("settings"))
    assert await opens_within(world, 0.7)
    assert world.phases == {"w": "Pending", "x": ""}


async def test_object_that_cannot_be_watched_is_looked_for_again_later(make_site: MakeSite) -> None:
    site = make_site()
    world = Living(site, addon("dns", requires={"objects": [MAP]}))
    world.cluster.forbidden.add("ConfigMap")
    world.put("x", "dns")
    await world.start()
    world.cluster.put(config_map("settings"))
    assert await opens_within(world, 120.0)


async def test_required_module_opens_the_gate_when_it_is_ready(make_site: MakeSite) -> None:
    site = make_site(module("cert", 10), module("other", 20))
    site.work.fails = {"cert release"}
    world = await waiting(site, modules=["cert"])
    await asyncio.sleep(300)
    looked = world.planner(UNIT).tries
    site.edit(other="x: 1")
    await asyncio.sleep(1)
    assert world.planner(UNIT).tries == looked, "another module is no news"
    site.work.fails = set()
    site.edit(cert="x: 1")
    assert await opens_within(world, 1.0)


async def test_module_that_is_turned_on_opens_the_gate(make_site: MakeSite) -> None:
    world = await waiting(make_site(module("cert", 10), off="cert"), modules=["cert"])
    await asyncio.sleep(300)
    world.site.edit(certEnabled="true")
    assert await opens_within(world, 1.0)


async def test_required_addon_opens_the_gate_when_it_is_ready(make_site: MakeSite) -> None:
    world = await waiting(make_site(), addons=["proxy"])
    world.objects.become("proxy.kube-system.p", ObjectReport("DaemonSet a/b", "InProgress"))
    world.put("p", "proxy")
    assert await world.runs() == ["proxy.kube-system.p"]
    await asyncio.sleep(300)
    world.objects.become("proxy.kube-system.p", None)
    assert await opens_within(world, 0.1)


async def test_addon_that_worked_before_a_restart_counts_from_the_beginning(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("dns", requires={"addons": ["proxy"]}), addon("proxy"))
    world.put("x", "dns")
    world.put("p", "proxy")
    (shown,) = [obj for obj in world.cluster.objects.values() if obj["metadata"]["name"] == "p"]
    world.cluster.put(shown | {"status": {"phase": "Current", "healthy": True}})
    await world.start()
    assert (world.phases, world.planner(UNIT).tries) == ({"x": "", "p": ""}, 1)


async def test_required_kind_opens_the_gate_when_it_is_served(make_site: MakeSite) -> None:
    world = await waiting(make_site(), kinds=["a.io/v1/Thing"])
    await asyncio.sleep(300)
    world.site.served.serve("a.io/v1/Thing")
    assert await opens_within(world, 0.1)
