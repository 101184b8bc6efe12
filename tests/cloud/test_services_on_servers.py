"""The loops of load balancers and routes before real API servers: what `tests/cloud/fake_api.py` only plays holds on
the sandbox and on a control plane, there with exactly the rights that `hookrunner cloud rbac` prints."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from typing import Any

import pytest

from hookrunner.cloud.cloud_node import read_node
from hookrunner.cloud.node_informer import NODES, NodeInformer
from hookrunner.cloud.rights import rights_of, to_manifests
from hookrunner.cloud.routes.network_condition import ROUTED, UNROUTED, write_condition
from hookrunner.cloud.routes.route_loop import RouteLoop
from hookrunner.cloud.routes.route_plan import RoutePolicy
from hookrunner.cloud.routes.route_reports import RouteReports
from hookrunner.cloud.services.balancer_actions import BalancerActions
from hookrunner.cloud.services.cloud_service import CLEANUP_FINALIZER
from hookrunner.cloud.services.service_decisions import ServicePolicy
from hookrunner.cloud.services.service_informer import SERVICES, ServiceInformer
from hookrunner.cloud.services.service_loop import ServiceLoop
from hookrunner.cloud.services.service_reports import ServiceReports
from hookrunner.cloud.services.service_writer import ServiceWriter
from hookrunner.controllers.event_recorder import EventLike
from hookrunner.errors import ApiError, KubeError, NotFound
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import ObjectRef
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.resources import ObjectReference
from hookrunner.settings import KubeSettings, load
from kubesandbox.sandbox import Options, serving
from tests.cloud.fake_cloud import FakeCloud
from tests.cloud.routes.route_samples import with_networks
from tests.cloud.services.balancer_world import UPDATE
from tests.cloud.services.service_samples import PORT
from tests.controlplane.cluster import OwnCluster
from tests.fakes.transports import all_closed
from tests.flows.waiting import until
from tests.kube.real import credentials_of

LOOPS = {"controllers": "service-lb-controller,node-route-controller", "cluster-cidr": "10.0.0.0/8"}
WEB = ObjectRef(SERVICES, "default", "web")


@dataclass
class World:
    """The loops of `ours`, who has few rights; `user` may do everything."""

    user: Client
    ours: Client
    cloud: FakeCloud = field(default_factory=FakeCloud)
    reasons: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        metrics = Metrics("")
        watches = Watches(self.ours, Discovery(self.ours), metrics, idle=75.0)
        self.services, self.nodes = ServiceInformer(watches), NodeInformer(watches)
        reports, writer = ServiceReports(self, metrics), ServiceWriter(self.ours)
        actions = BalancerActions(self.services, self.cloud, writer, reports)
        networks = RoutePolicy((ip_network("10.0.0.0/8"),), period=0.3, shortest_gap=0.05)
        self.runs = (
            self.services.follow,
            self.nodes.follow,
            ServiceLoop(self.services, self.nodes, actions, reports, ServicePolicy()).run,
            RouteLoop(self.nodes, self.cloud, self.ours, RouteReports(self, metrics), networks).run,
        )

    def record(self, about: ObjectReference, event: EventLike) -> None:
        self.reasons.append((about.name, event.reason))

    async def change(self, patch: Any, ref: ObjectRef = WEB) -> None:
        await writes.merge_patch(self.user, ref, patch)

    async def live(self, ref: ObjectRef = WEB) -> Any:
        return await writes.read(self.user, ref)


async def connect(stack: AsyncExitStack, credentials: Credentials) -> Client:
    return await stack.enter_async_context(Client(credentials, Requests(Metrics(""))))


@pytest.fixture(params=["sandbox", pytest.param("own_cluster", marks=pytest.mark.cluster)])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        if request.param == "sandbox":
            sandbox = await stack.enter_async_context(serving(Options()))
            user = ours = Credentials(KubeSettings(), Connection(sandbox.url))
        else:
            cluster: OwnCluster = request.getfixturevalue("own_cluster")
            objects = to_manifests(rights_of(load(LOOPS, "hookrunner", {})), ("default", "cloud"), ("default", "lease"))
            account = cluster.user("cloud", "default", objects[0]["rules"], everywhere=True)
            user, ours = credentials_of(cluster.kubeconfig), credentials_of(account.kubeconfig)
        yield World(await connect(stack, user), await connect(stack, ours))
    await all_closed()


async def test_life_of_services_and_routes(world: World) -> None:
    for name, network in (("a", "10.1.0.0/24"), ("b", "10.1.1.0/24")):
        await writes.create(world.user, ObjectRef(NODES), with_networks(name, network))
    tasks = [asyncio.create_task(run()) for run in world.runs]
    await check_routes(world)
    await create_service(world)
    await change_nodes(world)
    await change_type(world)
    await delete_service(world)
    await check_identity(world)
    assert not [reason for _, reason in world.reasons if "Failed" in reason]
    for task in tasks:
        assert not task.done()
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def check_routes(world: World) -> None:
    await until(lambda: len(world.cloud.routes) == 2, "a route to each network")
    await until(lambda: all(node.network_unavailable for node in world.nodes), "the conditions")
    live = await world.live(ObjectRef(NODES, "", "a"))
    conditions = {one["type"]: (one["status"], one.get("reason")) for one in live["status"]["conditions"]}
    assert conditions == {"Ready": ("True", None), "NetworkUnavailable": ("False", "RouteCreated")}


async def create_service(world: World) -> None:
    spec = {"type": "LoadBalancer", "ports": [{"port": PORT["port"]}], "selector": {"app": "web"}}
    await writes.create(world.user, ObjectRef(SERVICES, "default"), {"metadata": {"name": "web"}, "spec": spec})
    await until(lambda: (live := world.services.get("default/web")) and live.ingress, "its address")
    live = await world.live()
    assert live["metadata"]["finalizers"] == [CLEANUP_FINALIZER]
    assert live["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1", "ipMode": "VIP"}]
    await world.change({"metadata": {"annotations": {"a": "b"}}})
    await until(lambda: world.reasons.count(("web", "EnsuredLoadBalancer")) == 2, "another ensure")
    again = await world.live()
    managers = {entry["time"] for entry in again["metadata"]["managedFields"] if entry.get("subresource") == "status"}
    assert again["status"] == live["status"]
    assert len(managers) == 1


async def change_nodes(world: World) -> None:
    await writes.create(world.user, ObjectRef(NODES), with_networks("c", "10.1.2.0/24"))
    await until(lambda: bool(world.cloud.asked(UPDATE)), "the load balancer to get the new node")
    await writes.delete(world.user, ObjectRef(NODES, "", "c"))
    await until(lambda: len(world.cloud.asked(UPDATE)) == 2, "the load balancer to lose it")
    await until(lambda: len(world.cloud.routes) == 2, "its route to go")


async def change_type(world: World) -> None:
    await world.change({"spec": {"type": "ClusterIP"}})
    await until(lambda: (live := world.services.get("default/web")) and not live.finalizers, "the finalizer to go")
    assert not world.cloud.load_balancers
    assert (await world.live())["status"] == {"loadBalancer": {}}


async def delete_service(world: World) -> None:
    await world.change({"spec": {"type": "LoadBalancer"}})
    await until(lambda: (live := world.services.get("default/web")) and live.ingress, "an address again")
    await writes.delete(world.user, WEB)
    await until(lambda: world.services.get("default/web") is None, "the Service to go")
    assert not world.cloud.load_balancers
    with pytest.raises(NotFound):
        await world.live()


async def check_identity(world: World) -> None:
    """Nothing is written to an object that only has the name."""
    node = read_node(await world.live(ObjectRef(NODES, "", "a")))
    with pytest.raises(KubeError) as refused:
        await write_condition(world.ours, replace(node, uid="another"), UNROUTED)
    assert isinstance(refused.value, ApiError)
    await write_condition(world.ours, node, ROUTED)
    await write_condition(world.ours, replace(node, name="gone"), ROUTED)
