"""Eight shipped addons that one `kubectl apply` creates, as their examples say, on a cluster without a network of Pods.

The story plays what needs real Nodes: a kubelet finds the network when Flannel's Pod runs on its Node, and the cloud
initialises a Node when its manager runs.
"""

import asyncio
import itertools

import yaml

from kubetypes.json_values import JSON
from tests.flows.addons.cluster_world import ADDONS, GROUP, ClusterWorld
from tests.flows.bootstrap.fresh_cluster import NETWORK, node

PLURALS = {
    "cloud-controller-manager": "cloudcontrollermanagers",
    "coredns": "coredns",
    "dashboard": "dashboards",
    "flannel": "flannels",
    "ingress-nginx": "ingressnginxes",
    "kube-proxy": "kubeproxies",
    "metrics-server": "metricsservers",
    "nodelocaldns": "nodelocaldns",
}
INSTANCES = {f"{plural}.addons.x-k8s.io": f"{GROUP}/{plural}/default" for plural in PLURALS.values()}
DONE = {path: "InProgress" if "metricsservers" in path else "Current" for path in INSTANCES.values()}
"""The phase of each in the end; the API of metrics-server would be served by a Pod, and none runs on fake nodes."""
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "my-cloud", "namespace": "kube-system"},
    "stringData": {"config": "machines: []\n"},
}
NODES = {"control-plane-1": True, "worker-1": False}
"""Names; does the control plane run there?"""
ON_NODES = "/apis/apps/v1/namespaces/kube-system/daemonsets"


async def create_nodes(there: ClusterWorld) -> None:
    """They are neither ready nor initialised. kwok plays a Pod that comes to a Node whose Lease it holds; of one that
    comes just before it may hear nothing."""
    for name, control_plane in NODES.items():
        await there.world.ask("POST", "/api/v1/nodes", node(name, control_plane=control_plane))
    await there.until(lambda: leased(there), {*NODES}, "kwok holds the nodes")


async def leased(there: ClusterWorld) -> set[str]:
    """The names of the Leases of nodes."""
    leases = await there.read("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")
    return {lease["metadata"]["name"] for lease in leases["items"]} & {*NODES}


async def nodes_come_up(there: ClusterWorld) -> None:
    """Play kubelets and the cloud, as long as it takes, until all nodes are up."""
    await _runs(there, "kube-flannel-ds")
    for name in NODES:
        await there.world.ask("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": {NETWORK: "yes"}}})
    await _runs(there, "cloud-controller-manager")
    for name in NODES:
        taints = (await there.read(f"/api/v1/nodes/{name}"))["spec"].get("taints") or []
        kept = [taint for taint in taints if "uninitialized" not in taint["key"]]
        await there.world.ask("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": kept}})


async def _runs(there: ClusterWorld, name: str) -> None:
    """Wait until a DaemonSet runs on all nodes that it is for, which have no network and are not initialised."""
    for pause in itertools.repeat(0.2):
        if await runs_everywhere(there, name):
            return
        await asyncio.sleep(pause)


async def runs_everywhere(there: ClusterWorld, name: str) -> bool:
    """Does a DaemonSet run on all nodes that it is for?"""
    status = (await there.read(f"{ON_NODES}/{name}")).get("status") or {}
    return bool(status.get("numberAvailable", 0) >= max(1, status.get("desiredNumberScheduled", 0)))


async def are_defined(there: ClusterWorld) -> bool:
    """Does the API server serve the kinds of all eight?"""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    items = {obj["metadata"]["name"]: obj.get("status") or {} for obj in (await there.read(path))["items"]}
    conditions = [items.get(name, {}).get("conditions") or () for name in INSTANCES]
    return all(
        {"Established": "True"}.items() <= {one["type"]: one["status"] for one in of}.items() for of in conditions
    )


async def apply_examples(there: ClusterWorld) -> None:
    """All at once, when the API server serves their kinds."""
    for name in INSTANCES:
        await asyncio.to_thread(there.cluster.wait_for_definition, name)
    await there.apply({"apiVersion": "v1", "kind": "List", "items": [SECRET, *examples()]})


def examples() -> list[JSON]:
    """The file of each addon."""
    return [yaml.safe_load((ADDONS / name / "example.yaml").read_text()) for name in PLURALS]


async def phases(there: ClusterWorld) -> dict[str, str]:
    """Of the instances."""
    return {path: (await there.status(path)).get("phase", "") for path in INSTANCES.values()}
