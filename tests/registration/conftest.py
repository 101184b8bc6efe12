"""Each test that asks for a `world` runs on the sandbox and on the real API server."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings
from kubesandbox.sandbox import Options, serving
from tests.controlplane.certs import make_server_certificate
from tests.controlplane.cluster import Cluster
from tests.fakes.transports import all_closed
from tests.kube.real import credentials_of
from tests.registration.world import CLUSTER, World


@pytest.fixture(params=["sandbox", CLUSTER])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        if request.param == "sandbox":
            sandbox = await stack.enter_async_context(serving(Options()))
            credentials = Credentials(KubeSettings(), Connection(sandbox.url))
        else:
            cluster: Cluster = request.getfixturevalue("cluster")
            credentials = credentials_of(cluster.kubeconfig)
        metrics = Metrics("")
        other = await stack.enter_async_context(Client(credentials, Requests(metrics)))
        world = World(credentials, other, metrics, stack)
        yield world
        await world.clean()
    await all_closed()


@pytest.fixture(scope="session")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """Two certificates to trust, PEM."""
    directory = tmp_path_factory.mktemp("authorities")
    first, second = (make_server_certificate(directory, name).certificate.read_bytes() for name in ("one", "two"))
    return first, second
