"""An API server, and the clients and watches of the room on it."""

from collections.abc import AsyncIterator

import pytest

from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings
from tests.kube.server import ApiServer, api_server


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with api_server() as api:
        yield api


@pytest.fixture
def metrics() -> Metrics:
    return Metrics("")


@pytest.fixture
async def client(api: ApiServer, metrics: Metrics) -> AsyncIterator[Client]:
    async with Client(Credentials(KubeSettings(), Connection(api.url)), Requests(metrics)) as client:
        yield client


@pytest.fixture
def discovery(client: Client) -> Discovery:
    return Discovery(client)


@pytest.fixture
async def watches(client: Client, discovery: Discovery, metrics: Metrics) -> Watches:
    return Watches(client, discovery, metrics, idle=75.0)
