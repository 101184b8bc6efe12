"""An API server in this process and what the room needs of it."""

from collections.abc import AsyncIterator

import pytest

from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from tests.fakes.second_writer import OvertakenClient, overtaken_client
from tests.kube.server import ApiServer, api_server


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with api_server() as api:
        yield api


@pytest.fixture
async def client(api: ApiServer) -> AsyncIterator[OvertakenClient]:
    async with overtaken_client(api.url) as client:
        yield client


@pytest.fixture
def watches(client: Client) -> Watches:
    return Watches(client, Discovery(client), Metrics(""), 75)
