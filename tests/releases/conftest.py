"""API servers for releases: the sandbox, which is quick, and the real one, for what only it can answer."""

from collections.abc import AsyncIterator

import pytest

from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.metrics.names import Metrics
from hookrunner.releases.manifest_applier import ManifestApplier
from hookrunner.releases.manifest_objects import KindResolver
from hookrunner.releases.releases import Releases
from kubesandbox.sandbox import Sandbox
from tests.controlplane.cluster import Cluster
from tests.fakes.second_writer import OvertakenClient, overtaken_client
from tests.fakes.transports import all_closed
from tests.kube.real import client_of
from tests.releases.world import World, started
from tests.sandboxes import sandbox

__all__ = ["sandbox"]


@pytest.fixture
async def client(sandbox: Sandbox) -> AsyncIterator[OvertakenClient]:
    """Of the sandbox."""
    async with overtaken_client(sandbox.url) as client:
        yield client


@pytest.fixture
async def real(cluster: Cluster) -> AsyncIterator[Client]:
    """Of the real API server."""
    async with client_of(cluster.kubeconfig, Metrics("")) as client:
        yield client
    await all_closed()


@pytest.fixture
def world(client: Client, sandbox: Sandbox) -> World:
    return World(client, sandbox)


@pytest.fixture
def applier(client: Client) -> ManifestApplier:
    """On the sandbox."""
    return ManifestApplier(client, KindResolver(Discovery(client)))


@pytest.fixture
def releases(client: Client) -> Releases:
    """On the sandbox."""
    return started(client)
