"""The cloud controller manager put together: on a sandbox, with the simulated cloud as a real process.

Level: sandbox."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hookrunner.background import Background
from hookrunner.cloud.cloud_assembly import Cloud, assemble_cloud
from hookrunner.engine.assembly import Kube, Parts
from hookrunner.errors import StartRefused
from hookrunner.jq.program import Jq
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import ObjectRef
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.resources import Resource
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import Settings, cloud_alone, load
from kubesandbox.sandbox import Sandbox
from kubesandbox.store import Key
from tests.cloud.node_samples import new_node
from tests.flows.waiting import PATIENCE, until
from tests.providers.provider_calls import PROVIDERS, run
from tests.sandboxes import sandbox
from tests.tables import each

__all__ = ["sandbox"]

SIMCLOUD = PROVIDERS / "simcloud"
NODES, SERVICES = Resource("v1", "Node", "nodes", False), Resource("v1", "Service", "services", True)
LEASES = Resource("coordination.k8s.io/v1", "Lease", "leases", True)
PATIENT = {"leader-elect-lease-duration": "1h", "leader-elect-renew-deadline": "30m"}
"""A lease that is not given back is never taken over here."""
BALANCER = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
}


@dataclass
class World:
    """A sandbox and a simulated cloud."""

    sandbox: Sandbox
    state: Path
    client: Client
    children: list[Children] = field(default_factory=list)
    """The processes of each replica."""

    def settings(self, **flags: str) -> Settings:
        given = {"cloud-provider": str(SIMCLOUD), "cloud-config": str(self.state), "tmp-dir": str(self.state.parent)}
        given |= PATIENT
        return cloud_alone(load(given | {name.replace("_", "-"): text for name, text in flags.items()}, "", os.environ))

    def simulate(self, *command: str) -> str:
        """A command of the simulated cloud."""
        return run(SIMCLOUD, self.state, *command)

    async def create(self, obj: Any) -> None:
        resource = NODES if obj["kind"] == "Node" else SERVICES
        await writes.create(self.client, ObjectRef(resource, obj["metadata"].get("namespace", "")), obj)

    async def read(self, resource: Resource, name: str, namespace: str = "") -> Any:
        return await writes.read(self.client, ObjectRef(resource, namespace, name))

    async def ingress(self) -> str:
        """The address of the Service `web`, empty without one."""
        status = (await self.read(SERVICES, "web", "default")).get("status") or {}
        return "".join(entry["ip"] for entry in (status.get("loadBalancer") or {}).get("ingress") or ())

    def is_asked(self) -> bool:
        """Does the provider run for the Service `web`, or has it? Its finalizer is written directly before."""
        stored = self.sandbox.store.get(Key("services", "default", "web"))
        service = stored.json() if stored else {"metadata": {}}
        is_answered = (service.get("status") or {}).get("loadBalancer")  # on a busy machine it may be over already
        return bool(service["metadata"].get("finalizers") and (is_answered or any(map(len, self.children))))

    @asynccontextmanager
    async def running(self, **flags: str) -> AsyncIterator[Cloud]:
        """A replica."""
        async with AsyncExitStack() as stack:
            jq, metrics = await stack.enter_async_context(Jq()), Metrics("")
            discovery = Discovery(self.client)
            connection = Connection(self.sandbox.url)
            kube = Kube(Watches(self.client, discovery, metrics, 75), discovery, self.client, connection)
            group = await stack.enter_async_context(asyncio.TaskGroup())
            background = Background(group)
            stack.callback(background.stop)
            parts = Parts(background, Children(Patience(kill=0.1)), jq, kube, metrics)
            self.children.append(parts.children)
            stack.push_async_callback(parts.children.stop, 0.0)
            cloud = await stack.enter_async_context(assemble_cloud(self.settings(**flags), parts))
            cloud.start(background)
            yield cloud


@pytest.fixture
async def world(sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[World]:
    settings = load({}, "", {}).kube
    async with Client(Credentials(settings, Connection(sandbox.url)), Requests(Metrics(""))) as client:
        yield World(sandbox, tmp_path / "cloud.json", client)


@pytest.mark.slow
async def test_a_stop_finishes_the_call_writes_its_answer_and_gives_the_lease_back(world: World) -> None:
    world.simulate("delay", "--verb", "lb-ensure", "--seconds", "1")
    async with world.running() as cloud:
        await world.create(BALANCER)
        await until(world.is_asked, "the call to begin")
        await cloud.finish(PATIENCE)
        assert await world.ingress() == "198.18.0.1"
        lease = await world.read(LEASES, "cloud-controller-manager", "kube-system")
        assert lease["spec"]["holderIdentity"] == ""


@pytest.mark.slow
async def test_a_stop_that_is_hurried_ends_a_call_that_hangs(world: World) -> None:
    world.simulate("hang", "--verb", "lb-ensure")
    async with asyncio.timeout(PATIENCE):
        async with world.running() as cloud:
            await world.create(BALANCER)
            await until(world.is_asked, "the call to begin")
            stopping = asyncio.create_task(cloud.finish(PATIENCE * 2))
            await asyncio.sleep(0.1)
            stopping.cancel()
            await asyncio.wait([stopping])
        assert stopping.cancelled()
        assert await world.ingress() == ""


@pytest.mark.slow
async def test_of_two_replicas_one_acts_and_the_other_takes_over_at_once(world: World) -> None:
    async with world.running() as first:
        await until(lambda: first.status.dump().leads, "the first to lead")
        async with world.running() as second:
            await until(lambda: second.status.dump().leader, "the second to see the first")
            await until(lambda: second.status.conditions()["provider"] == (True, ""), "its provider to answer")
            await world.create(new_node("worker-1"))
            await until(lambda: _state(first, "worker-1") == "initialized", "the first to act")
            await first.finish(PATIENCE)
            await world.create(new_node("worker-2"))
            await until(lambda: _state(second, "worker-2") == "initialized", "the second to act")


@pytest.mark.slow
async def test_rights_that_any_of_its_clients_lacks_are_an_event_about_the_lease(world: World) -> None:
    refusal = 'nodes "a" is forbidden: User "me" cannot patch resource "nodes" in API group "" at the cluster scope'

    def shown() -> list[Any]:
        events = [stored.json() for stored in world.sandbox.store.select("events")]
        return [event for event in events if event["reason"] == "RightsMissing"]

    async with world.running() as cloud:
        await until(lambda: cloud.status.dump().leads, "it to lead")
        world.client.lacked.note("node", refusal)  # which `/readyz` shows
        await until(shown, "the Event")
    (event,) = shown()
    about = event["involvedObject"]
    assert (about["kind"], about["namespace"], about["name"]) == ("Lease", "kube-system", "cloud-controller-manager")
    assert '{apiGroups: [""], resources: [nodes], verbs: [patch]} (for a)' in event["message"]


@pytest.mark.slow
async def test_without_election_it_acts_alone(world: World) -> None:
    async with world.running(leader_elect="false") as cloud:
        await world.create(new_node("worker-1"))
        await until(lambda: _state(cloud, "worker-1") == "initialized", "the Node to be initialised")
        assert cloud.status.conditions()["leader"] == (True, "this replica leads")
        await cloud.finish(1)


@pytest.mark.slow
async def test_a_provider_that_begins_late_makes_it_ready_late(world: World) -> None:
    world.simulate("fail", "--verb", "capabilities", "--code", "exit", "--times", "1")
    async with world.running() as cloud:
        await world.create(new_node("worker-1"))
        await until(lambda: "capabilities" in cloud.status.conditions()["provider"][1], "the failure to be shown")
        assert not cloud.status.conditions()["provider"][0]
        await until(lambda: cloud.status.conditions()["provider"] == (True, ""), "the provider to answer")
        await until(lambda: _state(cloud, "worker-1") == "initialized", "the Node to be initialised")


@pytest.mark.slow
async def test_routes_without_networks_are_refused_where_they_are_asked_for(world: World) -> None:
    async with world.running(configure_cloud_routes="true") as cloud:
        await until(
            lambda: "--cluster-cidr" in cloud.status.conditions()["provider"][1], "the missing flag to be named"
        )
        assert not cloud.status.conditions()["provider"][0]


def _directory(place: Path) -> str:
    return str(place)


def _plain_file(place: Path) -> str:
    (place / "plain").write_text("#!/bin/sh\n")
    return str(place / "plain")


def _without_interpreter(place: Path) -> str:
    file = Path(_plain_file(place))
    file.write_text("#!/nowhere/python\n")
    file.chmod(0o755)
    return str(file)


def _open_to_all(place: Path) -> str:
    file = Path(_plain_file(place))
    file.chmod(0o777)
    return str(file)


@each(
    ("provider", "reason"),
    [
        (lambda place: f"{place}/missing", "missing"),
        (_directory, "directory"),
        (_plain_file, "chmod"),
        (_without_interpreter, "/nowhere/python"),
        (_open_to_all, "other users may change"),
        (lambda place: "mine", "there is no such provider in"),
    ],
)
async def test_a_provider_that_cannot_be_started_is_refused(
    provider: Callable[[Path], str], reason: str, world: World, tmp_path: Path
) -> None:
    with pytest.raises(ExceptionGroup) as refused:
        async with world.running(cloud_provider=provider(tmp_path), providers_dir=str(tmp_path)):
            pass
    assert refused.group_contains(StartRefused, match=reason)


def _state(cloud: Cloud, node: str) -> str:
    return next((shown.state for shown in cloud.status.dump().nodes if shown.name == node), "")
