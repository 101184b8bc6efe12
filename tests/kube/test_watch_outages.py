"""Watches while the API server is away and after its return, in virtual time: pauses that grew meanwhile delay
nothing.

Level: sandbox."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.resources import Selection
from hookrunner.settings import KubeSettings
from kubesandbox.faults import Fault
from kubesandbox.server import SandboxServer
from tests.fakes.objects import config_map, definition
from tests.flows import waiting
from tests.kube.report_words import Batches, until
from tests.kube.server import ApiServer

pytestmark = pytest.mark.looptime

CONFIG_MAPS = Selection("v1", "ConfigMap")
WIDGETS = Selection("example.com/v1", "Widget")
RESUMING = "&resourceVersion="
SOON = 3.0
"""Seconds of the loop's own clock."""


@pytest.fixture
async def batches(watches: Watches) -> AsyncIterator[Batches]:
    async with aclosing(watches.open(CONFIG_MAPS)) as batches:
        await until(batches, "Synced")
        yield batches


async def pass_outage(api: ApiServer, *streams: Batches, seconds: float = 60) -> list[asyncio.Task[list[str]]]:
    """Take the server away for so long; the readers of its watches read on, up to the next complete list."""
    away = api.faults.add(Fault("refuse"))
    api.faults.cut()
    reading = [asyncio.create_task(until(batches, "Synced")) for batches in streams]
    await asyncio.sleep(seconds)
    api.faults.remove(away)
    api.faults.requests.clear()
    return reading


def lose_history(api: ApiServer) -> None:
    """No watch can resume from an earlier version."""
    api.put(config_map("late"))
    api.compact()


