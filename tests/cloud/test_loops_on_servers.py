"""The cloud's loops before real API servers: what `tests/fakes/fake_api.py` only plays holds on the sandbox and on a
control plane, for Services and routes with exactly the rights that `hookrunner cloud rbac` prints.

Level: control plane."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from http import HTTPStatus
from pathlib import Path

import pytest

from hookrunner.cloud.rights import rights_of
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.manifests.role_objects import Account, to_roles
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings, load
from kubesandbox.sandbox import Options, serving
from tests.cloud.nodes.node_life import NodesOnServer, follow_nodes
from tests.cloud.services.service_life import ServicesOnServer, follow_services
from tests.controlplane.build import find_binaries
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.control_plane import ControlPlane
from tests.fakes.transports import all_closed
from tests.kube.real import credentials_of

LOOPS = {"controllers": "service-lb-controller,node-route-controller", "cluster-cidr": "10.0.0.0/8"}


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OwnCluster, Path]]:
    """As `own_cluster`, but one for all tests of this file: its start costs three seconds of CPU. And the kubeconfig of
    an account with the rights of `LOOPS`."""
    directory = tmp_path_factory.mktemp("control-plane")
    objects = to_roles("cloud", rights_of(load(LOOPS, "hookrunner", {})), Account("default", "cloud"))
    with ControlPlane(find_binaries(), directory, controllers=False) as plane:
        cluster = OwnCluster(plane, directory)
        yield cluster, cluster.user("cloud", "default", objects[0]["rules"], everywhere=True).kubeconfig


@pytest.fixture(params=["sandbox", pytest.param("control_plane", marks=pytest.mark.cluster)])
async def users(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Client, Client]]:
    """One who may do everything, and one who has the rights of `LOOPS`, in a cluster without Nodes. The sandbox knows
    no rights."""
    async with AsyncExitStack() as stack:
        if request.param == "sandbox":
            sandbox = await stack.enter_async_context(serving(Options()))
            admin = ours = Credentials(KubeSettings(), Connection(sandbox.url))
        else:
            cluster, kubeconfig = request.getfixturevalue("control_plane")
            assert cluster.request("DELETE", "/api/v1/nodes").status == HTTPStatus.OK
            admin, ours = credentials_of(cluster.kubeconfig), credentials_of(kubeconfig)
        clients = [Client(credentials, Requests(Metrics(""))) for credentials in (admin, ours)]
        yield await stack.enter_async_context(clients[0]), await stack.enter_async_context(clients[1])
    await all_closed()


async def test_life_of_services_and_routes(users: tuple[Client, Client]) -> None:
    await follow_services(ServicesOnServer(*users))


@pytest.mark.slow
async def test_life_of_nodes(users: tuple[Client, Client]) -> None:
    await follow_nodes(NodesOnServer(users[0], Metrics("")))
