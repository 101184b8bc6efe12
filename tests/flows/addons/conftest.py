"""A cluster for the stories of each file here: what addons install is there only once in a cluster, and the APIService
of one of them would keep every namespace of the run's cluster from being deleted."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.controlplane.build import find_binaries
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.control_plane import ControlPlane
from tests.faults.proxy import Proxy
from tests.flows.addons.causes_world import CausesWorld
from tests.flows.addons.cluster_world import ADDONS, ClusterWorld
from tests.flows.modules.conftest import on, on_server
from tests.flows.modules.test_addon_sources import serve_packages


@pytest.fixture(scope="module")
def whole_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    """With controllers, a scheduler and a node."""
    directory = tmp_path_factory.mktemp("whole-cluster")
    with ControlPlane(find_binaries(), directory, controllers=True, audited=True) as plane:
        yield OwnCluster(plane, directory)


@pytest.fixture
async def there(launcher: tuple[str, ...], whole_cluster: OwnCluster, tmp_path: Path) -> AsyncIterator[ClusterWorld]:
    """The shipped addons, offered to that cluster."""
    async with Proxy(whole_cluster.access, tmp_path) as proxy, on(whole_cluster, proxy, "default", tmp_path) as world:
        world.operator.flags += (f"--addons-dir={ADDONS}",)
        yield ClusterWorld(whole_cluster, proxy, world)


@pytest.fixture(params=["sandbox", pytest.param("cluster", marks=pytest.mark.cluster)])
async def causes(
    launcher: tuple[str, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[CausesWorld]:
    """The causes of all states, on both servers."""
    async with serve_packages() as server, on_server(request, tmp_path) as world:
        yield CausesWorld(world, server)
