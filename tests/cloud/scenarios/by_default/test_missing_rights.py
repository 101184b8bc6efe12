"""Rights that are missing, one after the other: the loop that needs one says which, the others go on, and it heals by
itself when the right is granted. On a real API server: the sandbox knows no rights.

Level: control plane."""

import json
from pathlib import Path

import pytest

from tests.cloud.scenarios.documents import Document, node
from tests.cloud.scenarios.managers import ours, read_status
from tests.cloud.scenarios.scenes import service
from tests.cloud.scenarios.world import Scene, World
from tests.controlplane.cluster import OwnCluster
from tests.flows.waiting import until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/default-cloud"
READ = ("get", "list", "watch")
FIRST, SECOND = (Scene(name, node(name, podCIDRs=[f"10.244.{i}.0/24"])) for i, name in enumerate(("first", "second")))
WEB, SHOP = (Scene(name, service=service(name)) for name in ("web", "shop"))


def rule(resource: str, *verbs: str) -> Document:
    return {"apiGroups": [""], "resources": [resource], "verbs": [*verbs]}


BEFORE = [rule("events", "create", "patch"), rule("services", *READ), rule("services/status", "patch")]
NODES, STATUS, SPEC = rule("nodes", *READ), rule("nodes/status", "patch"), rule("nodes", "patch")


async def test_each_is_named_holds_up_no_other_loop_and_heals(own_cluster: OwnCluster, tmp_path: Path) -> None:
    account = own_cluster.user("cloud", "default", BEFORE, everywhere=True)
    world = World(account.kubeconfig, own_cluster.request, tmp_path)

    def grant(*rules: Document) -> None:
        own_cluster.request("PATCH", ROLE, {"rules": [*rules]})

    with ours(world):
        world.make([FIRST, WEB])
        await until(lambda: "resources: [nodes], verbs: [list" in log_of(world), "that Nodes cannot be listed")

        grant(*BEFORE, NODES)
        await until(lambda: has_address(world, WEB), "the address of the Service")
        await until(
            lambda: "resources: [nodes/status], verbs: [patch]" in reason(world, FIRST), "the first write of it"
        )
        assert not is_initialized(world, FIRST)

        grant(*BEFORE, NODES, STATUS)
        await until(lambda: "resources: [nodes], verbs: [patch]" in reason(world, FIRST), "its second write")
        await until(lambda: world.ends([FIRST])["first"].get("routes"), "its route")
        assert not is_initialized(world, FIRST)

        grant(*BEFORE[:2], NODES, STATUS, SPEC)
        await until(lambda: is_initialized(world, FIRST), "the Node initialised")
        world.make([SHOP])
        await until(lambda: "resources: [services/status], verbs: [patch]" in reason(world, SHOP), "the new Service")
        world.make([SECOND])
        await until(lambda: is_initialized(world, SECOND), "another Node meanwhile")
        assert not has_address(world, SHOP)

        grant(*BEFORE, NODES, STATUS, SPEC)
        await until(lambda: has_address(world, SHOP), "the address of the second Service")


def log_of(world: World) -> str:
    """Its messages, one after the other."""
    lines = (world.directory / "ours.log").read_text().splitlines()
    return "\n".join(str(json.loads(line).get("error", "")) for line in lines if line.startswith("{"))


def reason(world: World, scene: Scene) -> str:
    """Why a Node or Service waits, as `hookrunner cloud status` says."""
    shown = read_status(world).get("services" if scene.service else "nodes", ())
    return next((str(one["reason"]) for one in shown if one["name"] == scene.name), "")


def is_initialized(world: World, scene: Scene) -> bool:
    return bool(world.live(scene)["spec"].get("providerID"))


def has_address(world: World, scene: Scene) -> bool:
    return bool(world.live(scene)["status"]["loadBalancer"])
