"""A life of Services and routes before a real API server, the loops of load balancers and routes at work:
`tests/cloud/test_loops_on_servers.py`.

    await follow_services(ServicesOnServer(user, ours))
"""

from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from typing import Any

import pytest

from hookrunner.cloud.nodes.cloud_node import read_node
from hookrunner.cloud.nodes.node_informer import NODES, NodeInformer
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
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import ObjectRef
from hookrunner.metrics.names import Metrics
from hookrunner.model.resources import ObjectReference
from tests.cloud.fake_cloud import FakeCloud
from tests.cloud.routes.route_samples import with_networks
from tests.cloud.services.balancer_world import UPDATE
from tests.cloud.services.service_samples import PORT
from tests.fakes.cluster import running
from tests.flows.waiting import until

WEB = ObjectRef(SERVICES, "default", "web")


@dataclass
class ServicesOnServer:
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


async def follow_services(world: ServicesOnServer) -> None:
    """From the first Nodes and Services to their end, in a cluster without either."""
    for name, network in (("a", "10.1.0.0/24"), ("b", "10.1.1.0/24")):
        await writes.create(world.user, ObjectRef(NODES), with_networks(name, network))
    async with running(*(run() for run in world.runs)) as tasks:
        await check_routes(world)
        await create_service(world)
        await change_nodes(world)
        await change_type(world)
        await delete_service(world)
        await check_identity(world)
        assert not [reason for _, reason in world.reasons if "Failed" in reason]
        assert not any(task.done() for task in tasks)


async def check_routes(world: ServicesOnServer) -> None:
    await until(lambda: len(world.cloud.routes) == 2, "a route to each network")
    await until(lambda: all(node.network_unavailable for node in world.nodes), "the conditions")
    live = await world.live(ObjectRef(NODES, "", "a"))
    conditions = {one["type"]: (one["status"], one.get("reason")) for one in live["status"]["conditions"]}
    assert conditions == {"Ready": ("True", None), "NetworkUnavailable": ("False", "RouteCreated")}


async def create_service(world: ServicesOnServer) -> None:
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


async def change_nodes(world: ServicesOnServer) -> None:
    await writes.create(world.user, ObjectRef(NODES), with_networks("c", "10.1.2.0/24"))
    await until(lambda: bool(world.cloud.asked(UPDATE)), "the load balancer to get the new node")
    await writes.delete(world.user, ObjectRef(NODES, "", "c"))
    await until(lambda: len(world.cloud.asked(UPDATE)) == 2, "the load balancer to lose it")
    await until(lambda: len(world.cloud.routes) == 2, "its route to go")


async def change_type(world: ServicesOnServer) -> None:
    await world.change({"spec": {"type": "ClusterIP"}})
    await until(lambda: (live := world.services.get("default/web")) and not live.finalizers, "the finalizer to go")
    assert not world.cloud.load_balancers
    assert (await world.live())["status"] == {"loadBalancer": {}}


async def delete_service(world: ServicesOnServer) -> None:
    await world.change({"spec": {"type": "LoadBalancer"}})
    await until(lambda: (live := world.services.get("default/web")) and live.ingress, "an address again")
    await writes.delete(world.user, WEB)
    await until(lambda: world.services.get("default/web") is None, "the Service to go")
    assert not world.cloud.load_balancers
    with pytest.raises(NotFound):
        await world.live()


async def check_identity(world: ServicesOnServer) -> None:
    """Nothing is written to an object that only has the name."""
    node = read_node(await world.live(ObjectRef(NODES, "", "a")))
    with pytest.raises(KubeError) as refused:
        await write_condition(world.ours, replace(node, uid="another"), UNROUTED)
    assert isinstance(refused.value, ApiError)
    await write_condition(world.ours, node, ROUTED)
    await write_condition(world.ours, replace(node, name="gone"), ROUTED)
