"""Beside kube-controller-manager, as in every cluster: it allocates networks of Pods and notices silent kubelets, and
our loops act on both."""

import json
from pathlib import Path

import pytest

from tests.cloud.scenarios.documents import Document, node
from tests.cloud.scenarios.managers import ours
from tests.cloud.scenarios.world import Scene, Step, World
from tests.controlplane.cluster import OwnCluster
from tests.flows.waiting import until
from tests.oracles.controller_manager import node_controllers

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]


async def test_networks_get_routes_and_of_silent_nodes_those_without_machine_go(
    own_cluster: OwnCluster, tmp_path: Path
) -> None:
    world = World(own_cluster.kubeconfig, own_cluster.request, tmp_path)
    left, right = Scene("left", node("left")), Scene("right", node("right"))

    def nodes() -> dict[str, Document]:
        return {obj["metadata"]["name"]: obj for obj in own_cluster.request("GET", "/api/v1/nodes").body["items"]}

    def networks() -> dict[str, str]:
        return {name: obj["spec"].get("podCIDR", "") for name, obj in nodes().items()}

    def routes() -> dict[str, str]:
        cloud = json.loads(world.state.read_text())
        return {route["targetNode"]: route["destinationCIDR"] for route in cloud.get("routes", ())}

    def states(name: str) -> set[tuple[str, str]]:
        return {(condition["type"], condition["status"]) for condition in nodes()[name]["status"]["conditions"]}

    with node_controllers(own_cluster.kubeconfig, tmp_path), ours(world, "--node-delete-min-age=0s"):
        world.make([left, right])
        await until(lambda: routes().keys() == {"left", "right"}, "both Nodes have a route")
        assert routes() == networks()

        world.change(left, Step(instance=None))
        await until(lambda: nodes().keys() == {"right"}, "the Node without machine goes")
        await until(lambda: routes() == networks(), "its route goes, too")
        silent = {("Ready", "Unknown"), ("NetworkUnavailable", "False")}
        await until(lambda: states("right") >= silent, "the other Node stays, though it is silent")
