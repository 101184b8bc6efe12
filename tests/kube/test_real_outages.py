"""Outages of a real API server: after its return no watch waits for pauses that grew meanwhile.

Pauses are counted as they are asked for, not as they pass: a busy machine makes no difference.

Level: control plane.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, suppress

import pytest

from hookrunner.errors import ApiError, KubeError
from hookrunner.kube.back_off import Outage
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.resources import Selection
from tests.controlplane.cluster import OwnCluster
from tests.fakes.objects import definition
from tests.flows import waiting
from tests.kube.real import credentials_of
from tests.kube.report_words import Batches, until

PATIENCE = 120.0
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Recorded(Outage):
    """Remembers the pauses that watches ask for while the server answers, and counts failed connections."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []
        self.failures = 0

    def note_failure(self, error: KubeError | None = None) -> None:
        self.failures += 1
        super().note_failure(error)

    async def turn(self, seconds: float) -> None:
        if not self.is_under_way:
            self.pauses.append(seconds)
        await super().turn(seconds)


@pytest.fixture
def outage() -> Recorded:
    return Recorded()


@pytest.fixture
async def client(own_cluster: OwnCluster, outage: Recorded, metrics: Metrics) -> AsyncIterator[Client]:
    credentials = credentials_of(own_cluster.kubeconfig)
    async with Client(credentials, Requests(metrics), outage=outage) as client:
        yield client


@pytest.fixture
def watches(client: Client, metrics: Metrics) -> Watches:
    return Watches(client, Discovery(client), metrics, 75.0)


async def listed(stack: AsyncExitStack, watches: Watches, selection: Selection) -> Batches:
    batches = await stack.enter_async_context(aclosing(watches.open(selection)))
    await until(batches, "Synced", PATIENCE)
    return batches


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.nightly)])
async def test_expired_watches_list_at_once_when_the_server_is_back(
    own_cluster: OwnCluster, client: Client, outage: Recorded, watches: Watches, count: int
) -> None:
    async with AsyncExitStack() as stack:
        streams = [
            await listed(stack, watches, Selection("v1", "ConfigMap", "default", f"n!={number}"))
            for number in range(count)
        ]
        await asyncio.to_thread(own_cluster.stop_apiserver)
        for batches in streams:
            await until(batches, "WatchLost", PATIENCE)
        reading = [asyncio.create_task(until(batches, "WatchRestored", PATIENCE)) for batches in streams]
        await asyncio.to_thread(own_cluster.compact)
        before = outage.failures
        await waiting.until(lambda: outage.failures >= before + 5, "pauses that have grown")
        outage.pauses.clear()
        await asyncio.to_thread(own_cluster.start_apiserver)
        for reports in await asyncio.gather(*reading):
            states = [word for word in reports if word in ("RelistStarted", "Synced", "WatchRestored")]
            assert states[-2:] == ["Synced", "WatchRestored"]
    assert max(outage.pauses) <= 1
    assert len(outage.pauses) <= 4 * count


async def test_a_definition_that_is_deleted_and_created_again_is_watched_at_once(
    client: Client, outage: Recorded, watches: Watches
) -> None:
    things = definition("example.com", "Thing", "v1")
    await client.send(ApiCall("POST", DEFINITIONS, body=things))
    async with aclosing(watches.open(Selection("example.com/v1", "Thing"))) as batches:
        await until(batches, "Synced", PATIENCE)
        await client.send(ApiCall("DELETE", f"{DEFINITIONS}/things.example.com"))
        await until(batches, "WatchLost: the server knows no kind", PATIENCE)
        reading = asyncio.create_task(until(batches, "WatchRestored", PATIENCE))
        before = len(outage.pauses)
        await waiting.until(lambda: len(outage.pauses) >= before + 3, "pauses that have grown")
        outage.pauses.clear()
        began = time.monotonic()
        await client.send(ApiCall("POST", DEFINITIONS, body=things))
        late = await served_after(client, began)
        assert (await reading)[-3:] == ["RelistStarted", "Synced", "WatchRestored"]
    assert max(outage.pauses, default=0) <= 2.5 + late
    assert sum(outage.pauses) <= 5 + 2 * late


async def served_after(client: Client, began: float) -> float:
    """Wait until the API server serves the kind; the seconds that a busy machine takes for that."""
    while True:
        with suppress(ApiError):
            await client.get("/apis/example.com/v1/things")
            return time.monotonic() - began
        await asyncio.sleep(waiting.INTERVAL)
