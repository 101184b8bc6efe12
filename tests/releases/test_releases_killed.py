"""The process dies after any of its writes, and the next one still reaches the desired state. Level: sandbox."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import DesiredRelease
from hookrunner.releases.releases import Releases
from kubesandbox.sandbox import Sandbox
from tests.fakes.deaths import dies
from tests.fakes.objects import deployment
from tests.releases.wants import configmap, hook, wanted
from tests.releases.world import World, started

Step = Callable[[Releases, str], Awaitable[Any]]


A, B, C = configmap("a", x="1"), configmap("b", x="1"), configmap("c", x="1")
HOOKS = (hook("before", "pre-upgrade"), hook("after", "post-upgrade"), hook("gone", "pre-delete"))
BAD: dict[str, Any] = configmap("bad") | {"data": 3}


def first(namespace: str) -> DesiredRelease:
    return wanted("d1", A, B, deployment("web"), hooks=HOOKS, namespace=namespace)


def second(namespace: str) -> DesiredRelease:
    return wanted("d2", configmap("a", x="2"), C, deployment("web"), hooks=HOOKS, namespace=namespace)


def failing(namespace: str) -> DesiredRelease:
    objects = configmap("a", x="2"), C, BAD, deployment("web")
    return wanted("d2", *objects, hooks=HOOKS, namespace=namespace, rollback_on_failure=True)


async def install(releases: Releases, namespace: str) -> None:
    await releases.reconcile(first(namespace))


async def upgrade(releases: Releases, namespace: str) -> None:
    await releases.reconcile(second(namespace))


async def fail(releases: Releases, namespace: str) -> None:
    """The first time, and after a death while the attempt was made, this raises; then what failed is not tried."""
    with suppress(ReleaseFailed):
        await releases.reconcile(failing(namespace))


async def uninstall(releases: Releases, namespace: str) -> None:
    await releases.removal.uninstall("demo", namespace)


async def roll_back(releases: Releases, namespace: str) -> None:
    await releases.rollback("demo", namespace, 1, "d2")


UNWANTED = {"before", "after", "gone", "kube-root-ca.crt"}
OLD, NEW = {"a": "1", "b": "1"}, {"a": "2", "c": "1"}


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
    ],
    ids=["install", "upgrade", "upgrade, then back", "rollback", "rolled back", "uninstall", "uninstall, then wanted"],
)
async def test_process_killed_after_any_write_is_succeeded_by_one_that_converges(
    world: World, before: tuple[Step, ...], killed: Step, after: Step, maps: dict[str, str]
) -> None:
    for writes in range(100):
        place = Namespace(world.client, world.sandbox, f"n{writes}")
        await place.made()
        for step in before:
            await step(started(world.client), place.name)
        web = await place.web()
        died = await place.dies(killed, writes)
        await after(started(world.client), place.name)
        assert await place.maps() == maps
        assert {uninstall} & {killed, after} or web in ("", await place.web())
        await place.at_rest(after)
        if not died:
            return
    pytest.fail("it never came to an end")


class Namespace:
    """One try."""

    def __init__(self, client: Client, sandbox: Sandbox, name: str) -> None:
        self.client, self.sandbox, self.name = client, sandbox, name

    async def made(self) -> None:
        await self.client.send(ApiCall("POST", "/api/v1/namespaces", body={"metadata": {"name": self.name}}))

    async def dies(self, step: Step, writes: int) -> bool:
        """After so many writes; or did it not live to do as many?"""
        return await dies(self.sandbox.url, writes, lambda client: step(started(client), self.name))

    async def items(self, path: str) -> list[Any]:
        items: list[Any] = (await self.client.get(path.format(self.name)))["items"]
        return items

    async def web(self) -> str:
        """The Deployment's identity and generation, empty if it does not exist: another one means other pods."""
        found = await self.items("/apis/apps/v1/namespaces/{}/deployments")
        return "".join(f"{one['metadata']['uid']} {one['metadata']['generation']}" for one in found)

    async def maps(self) -> dict[str, str]:
        """What is in the release's ConfigMaps."""
        found = await self.items("/api/v1/namespaces/{}/configmaps")
        return {name: one["data"]["x"] for one in found if (name := one["metadata"]["name"]) not in UNWANTED}

    async def at_rest(self, step: Step) -> None:
        """The history says that all is over, and the next process finds nothing to write."""
        found = await self.items("/api/v1/namespaces/{}/secrets")
        labels = sorted(
            (int(one["metadata"]["labels"]["version"]), one["metadata"]["labels"]["status"]) for one in found
        )
        statuses = [status for _, status in labels]
        assert statuses[-1:] == ([] if step is uninstall else ["deployed"])
        assert set(statuses[:-1]) <= {"superseded", "failed"}
        if step is not roll_back:  # which makes a revision each time it is asked for
            self.sandbox.faults.requests.clear()
            await step(started(self.client), self.name)
            assert not [line for line in self.sandbox.faults.requests if not line.startswith("GET")]
