"""One Lease for both managers: Kubernetes' own and hookrunner's never act at once; each takes over from the other."""

import json
from pathlib import Path

import pytest

from tests.cloud.scenarios.documents import node
from tests.cloud.scenarios.managers import ours, upstream
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
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager"


@pytest.fixture
def world(own_cluster: OwnCluster, tmp_path: Path) -> World:
    return World(own_cluster.kubeconfig, own_cluster.request, tmp_path)


async def test_hookrunner_takes_over_from_kubernetes_own_manager(world: World, own_cluster: OwnCluster) -> None:
    with upstream(world, *ELECT):
        await _is_initialized(world, "first")
        holder = _holder(own_cluster)
        with ours(world, *ELECT):
            await stays(lambda: _holder(own_cluster) == holder, "the first holder", 3.0)
            assert "became leader" not in (world.directory / "ours.log").read_text()
            await _is_initialized(world, "second")
    with ours(world, *ELECT):
        await _is_initialized(world, "third")
        assert _holder(own_cluster) != holder


async def test_kubernetes_own_manager_takes_over_from_hookrunner(world: World, own_cluster: OwnCluster) -> None:
    with ours(world, *ELECT):
        await _is_initialized(world, "first")
        holder = _holder(own_cluster)
    with upstream(world, *ELECT):
        await _is_initialized(world, "second")
        assert _holder(own_cluster) != holder


async def _is_initialized(world: World, name: str) -> None:
    scene = Scene(name, node(name))
    world.make([scene])
    await until(lambda: world.ends([scene])[name]["providerID"], f"{name} initialised\n{json.dumps(_logs(world))}")


def _holder(cluster: OwnCluster) -> str:
    holder: str = cluster.request("GET", LEASE).body["spec"]["holderIdentity"]
    return holder


def _logs(world: World) -> list[str]:
    return [line for file in world.directory.glob("*.log") for line in file.read_text().splitlines()[-5:]]
