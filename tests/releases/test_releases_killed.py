"""The process dies after any of its writes to a release, of a module or of an addon, and the next one still reaches the
desired state.

Level: sandbox."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import ApiCall
from hookrunner.model.releases import DesiredRelease, ReleaseOptions
from hookrunner.releases.releases import Releases
from tests.fakes.deaths import dies
from tests.fakes.objects import deployment
from tests.releases.wants import ADDON_OPTIONS, ADDON_OWNER, addon, configmap, hook, wanted
from tests.releases.world import World, started

Step = Callable[[Releases, str], Awaitable[Any]]

OBJECTS = configmap("a", x="1"), configmap("b", x="1"), deployment("web")
OTHERS = configmap("a", x="2"), configmap("c", x="1"), deployment("web")
OLD, NEW = {"a": "1", "b": "1"}, {"a": "2", "c": "1"}
HOOKS = (hook("before", "pre-upgrade"), hook("after", "post-upgrade"), hook("gone", "pre-delete"))
BAD: dict[str, Any] = configmap("bad") | {"data": 3}
UNWANTED = {*(hook.name for hook in HOOKS), "kube-root-ca.crt"}

# ── of a module ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def install(releases: Releases, place: str) -> None:
    await releases.reconcile(wanted("d1", *OBJECTS, hooks=HOOKS, namespace=place))


async def upgrade(releases: Releases, place: str) -> None:
    await releases.reconcile(wanted("d2", *OTHERS, hooks=HOOKS, namespace=place))


async def fail(releases: Releases, place: str) -> None:
    """The first time, and after a death while the attempt was made, this raises; then what failed is not tried."""
    with suppress(ReleaseFailed):
        await releases.reconcile(wanted("d2", *OTHERS, BAD, hooks=HOOKS, namespace=place, rollback_on_failure=True))


async def uninstall(releases: Releases, place: str) -> None:
    await releases.removal.uninstall("demo", place)


async def roll_back(releases: Releases, place: str) -> None:
    await releases.rollback("demo", place, 1, "d2")


# ── of an addon ───────────────────────────────────────────────────────────────────────────────────────────────────────


def options(place: str) -> ReleaseOptions:
    owner = replace(ADDON_OWNER, namespace=place)
    return replace(ADDON_OPTIONS, marks=replace(ADDON_OPTIONS.marks, owner=owner))


def desired(place: str, digest: str, *objects: Any) -> DesiredRelease:
    """With a namespace of its own, and a ConfigMap in that."""
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"own-{place}"}}
    inside = configmap("inside", x=digest)
    inside["metadata"]["namespace"] = f"own-{place}"
    return replace(addon(digest, own, inside, *objects), namespace=place, options=options(place))


async def install_addon(releases: Releases, place: str) -> None:
    await releases.reconcile(desired(place, "d1", *OBJECTS))


async def upgrade_addon(releases: Releases, place: str) -> None:
    await releases.reconcile(desired(place, "d2", *OTHERS))


async def restore(releases: Releases, place: str) -> None:
    """The upgrade turned out not to work."""
    if (head := await releases.read_head("demo", place)) and head.note != "rolled-back":
        await releases.restore_healthy("demo", place, 1, "d2", options(place))
    await upgrade_addon(releases, place)


async def tear_down(releases: Releases, place: str) -> None:
    assert await releases.removal.tear_down("demo", place, options(place)) == ()


async def abandon(releases: Releases, place: str) -> None:
    await releases.removal.abandon("demo", place, options(place))
    await releases.removal.forget("demo", place)


REMOVALS = {uninstall, tear_down, abandon}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "killed", "after", "maps"),
    [
        ((), install, install, OLD),
        ((install,), upgrade, upgrade, NEW),
        ((install,), upgrade, install, OLD),
        ((install, upgrade), roll_back, roll_back, OLD),
        ((install,), fail, fail, OLD),
        ((install, upgrade), uninstall, uninstall, {}),
        ((install,), uninstall, install, OLD),
        ((), install_addon, install_addon, OLD),
        ((install_addon,), upgrade_addon, install_addon, OLD),
        ((install_addon, upgrade_addon), restore, restore, OLD),
        ((install_addon,), upgrade_addon, tear_down, {}),
        ((install_addon, upgrade_addon), tear_down, tear_down, {}),
        ((install_addon,), tear_down, install_addon, OLD),
        ((install_addon,), abandon, abandon, OLD),
    ],
    ids=lambda step: getattr(step, "__name__", ""),
)
async def test_process_killed_after_any_write_is_succeeded_by_one_that_converges(
    world: World, before: tuple[Step, ...], killed: Step, after: Step, maps: dict[str, str]
) -> None:
    for writes in range(100):
        place = Namespace(world, f"n{writes}")
        await world.client.send(ApiCall("POST", "/api/v1/namespaces", body={"metadata": {"name": place.name}}))
        for step in before:
            await place.do(step)
        web = await place.web()
        died = await place.dies(killed, writes)
        await place.do(after)
        assert await place.maps() == maps
        assert REMOVALS & {killed, after} or web in ("", await place.web())
        await place.rests(after)
        if not died:
            return
    pytest.fail("it never came to an end")


@dataclass(frozen=True)
class Namespace:
    """That of one try."""

    world: World
    name: str

    async def do(self, step: Step) -> None:
        """With a process of its own."""
        await step(started(self.world.client), self.name)

    async def dies(self, step: Step, writes: int) -> bool:
        """After so many writes; or did it not live to do as many?"""
        return await dies(self.world.sandbox.url, writes, lambda client: step(started(client), self.name))

    async def items(self, path: str) -> list[Any]:
        items: list[Any] = (await self.world.client.get(path.format(self.name)))["items"]
        return items

    async def web(self) -> str:
        """The Deployment's identity and generation, empty if it does not exist: another one means other pods."""
        found = await self.items("/apis/apps/v1/namespaces/{}/deployments")
        return "".join(f"{one['metadata']['uid']} {one['metadata']['generation']}" for one in found)

    async def maps(self) -> dict[str, str]:
        """What is in the release's ConfigMaps."""
        found = await self.items("/api/v1/namespaces/{}/configmaps")
        return {name: one["data"]["x"] for one in found if (name := one["metadata"]["name"]) not in UNWANTED}

    async def rests(self, step: Step) -> None:
        """The history says that all is over, and the next process finds nothing to write."""
        labels = [one["metadata"]["labels"] for one in await self.items("/api/v1/namespaces/{}/secrets")]
        *past, last = [label["status"] for label in sorted(labels, key=lambda label: int(label["version"]))] or [""]
        assert last == ("" if step in REMOVALS else "deployed")
        assert {*past} <= {"superseded", "failed"}
        if step is not roll_back:  # which makes a revision each time it is asked for
            self.world.writes()
            await self.do(step)
            assert self.world.writes() == []
