"""An instance takes the place of another one of its exclusive word: what runs, what is removed, what statuses say.
Level: FakeCluster."""

import asyncio
from typing import Any

import pytest

from hookrunner.model.addon_status import ObjectReport
from hookrunner.model.addons import FINALIZER, REPLACES
from kubetypes.json_values import JSON
from tests.convergence.conftest import MakeSite
from tests.instances.living import Living, addon

pytestmark = pytest.mark.looptime

OLD, NEW = "old.kube-system.x", "new.kube-system.x"
BUSY = ObjectReport("DaemonSet kube-system/cni", "InProgress", "1 of 3 Pods are ready")
LEAVES: JSON = {"interfaces": ["cni0"]}


async def started(make_site: MakeSite, **keys: Any) -> Living:
    """The older one is installed, the younger one is not there yet."""
    world = Living(
        make_site(), addon("old", exclusive="cni", leavesOnNodes=LEAVES, **keys), addon("new", exclusive="cni", **keys)
    )
    await world.start()
    world.put("x", "old", created=1, finalizers=[FINALIZER])
    await world.runs()
    return world


async def replacing(make_site: MakeSite, report: ObjectReport | None = None) -> Living:
    """The younger one is installed in its place, and its object is so."""
    world = await started(make_site)
    world.objects.become(NEW, report)
    put(world, "new", "old/x")
    assert await world.runs() == ([NEW] if report else [NEW, NEW]), "once more when the other one is removed"
    return world


def put(world: Living, of: str, replaces: str = "", **more: Any) -> None:
    """An instance with this annotation, and the status that it has."""
    more |= {"annotations": {REPLACES: replaces} if replaces else {}, "status": status(world, of)}
    world.put("x", of, created=1 + (of == "new"), finalizers=[FINALIZER], **more)


def status(world: Living, of: str) -> JSON:
    """Empty without one, or without the object."""
    objects = [obj for key, obj in world.cluster.objects.items() if key.kind == of.upper()]
    return (objects[0].get("status") or {}) if objects else {}


def reasons(world: Living) -> dict[str, str]:
    """The reason of Ready of both."""
    found = {}
    for of in ("old", "new"):
        conditions = {entry["type"]: entry for entry in status(world, of).get("conditions") or ()}
        found[of] = conditions["Ready"]["reason"] if conditions else ""
    return found


def nodes_clean(world: Living, of: str) -> str:
    return "".join(entry["message"] for entry in status(world, of)["conditions"] if entry["type"] == "NodesClean")


async def removed(world: Living) -> list[str]:
    """The units whose objects were removed since the last look, when all is quiet."""
    return [step.removesuffix(" uninstall") for step in await world.site.rests() if step.endswith(" uninstall")]


async def test_successor_is_installed_beside_and_the_other_is_removed_when_it_is_current(make_site: MakeSite) -> None:
    world = await replacing(make_site, BUSY)
    put(world, "old", spec={"edited": True})
    assert await world.runs() == [OLD]
    assert reasons(world) == {"old": "Current", "new": "ObjectsNotReady"}
    assert nodes_clean(world, "new") == ""
    world.objects.become(NEW, None)
    assert await removed(world) == [OLD]
    assert (world.site.releases.installed, reasons(world)) == ({NEW}, {"old": "Replaced", "new": "Current"})
    assert "cni0" in nodes_clean(world, "new")
    written = len(world.server.statuses)
    for of, replaces in (("old", ""), ("new", "old/x")):
        put(world, of, replaces, labels={"touched": "1"})
    await world.runs()
    assert len(world.server.statuses) == written


async def test_what_has_run_once_is_removed_too(make_site: MakeSite) -> None:
    world = await replacing(make_site, BUSY)
    world.planner(OLD).installed = None  # its only run has read the records before it wrote one
    world.objects.become(NEW, None)
    assert await removed(world) == [OLD]


async def test_and_back_by_the_same_rule(make_site: MakeSite) -> None:
    world = await replacing(make_site)
    assert world.site.releases.installed == {NEW}
    put(world, "old", "new/x")
    assert await removed(world) == []
    assert reasons(world)["old"] == "Replaced"
    assert "remove the annotation hookrunner.io/replaces: old/x from NEW" in status(world, "old")["errors"][0]
    put(world, "new")
    await world.runs()
    assert (world.site.releases.installed, reasons(world)) == ({OLD}, {"old": "Current", "new": "Replaced"})


@pytest.mark.parametrize("way", ["annotation", "deletion"])
async def test_way_back_until_it_is_current(make_site: MakeSite, way: str) -> None:
    world = await replacing(make_site, BUSY)
    if way == "annotation":
        put(world, "new")
    else:
        put(world, "new", "old/x", deletionTimestamp="2026-01-02T00:00:00Z")
    assert await removed(world) == [NEW]
    assert world.site.releases.installed == {OLD}
    assert status(world, "old")["phase"] == "Current"
    if way == "annotation":
        assert reasons(world)["new"] == "Exclusive"
        put(world, "new", "old/x")
        world.objects.become(NEW, None)
        await world.runs()
        assert world.site.releases.installed == {NEW}


async def test_deleted_successor_lets_the_replaced_one_return(make_site: MakeSite) -> None:
    world = await replacing(make_site)
    put(world, "new", "old/x", deletionTimestamp="2026-01-02T00:00:00Z")
    assert await removed(world) == [NEW]
    assert world.site.releases.installed == {OLD}


async def test_deleted_replaced_one_is_no_more_than_an_object(make_site: MakeSite) -> None:
    world = await replacing(make_site)
    put(world, "old", deletionTimestamp="2026-01-02T00:00:00Z")
    await world.site.rests()
    assert [key.kind for key in world.cluster.objects] == ["NEW"]
    assert (world.site.releases.installed, "cni0" in nodes_clean(world, "new")) == ({NEW}, True)
    put(world, "new")
    await world.runs()
    assert (status(world, "new")["phase"], nodes_clean(world, "new")) == ("Current", "")


async def test_replacer_of_nothing_is_installed_as_without_the_annotation(make_site: MakeSite) -> None:
    world = Living(make_site(), addon("old", exclusive="cni"), addon("new", exclusive="cni"))
    await world.start()
    put(world, "new", "old/x")
    assert await world.runs() == [NEW]
    assert (status(world, "new")["phase"], nodes_clean(world, "new")) == ("Current", "")


async def test_removal_that_fails_is_repeated_and_the_successor_stays(make_site: MakeSite) -> None:
    world = await started(make_site)
    world.site.work.fails = {f"{OLD} uninstall"}
    put(world, "new", "old/x")
    await world.site.reaches(f"{OLD} uninstall")
    put(world, "old", spec={"edited": True})
    await asyncio.sleep(100)
    assert reasons(world) == {"old": "ApplyFailed", "new": "Current"}
    world.site.work.fails = set()
    await asyncio.sleep(600)
    assert (world.site.releases.installed, reasons(world)) == ({NEW}, {"old": "Replaced", "new": "Current"})


async def test_replaced_one_stays_out_while_the_addon_of_its_successor_is_away(make_site: MakeSite) -> None:
    world = await replacing(make_site)
    away = world.caches["new"]
    world.registry.withdraw("new")
    put(world, "old", spec={"edited": True})
    assert await world.runs() == []
    assert "its addon is not offered" in status(world, "old")["errors"][0]
    world.registry.offer(away)
    world.registry.decide(away.addon)
    await world.runs()
    assert world.site.releases.installed == {NEW}
