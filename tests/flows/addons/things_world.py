"""A small addon on a real control plane, many instances of it, and starts that offer less than before."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from tests.flows.addons.cluster_world import ClusterWorld
from tests.instances.lives.places import GROUP, MAP, write_addon

DEFINITION = "things.addons.x-k8s.io"
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "own-{{ .Place }}"}
rules: []
"""
OBJECTS = ROLE + MAP.format(name="a", value=1) + MAP.format(name="b", value=1)
OTHER = "object: {kind: Other}\n"


def with_things(there: ClusterWorld, directory: Path) -> ClusterWorld:
    """The addon `thing` in place of the shipped ones."""
    write_addon(directory, {"1.0.0": OBJECTS})
    flags = there.world.operator.flags
    there.world.operator.flags = (*flags[:-1], f"--addons-dir={directory / 'addons'}")
    return there


def thing(place: str) -> str:
    return f"/apis/{GROUP}/namespaces/{place}/things/x"


async def create(things: ClusterWorld, *places: str) -> None:
    """An instance in each namespace; all are current then."""
    await asyncio.to_thread(things.cluster.wait_for_definition, DEFINITION)
    for place in places:
        await things.apply({"apiVersion": GROUP, "kind": "Thing", "metadata": {"name": "x", "namespace": place}})
    await asyncio.gather(*(things.reaches(thing(place), {"phase": "Current"}) for place in places))


async def maps(things: ClusterWorld, place: str) -> dict[str, str]:
    """The ConfigMaps of a place that are not Kubernetes' own."""
    items = (await things.read(f"/api/v1/namespaces/{place}/configmaps"))["items"]
    return {item["metadata"]["name"]: item["data"]["x"] for item in items if "x" in (item.get("data") or {})}


async def left(things: ClusterWorld, places: Iterable[str]) -> list[str]:
    """The objects that are marked as installed by instances in these places."""
    units = ",".join(f"thing.{place}.x" for place in places)
    words = ("get", "configmaps,clusterroles", "-A", "-o", "name", "-l", f"hookrunner.io/addon in ({units})")
    return sorted((await things.kubectl(*words)).split())


async def leave_and_return(things: ClusterWorld) -> None:
    """The addon's directory is away for a while, and hookrunner goes on without it."""
    directory = things.world.directory

    async def is_named() -> bool:
        _, conditions = await asyncio.to_thread(things.world.operator.get, "/readyz?output=json")
        return "not offered since" in conditions

    (directory / "addons/thing").rename(directory / "thing")
    await things.until(is_named, True, "the condition `addons`")
    (directory / "thing").rename(directory / "addons/thing")
    await things.until(is_named, False, "the condition `addons`")


async def start_with_less(things: ClusterWorld) -> None:
    """Start with another addon only, with an invalid one, and with none."""
    world, flags = things.world, things.world.operator.flags
    world.write("addons/other/addon.yaml", OTHER)
    world.write("addons/other/openapi/spec.yaml", "type: object\n")
    world.operator.flags = (*flags, "--addons=other")
    await world.start()
    await things.kubectl("wait", "--for=create", "crd/others.addons.x-k8s.io", "--timeout=180s")
    await world.stop()
    world.operator.flags = flags
    good = (world.directory / "addons/thing/addon.yaml").read_text()
    world.write("addons/thing/addon.yaml", "object: []\n")
    await world.start()
    await world.stop()
    for name in ("thing", "other"):
        (world.directory / "addons" / name).rename(world.directory / name)
    await world.start()
    await world.stop()
    (world.directory / "thing").rename(world.directory / "addons/thing")
    world.write("addons/thing/addon.yaml", good)
