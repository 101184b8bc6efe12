"""The process dies after any of its writes to an addon's release, and the next one still reaches the desired state.

Level: sandbox."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import DesiredRelease, ReleaseOptions
from hookrunner.releases.releases import Releases
from kubesandbox.sandbox import Sandbox
from tests.fakes.deaths import dies
from tests.fakes.objects import deployment
from tests.releases.wants import ADDON_OPTIONS, ADDON_OWNER, addon, configmap
from tests.releases.world import World, started

Step = Callable[[Releases, str], Awaitable[Any]]


def options(place: str) -> ReleaseOptions:
    owner = replace(ADDON_OWNER, namespace=place)
    return replace(ADDON_OPTIONS, marks=replace(ADDON_OPTIONS.marks, owner=owner))


def desired(place: str, digest: str, *objects: Any) -> DesiredRelease:
    """With a namespace of its own, and a ConfigMap in that."""
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"own-{place}"}}
    inside = configmap("inside", x=digest)
    inside["metadata"]["namespace"] = f"own-{place}"
    found = replace(addon(digest, own, inside, deployment("web"), *objects), namespace=place)
    return replace(found, options=options(place))


async def install(releases: Releases, place: str) -> None:
    await releases.reconcile(desired(place, "d1", configmap("a", x="1"), configmap("b", x="1")))


async def upgrade(releases: Releases, place: str) -> None:
    await releases.reconcile(desired(place, "d2", configmap("a", x="2"), configmap("c", x="1")))


async def restore(releases: Releases, place: str) -> None:
    """The upgrade turned out not to work."""
    failed = desired(place, "d2", configmap("a", x="2"), configmap("c", x="1"))
    if (head := await releases.read_head("demo", place)) and head.note != "rolled-back":
        await releases.restore_healthy("demo", place, 1, "d2", options(place))
    await releases.reconcile(failed)


async def tear_down(releases: Releases, place: str) -> None:
    assert await releases.removal.tear_down("demo", place, options(place)) == ()


async def abandon(releases: Releases, place: str) -> None:
    await releases.removal.abandon("demo", place, options(place))
    await releases.removal.forget("demo", place)


OLD, NEW = {"a": "1", "b": "1"}, {"a": "2", "c": "1"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "killed", "after", "maps"),
    [
        ((), install, install, OLD),
        ((install,), upgrade, upgrade, NEW),
        ((install,), upgrade, install, OLD),
        ((install, upgrade), restore, restore, OLD),
        ((install,), upgrade, tear_down, {}),
        ((install, upgrade), tear_down, tear_down, {}),
        ((install,), tear_down, install, OLD),
        ((install,), abandon, abandon, OLD),
    ],
    ids=lambda step: getattr(step, "__name__", ""),
)
async def test_addon_killed_after_any_write_reaches_its_state(
    world: World, before: tuple[Step, ...], killed: Step, after: Step, maps: dict[str, str]
) -> None:
    for writes in range(100):
        place = f"n{writes}"
        await world.client.send(ApiCall("POST", "/api/v1/namespaces", body={"metadata": {"name": place}}))
        for step in before:
            await step(started(world.client), place)
        died = await is_killed(world.sandbox, killed, place, writes)
        await after(started(world.client), place)
        assert await read_maps(world.client, place) == maps
        assert await has_records(world.client, place) is (after not in (tear_down, abandon))
        world.sandbox.faults.requests.clear()
        await after(started(world.client), place)
        assert not [line for line in world.sandbox.faults.requests if not line.startswith("GET")]
        if not died:
            return
    pytest.fail("it never came to an end")


async def is_killed(sandbox: Sandbox, step: Step, place: str, writes: int) -> bool:
    """Does the process die after so many writes?"""
    return await dies(sandbox.url, writes, lambda client: step(started(client), place))


async def read_maps(client: Client, place: str) -> dict[str, str]:
    items = (await client.get(f"/api/v1/namespaces/{place}/configmaps"))["items"]
    return {
        item["metadata"]["name"]: item["data"]["x"] for item in items if "kube-root" not in item["metadata"]["name"]
    }


async def has_records(client: Client, place: str) -> bool:
    return bool((await client.get(f"/api/v1/namespaces/{place}/secrets"))["items"])
