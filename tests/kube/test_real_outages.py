"""Outages of a real API server: after its return watches have lost nothing, and none waits for pauses that grew
meanwhile.

Pauses are counted as they are asked for, not as they pass: a busy machine makes no difference.

Level: control plane.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress

import pytest

from hookrunner.errors import ApiError, KubeError
from hookrunner.kube.back_off import Outage
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.resources import Selection
from tests.controlplane.cluster import Cluster, OwnCluster
from tests.fakes.objects import definition
from tests.flows import waiting
from tests.kube.real import credentials_of
from tests.kube.report_words import Batches, until

PATIENCE = 120.0
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
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

    async def grow(self) -> None:
        """Wait until pauses have grown, and forget them."""
        before = self.failures
        await waiting.until(lambda: self.failures >= before + 5, "pauses that have grown")
        self.pauses.clear()

    async def turn(self, seconds: float) -> None:
        if not self.is_under_way:
            self.pauses.append(seconds)
        await super().turn(seconds)


@pytest.fixture
def outage() -> Recorded:
    return Recorded()


@asynccontextmanager
async def connected(cluster: Cluster, outage: Recorded, metrics: Metrics) -> AsyncIterator[Client]:
    async with Client(credentials_of(cluster.kubeconfig), Requests(metrics), outage=outage) as client:
        yield client


async def listed(stack: AsyncExitStack, watches: Watches, selection: Selection) -> Batches:
    batches = await stack.enter_async_context(aclosing(watches.open(selection)))
    await until(batches, "Synced", PATIENCE)
    return batches


async def restored(batches: Batches) -> list[str]:
    return await until(batches, "WatchRestored", PATIENCE)


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.nightly)])
async def test_watches_survive_killed_servers_and_list_at_once_what_has_expired(
    own_cluster: OwnCluster, outage: Recorded, metrics: Metrics, count: int
) -> None:
    """The second server finds no history: 410 with an empty watch cache. A server whose new cache was filled after
    "after" had been created may answer 410 without that, so a relist is no failure at the first one."""
    async with connected(own_cluster, outage, metrics) as client, AsyncExitStack() as stack:
        watches = Watches(client, Discovery(client), metrics, 75.0)
        streams = [
            await listed(stack, watches, Selection("v1", "ConfigMap", "default", f"n!={number}"))
            for number in range(count)
        ]
        for compacted in (False, True):
            await asyncio.to_thread(own_cluster.stop_apiserver)
            for batches in streams:
                lost = (await until(batches, "WatchLost", PATIENCE))[-1]
                assert lost.startswith(f"WatchLost: {own_cluster.url}: Cannot connect")
            reading = [asyncio.create_task(restored(batches)) for batches in streams]
            if compacted:
                await asyncio.to_thread(own_cluster.compact)
                await outage.grow()
            await asyncio.to_thread(own_cluster.start_apiserver)
            name = f"after-{compacted}".lower()
            await client.send(ApiCall("POST", CONFIG_MAPS, body={"metadata": {"name": name}}))
            for batches, reports in zip(streams, await asyncio.gather(*reading), strict=True):
                states = [word for word in reports if word in ("RelistStarted", "Synced", "WatchRestored")]
                assert states[-2:] == ["Synced", "WatchRestored"] or not compacted
                assert {name, f"Added {name}"} & {*reports} or await until(batches, f"Added {name}", PATIENCE)
    assert max(outage.pauses) <= 1
    assert len(outage.pauses) <= 4 * count


async def test_a_kind_whose_definition_comes_goes_and_comes_back_is_watched_at_once(
    cluster: Cluster, outage: Recorded, metrics: Metrics, namespace: str
) -> None:
    group = f"{namespace}.example.com"
    things, path = definition(group, "Thing", "v1"), f"/apis/{group}/v1/namespaces/{namespace}/things"
    async with (
        connected(cluster, outage, metrics) as client,
        aclosing(Watches(client, Discovery(client), metrics, 75.0).open(Selection(f"{group}/v1", "Thing"))) as batches,
    ):

        async def create(name: str) -> None:
            body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": name}}
            await client.send(ApiCall("POST", path, body=body))
            await until(batches, f"Added {name}", PATIENCE)

        assert "CustomResourceDefinition" in (await until(batches, "WatchLost", PATIENCE))[-1]
        await client.send(ApiCall("POST", DEFINITIONS, body=things))
        await until(batches, "Synced", PATIENCE)
        await create("one")
        await client.send(ApiCall("DELETE", f"{DEFINITIONS}/things.{group}"))
        assert "Deleted one" in await until(batches, "WatchLost: the server knows no kind", PATIENCE)
        reading = asyncio.create_task(restored(batches))
        before = len(outage.pauses)
        await waiting.until(lambda: len(outage.pauses) >= before + 3, "pauses that have grown")
        outage.pauses.clear()
        began = time.monotonic()
        await client.send(ApiCall("POST", DEFINITIONS, body=things))
        late = await served_after(client, path, began)
        assert (await reading)[-3:] == ["RelistStarted", "Synced", "WatchRestored"]
        pauses = [*outage.pauses]
        await create("two")
    assert max(pauses, default=0) <= 2.5 + late
    assert sum(pauses) <= 5 + 2 * late


async def served_after(client: Client, path: str, began: float) -> float:
    """Wait until the API server serves the kind; the seconds that a busy machine takes for that."""
    while True:
        with suppress(ApiError):
            await client.get(path)
            return time.monotonic() - began
        await asyncio.sleep(waiting.INTERVAL)
