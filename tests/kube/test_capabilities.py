"""What the cluster serves, for charts that ask. Level: sandbox."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import ClusterCapabilities, Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.events import Report, WatchRestored
from hookrunner.model.resources import Selection
from hookrunner.settings import KubeSettings
from kubesandbox.faults import Fault
from tests.fakes.cluster import FakeCluster, until
from tests.fakes.objects import definition
from tests.kube.server import api_server

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


class Opened(FakeCluster):
    """As a source of watches."""

    def open(self, selection: Selection) -> AsyncGenerator[list[Report], None]:
        return self.watch(selection)


class Upgraded(Client):
    """A cluster of another version than its own, as soon as there is one."""

    version = ""

    async def get(self, path: str, *args: Any, **options: Any) -> Any:
        answer = await super().get(path, *args, **options)
        return answer | {"gitVersion": self.version} if path == "/version" and self.version else answer


async def test_upgrade_of_the_cluster_is_noticed_when_its_api_server_is_back() -> None:
    """No watch tells of another version."""
    cluster = Opened()
    async with (
        api_server() as api,
        Upgraded(Credentials(KubeSettings(), Connection(api.url)), Requests(Metrics(""))) as client,
    ):
        known = ClusterCapabilities(client, cluster)
        before = await known.get()
        following = asyncio.ensure_future(known.follow(0))
        await until(lambda: cluster.open_watches > 0)
        cluster.tell(WatchRestored())
        await asyncio.sleep(10)
        assert api.requests[-1].path == "/version", "nothing else is asked while the version is the same"
        client.version = "v9.9.9"
        cluster.tell(WatchRestored())
        async with asyncio.timeout(600):
            assert await anext(known.changes()) == before
        assert (await known.get()).kube_version == "v9.9.9"
        following.cancel()
