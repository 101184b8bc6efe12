"""One Lease for both managers: Kubernetes' own and hookrunner's never act at once; each takes over from the other, and
leaves Nodes, load balancers and routes as they are: also the Node of a running machine whose kubelet is silent.

Level: control plane."""

import json

import pytest

from tests.cloud.scenarios.documents import Document, node
from tests.cloud.scenarios.managers import OLD_ENOUGH, ours, upstream
from tests.cloud.scenarios.scenes import service
from tests.cloud.scenarios.world import Scene, World
from tests.controlplane.cluster import OwnCluster
from tests.flows.waiting import stays, until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

ELECT = (
    "--leader-elect=true",
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)
"""A Node of hookrunner's that is as old as this may go."""
WEB = "/api/v1/namespaces/default/services/web"
NETWORKS = {"silent": "10.244.0.0/24", "first": "10.244.1.0/24", "second": "10.244.2.0/24", "third": "10.244.3.0/24"}
SILENT = Scene("silent", node("silent", ready="False", podCIDRs=[NETWORKS["silent"]]))
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager"


async def test_hookrunner_takes_over_from_kubernetes_own_manager(world: World, own_cluster: OwnCluster) -> None:
    with upstream(world, *ELECT):
        await _is_initialized(world, "first")
        holder, before = _holder(own_cluster), await _make_lasting(world, own_cluster)
        with ours(world, *ELECT, OLD_ENOUGH):
            await stays(lambda: _holder(own_cluster) == holder, "the first holder", 3.0)
            assert "became leader" not in (world.directory / "ours.log").read_text()
            await _is_initialized(world, "second")
    with ours(world, *ELECT, OLD_ENOUGH):
        await _is_initialized(world, "third")
        assert _holder(own_cluster) != holder
        assert _lasting(world, own_cluster) == before


async def test_kubernetes_own_manager_takes_over_from_hookrunner(world: World, own_cluster: OwnCluster) -> None:
    with ours(world, *ELECT, OLD_ENOUGH):
        await _is_initialized(world, "first")
        holder, before = _holder(own_cluster), await _make_lasting(world, own_cluster)
    with upstream(world, *ELECT):
        await _is_initialized(world, "second")
        assert _holder(own_cluster) != holder
        assert _lasting(world, own_cluster) == before


async def _is_initialized(world: World, name: str) -> None:
    """Create a Node; wait until the loops of Nodes, routes and load balancers have seen to it."""
    scene = Scene(name, node(name, podCIDRs=[NETWORKS[name]]))
    world.make([scene])
    await until(lambda: world.ends([scene])[name]["providerID"], f"{name} initialised\n{json.dumps(_logs(world))}")
    await until(lambda: _serves(world, name), f"{name} has its route and serves load balancers")


def _serves(world: World, name: str) -> bool:
    cloud = json.loads(world.state.read_text())
    balanced = all(name in balancer["nodes"] for balancer in cloud.get("loadBalancers", {}).values())
    return balanced and name in {route["targetNode"] for route in cloud.get("routes", ())}


async def _make_lasting(world: World, cluster: OwnCluster) -> Document:
    """Create what no manager may change when it takes over; what it is like when nothing is left to do."""
    world.make([Scene("web", service=service("web")), SILENT])
    await until(lambda: _has_balancer(world) and _serves(world, "silent"), "a load balancer and a route")
    await until(lambda: bool(cluster.request("GET", WEB).body["status"]["loadBalancer"]), "the address of the Service")
    await until(lambda: _is_settled(world.ends([SILENT])["silent"]), "the Node initialised, with its route")
    return _lasting(world, cluster)


def _has_balancer(world: World) -> bool:
    return bool(json.loads(world.state.read_text()).get("loadBalancers"))


def _is_settled(silent: Document) -> bool:
    return bool(silent["providerID"] and silent["addresses"]) and silent.get("network", [""])[0] == "False"


def _lasting(world: World, cluster: OwnCluster) -> Document:
    """The silent Node, the Service, its load balancer without Nodes, which come meanwhile, and the Node's route."""
    cloud = json.loads(world.state.read_text())
    balancers = {name: {**balancer, "nodes": ()} for name, balancer in cloud["loadBalancers"].items()}
    routes = [route for route in cloud["routes"] if route["targetNode"] == "silent"]
    uids = [cluster.request("GET", path).body["metadata"]["uid"] for path in (WEB, "/api/v1/nodes/silent")]
    web = cluster.request("GET", WEB).body
    silent = world.ends([SILENT])["silent"] | {"events": ()}
    return {"uids": uids, "balancers": balancers, "routes": routes, "silent": silent, "status": web["status"]}


def _holder(cluster: OwnCluster) -> str:
    holder: str = cluster.request("GET", LEASE).body["spec"]["holderIdentity"]
    return holder


def _logs(world: World) -> list[str]:
    return [line for file in world.directory.glob("*.log") for line in file.read_text().splitlines()[-5:]]
