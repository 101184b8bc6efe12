"""What the cluster serves, for charts that ask."""

import asyncio

import pytest

from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import ClusterCapabilities, Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings
from kubesandbox.faults import Fault
from tests.kube.server import api_server, definition

pytestmark = pytest.mark.looptime


async def test_without_the_right_to_list_definitions_capabilities_are_polled() -> None:
    """As each run of Helm does, which needs no rights for it."""
    metrics = Metrics("")
    async with (
        api_server() as api,
        Client(Credentials(KubeSettings(), Connection(api.url)), Requests(metrics)) as client,
    ):
        api.faults.add(Fault("answer", "/customresourcedefinitions", status=403))
        known = ClusterCapabilities(client, Watches(client, Discovery(client), metrics, 75.0))
        assert "example.com/v1" not in (await known.get()).api_versions
        following = asyncio.ensure_future(known.follow(0))
        api.put(definition("example.com", "Widget", "v1"))
        async with asyncio.timeout(600):
            await anext(known.changes())
        assert "example.com/v1" in (await known.get()).api_versions
        assert not [line for line in api.faults.requests if "watch=true" in line]
        following.cancel()
