"""Beside kube-controller-manager, as in every cluster: it allocates networks of Pods and notices silent kubelets, and
our loops act on both; and beside kubectl, with which people take Nodes away.

Level: control plane."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cloud.scenarios.documents import Document, node
from tests.cloud.scenarios.managers import OLD_ENOUGH, ours
from tests.cloud.scenarios.world import Scene, Step, World
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.tools import find_tool
from tests.flows.waiting import until
from tests.oracles.controller_manager import node_controllers

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

PATIENCE = "--timeout=60s"


async def test_networks_get_routes_and_of_silent_nodes_those_without_machine_go(
    own_cluster: OwnCluster, tmp_path: Path
) -> None:
    world = World(own_cluster.kubeconfig, own_cluster.request, tmp_path)
    names = ("left", "right", "drained", "removed")
    left, _, drained, _ = scenes = [Scene(name, node(name)) for name in names]

    def kubectl(*words: str) -> None:
        command = [str(find_tool("kubectl")), f"--kubeconfig={own_cluster.kubeconfig}", *words]
        subprocess.run(command, check=True, capture_output=True)

    def nodes() -> dict[str, Document]:
        return {obj["metadata"]["name"]: obj for obj in own_cluster.request("GET", "/api/v1/nodes").body["items"]}

    def networks() -> dict[str, str]:
        return {name: obj["spec"].get("podCIDR", "") for name, obj in nodes().items()}

    def routes() -> dict[str, str]:
        cloud = json.loads(world.state.read_text())
        return {route["targetNode"]: route["destinationCIDR"] for route in cloud.get("routes", ())}

    def states(name: str) -> set[tuple[str, str]]:
        return {(condition["type"], condition["status"]) for condition in nodes()[name]["status"]["conditions"]}

    with node_controllers(own_cluster.kubeconfig, tmp_path), ours(world, OLD_ENOUGH):
        world.make(scenes)
        for name in names:
            kubectl("wait", f"node/{name}", f"--for=jsonpath={{.spec.providerID}}=simcloud://i-{name}", PATIENCE)
        await until(lambda: routes().keys() == set(names), "each Node has a route")
        assert routes() == networks()

        kubectl("cordon", "drained")
        world.change(left, Step(instance=None))
        world.change(drained, Step(instance=None))
        kubectl("wait", "node/left", "node/drained", "--for=delete", PATIENCE)
        await until(lambda: routes() == networks(), "their routes go, too")
        silent = {("Ready", "Unknown"), ("NetworkUnavailable", "False")}
        await until(lambda: states("right") >= silent, "another Node stays, though it is silent")

        kubectl("delete", "node", "removed")
        await until(lambda: routes() == networks(), "the route of a Node that was deleted by hand goes")
        assert routes().keys() == {"right"}