@contextmanager
def soon() -> Iterator[None]:
    """What happens inside happens soon."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    yield
    assert loop.time() - began <= SOON


@pytest.mark.slow
async def test_an_expired_version_is_listed_at_once_after_an_outage(api: ApiServer, batches: Batches) -> None:
    (reading,) = await pass_outage(api, batches)
    lose_history(api)
    with soon():
        assert (await reading)[-4:] == ["RelistStarted", "late", "Synced", "WatchRestored"]
    assert ["watch" if RESUMING in line else "list" for line in api.faults.requests] == ["watch", "list"]


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
async def test_starting_server_that_refuses_for_a_moment_is_tried_again_soon(
    api: ApiServer, batches: Batches, status: int
) -> None:
    (reading,) = await pass_outage(api, batches)
    lose_history(api)
    api.faults.add(Fault("answer", times=4, status=status))
    with soon():
        await reading
    assert len(api.requests) <= 6


@pytest.mark.slow
async def test_a_pause_of_another_failure_does_not_grow_with_an_outage(
    api: ApiServer, client: Client, batches: Batches
) -> None:
    """Here another client has ended the outage before the first watch is refused."""
    (reading,) = await pass_outage(api, batches)
    lose_history(api)
    api.faults.add(Fault("answer", "watch=", times=3, status=500))
    await client.get("/version")
    with soon():
        await reading


@pytest.mark.slow
async def test_watch_that_is_accepted_and_then_refused_is_not_restored(api: ApiServer, batches: Batches) -> None:
    (reading,) = await pass_outage(api, batches)
    lose_history(api)
    told = await reading
    reports = [word for word in told if not word.startswith("WatchLost")]
    assert reports == ["RelistStarted", "late", "Synced", "WatchRestored"]


async def test_a_resumed_watch_that_is_quiet_is_restored_without_a_bookmark(api: ApiServer, batches: Batches) -> None:
    away = api.faults.add(Fault("refuse"))
    api.faults.cut()
    await until(batches, "WatchLost")
    api.faults.remove(away)
    with soon():
        assert (await until(batches, "WatchRestored"))[-1] == "WatchRestored"
    assert "sendInitialEvents" not in api.asked("watch")[-1].params


@pytest.mark.slow
async def test_many_watches_probe_a_missing_server_as_rarely_as_one_and_return_together(
    api: ApiServer, watches: Watches
) -> None:
    async with AsyncExitStack() as stack:
        streams = [await opened(stack, watches, f"n{number}") for number in range(60)]
        away = api.faults.add(Fault("refuse"))
        api.faults.cut()
        reading = [asyncio.create_task(until(batches, "Synced")) for batches in streams]
        await asyncio.sleep(10)
        api.faults.requests.clear()
        await asyncio.sleep(50)
        asked = len(api.requests)
        api.faults.remove(away)
        api.faults.requests.clear()
        lose_history(api)
        with soon():
            await asyncio.gather(*reading)
    assert asked <= 2 * 51  # aiohttp itself tries a broken connection twice
    assert len(api.requests) == 2 * 60  # each once resumed, once listed


async def opened(stack: AsyncExitStack, watches: Watches, namespace: str) -> Batches:
    batches = await stack.enter_async_context(aclosing(watches.open(Selection("v1", "ConfigMap", namespace))))
    await until(batches, "Synced")
    return batches


@pytest.mark.slow
async def test_watches_reconnect_at_a_limited_rate(api: ApiServer, watches: Watches) -> None:
    async with AsyncExitStack() as stack:
        streams = [await opened(stack, watches, f"n{number}") for number in range(100)]
        reading = await pass_outage(api, *streams)
        lose_history(api)
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*reading)
        took = asyncio.get_running_loop().time() - began
    assert took > 0.3


async def test_alternating_failures_are_spaced_like_one_kind(api: ApiServer, batches: Batches) -> None:
    for status in [500, 503] * 20:
        api.faults.add(Fault("answer", times=1, status=status))
    api.faults.cut()
    reading = asyncio.create_task(until(batches, "Synced"))
    await asyncio.sleep(60)
    assert len(api.requests) < 30
    reading.cancel()


async def test_a_definition_that_is_deleted_and_created_again_is_watched_soon(api: ApiServer, watches: Watches) -> None:
    widgets = definition("example.com", "Widget", "v1")
    api.put(widgets)
    async with aclosing(watches.open(WIDGETS)) as batches:
        await until(batches, "Synced")
        api.delete(widgets)
        api.faults.cut()
        await until(batches, "WatchLost: the server knows no kind")
        reading = asyncio.create_task(until(batches, "Synced"))
        await asyncio.sleep(60)
        api.faults.add(Fault("answer", "/widgets", times=1, status=404))  # discovery is ahead of what serves it
        api.put(widgets)
        with soon():
            await reading


@pytest.mark.slow
async def test_two_outages_in_a_row_are_both_ended_soon(api: ApiServer, batches: Batches) -> None:
    """A server that restarts twice: the first return was too short to count as a watch that works."""
    for _ in range(2):
        (reading,) = await pass_outage(api, batches)
        lose_history(api)
        with soon():
            await reading
        api.put(config_map("a"))


@pytest.mark.slow
async def test_refusals_of_a_starting_server_are_not_learned(api: ApiServer, batches: Batches) -> None:
    """A 403 costs neither the version nor streamed lists."""
    (reading,) = await pass_outage(api, batches)
    api.faults.add(Fault("answer", times=2, status=403))
    api.put(config_map("late"))
    await waiting.until(lambda: len(api.requests) == 3, "it is resumed")
    assert all(RESUMING in line for line in api.faults.requests)
    reading.cancel()


async def test_a_watch_that_is_always_closed_at_once_is_lost_and_tried_ever_more_seldom(
    api: ApiServer, metrics: Metrics
) -> None:
    server, asked = SandboxServer(api.sandbox.api, api.faults), list[str]()

    async def answer(http: web.BaseRequest) -> web.StreamResponse:
        if "watch" not in http.query:
            return await server.answer(http)
        asked.append(http.path)
        await asyncio.sleep(3600 if len(asked) > 50 else 0)  # without pauses, the loop's clock would stand still
        return web.Response(content_type="application/json")

    async with RawTestServer(answer) as between:
        connection = Connection(str(between.make_url("")).rstrip("/"))
        async with (
            Client(Credentials(KubeSettings(), connection), Requests(metrics)) as client,
            aclosing(Watches(client, Discovery(client), metrics, idle=75.0).open(CONFIG_MAPS)) as batches,
        ):
            lost = f"WatchLost: watch of {CONFIG_MAPS}: closed at once by the server"
            async with asyncio.timeout(60):
                await until(batches, lost)
            reading = asyncio.create_task(until(batches, "Nothing"))
            await asyncio.sleep(60)
            reading.cancel()
            await asyncio.wait({reading})
    assert len(asked) < 20
