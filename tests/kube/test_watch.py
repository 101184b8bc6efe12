"""Watches against a sandbox with faults, in virtual time: their reports are complete, whatever happens.

What a snapshot makes of a repeated list is tested in `tests/sources`.

Level: sandbox.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import orjson
import pytest

from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.model.events import ObjectSeen, Report, Synced, WatchLost
from hookrunner.model.resources import Selection
from kubesandbox.faults import Fault
from tests.fakes.objects import config_map, definition
from tests.flows import waiting
from tests.kube.report_words import Batches, until, words
from tests.kube.server import ApiServer

pytestmark = pytest.mark.looptime

CONFIG_MAPS = Selection("v1", "ConfigMap")
WIDGETS = Selection("example.com/v1", "Widget")

# In the lines of watches that begin with a list, and of those that resume.
LISTING, RESUMING = "sendInitialEvents=true", "&resourceVersion="

TOLD = "a fault that the sandbox was given: "
DOWN = TOLD + "Service Unavailable"


def cannot_stream_lists(api: ApiServer) -> None:
    """As a server before Kubernetes 1.32 answers."""
    api.faults.add(Fault("answer", LISTING, status=422))


@pytest.fixture
async def batches(watches: Watches) -> AsyncIterator[Batches]:
    async with aclosing(watches.open(CONFIG_MAPS)) as batches:
        yield batches


@pytest.mark.parametrize("streams", [True, False])
async def test_watch_reports_the_list_and_then_each_change(api: ApiServer, batches: Batches, streams: bool) -> None:
    if not streams:
        cannot_stream_lists(api)
    api.put(config_map("a"))
    assert await until(batches, "Synced") == ["RelistStarted", "a", "Synced"]
    api.put(config_map("b"))
    api.put(config_map("a", color="red"))
    api.delete(config_map("b"))
    assert await until(batches, "Deleted") == ["Added b", "Modified a", "Deleted b"]


async def test_listed_objects_are_complete(api: ApiServer, batches: Batches) -> None:
    cannot_stream_lists(api)
    sent = api.put(config_map("a", color="red"))
    items = [report async for reports in _to_listed(batches) for report in reports if isinstance(report, ObjectSeen)]
    assert [(item.obj, item.version) for item in items] == [(sent, sent["metadata"]["resourceVersion"])]


async def _to_listed(batches: Batches) -> AsyncIterator[list[Report]]:
    async for reports in batches:
        yield reports
        if any(isinstance(report, Synced) for report in reports):
            return


@pytest.mark.slow
async def test_server_without_streamed_lists_is_listed_in_pages(api: ApiServer, batches: Batches) -> None:
    cannot_stream_lists(api)
    for number in range(1001):
        api.put(config_map(f"m{number}"))
    told = await until(batches, "Synced")
    assert len(told) == 1003
    assert [request.params["limit"] for request in api.asked("list")] == ["500"] * 3
    assert len({request.params.get("continue") for request in api.asked("list")}) == 3


@pytest.mark.slow
async def test_list_is_read_whole_when_pages_outlive_their_version(api: ApiServer, batches: Batches) -> None:
    cannot_stream_lists(api)
    for number in range(501):
        api.put(config_map(f"m{number}"))
    assert words(await anext(batches))[0] == "RelistStarted"
    api.put(config_map("new"))
    api.compact()
    assert len(await until(batches, "Synced")) == 504
    assert [request.params["limit"] for request in api.asked("list")] == ["500", "500", "0"]


async def test_silence_is_resumed_without_loss_or_repetition(
    api: ApiServer, batches: Batches, metrics: Metrics
) -> None:
    """The server stops sending and keeps the connection."""
    await until(batches, "Synced")
    api.put(config_map("before"))
    await until(batches, "Added before")
    api.faults.add(Fault("stall", LISTING))
    for name in "abcde":
        api.put(config_map(name))
    began = asyncio.get_running_loop().time()
    assert await until(batches, "Added e") == [f"Added {name}" for name in "abcde"]
    assert asyncio.get_running_loop().time() - began <= 80
    assert b'kubernetes_watch_stalls_total{gvr="v1/configmaps",namespace=""} 1\n' in metrics.exposition()


async def test_silence_that_cannot_be_resumed_is_reported_once(api: ApiServer, batches: Batches) -> None:
    await until(batches, "Synced")
    api.faults.add(Fault("stall", LISTING))
    api.faults.add(Fault("answer", RESUMING, times=3, status=503))
    assert await until(batches, "WatchRestored") == [f"WatchLost: {DOWN}", "WatchRestored"]


@pytest.mark.parametrize("told", ["in the middle", "at the beginning", "as a status"])
async def test_an_expired_version_leads_to_one_more_list(api: ApiServer, batches: Batches, told: str) -> None:
    """All forms of 410."""
    for name in ("changed", "deleted", "same"):
        api.put(config_map(name))
    await until(batches, "Synced")
    if told == "in the middle":
        await api.faults.expire()
    if told == "as a status":
        api.faults.add(Fault("answer", RESUMING, times=1, status=410))
    api.faults.cut()
    api.put(config_map("changed", color="red"))
    api.put(config_map("new"))
    api.delete(config_map("deleted"))
    api.compact()
    assert sorted(await until(batches, "Synced")) == ["RelistStarted", "Synced", "changed", "new", "same"]
    lists = [request for request in api.asked("watch") if "sendInitialEvents" in request.params]
    assert len(lists) == 2


@pytest.mark.parametrize(("of_use", "at_least"), [(False, 5), (True, 0.5)])
async def test_lists_that_expire_at_once_are_spaced(
    api: ApiServer, batches: Batches, of_use: bool, at_least: float
) -> None:
    """Less, but still, where each was of use for a moment."""
    began = asyncio.get_running_loop().time()
    for number in range(8):
        await until(batches, "Synced")
        if of_use:
            api.put(config_map(f"m{number}"))
            await until(batches, "Added")
        await api.faults.expire()
    assert asyncio.get_running_loop().time() - began > at_least


@pytest.mark.parametrize("streams", [True, False])
async def test_watch_resumes_from_the_version_of_the_list(api: ApiServer, batches: Batches, streams: bool) -> None:
    """Objects come in the order of their names, here the oldest last."""
    if not streams:
        cannot_stream_lists(api)
    api.put(config_map("b-old"))
    listed = api.put(config_map("a-young"))["metadata"]["resourceVersion"]
    assert await until(batches, "Synced") == ["RelistStarted", "a-young", "b-old", "Synced"]
    api.faults.cut()
    api.put(config_map("next"))
    assert await until(batches, "Added") == ["Added next"]
    assert api.asked("watch")[-1].params["resourceVersion"] == listed


async def test_watch_resumes_from_a_bookmark(api: ApiServer, batches: Batches) -> None:
    await until(batches, "Synced")
    api.put(config_map("a"))
    await until(batches, "Added a")
    assert api.asked("watch")[0].params["allowWatchBookmarks"] == "true"
    marked = api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    reading = asyncio.ensure_future(until(batches, "Added b"))
    await asyncio.wait([reading], timeout=70)
    api.faults.cut()
    api.put(config_map("b"))
    await reading
    assert api.asked("watch")[-1].params["resourceVersion"] == marked["metadata"]["resourceVersion"]


async def test_quiet_server_is_no_dead_connection(api: ApiServer, batches: Batches, metrics: Metrics) -> None:
    await until(batches, "Synced")
    reading = asyncio.ensure_future(until(batches, "Added"))
    await asyncio.wait([reading], timeout=200)
    assert (len(api.asked("watch")), b"kubernetes_watch_stalls_total{" in metrics.exposition()) == (1, False)
    api.put(config_map("a"))
    await reading


async def test_an_unknown_kind_is_awaited(api: ApiServer, watches: Watches) -> None:
    async with aclosing(watches.open(WIDGETS)) as batches:
        (lost,) = await anext(batches)
        assert isinstance(lost, WatchLost)
        assert not lost.brief
        assert "CustomResourceDefinition" in lost.reason
        api.put(definition("example.com", "Widget", "v1"))
        assert await until(batches, "Synced") == ["RelistStarted", "Synced", "WatchRestored"]


async def test_an_optional_kind_that_is_not_served_has_no_objects(api: ApiServer, watches: Watches) -> None:
    async with aclosing(watches.open(replace(WIDGETS, optional=True))) as batches:
        assert words(await anext(batches)) == ["RelistStarted", "Synced"]
        reading = asyncio.ensure_future(until(batches, "Synced"))
        await asyncio.wait([reading], timeout=200)
        api.put(definition("example.com", "Widget", "v1"))
        assert await reading == ["RelistStarted", "Synced"]


@pytest.mark.slow
async def test_kind_that_is_installed_late_is_watched_within_seconds(api: ApiServer, watches: Watches) -> None:
    loop = asyncio.get_running_loop()
    async with aclosing(watches.open(WIDGETS)) as batches:
        await anext(batches)
        reading = asyncio.ensure_future(until(batches, "Synced"))
        await asyncio.wait([reading], timeout=300)
        api.put(definition("example.com", "Widget", "v1"))
        began = loop.time()
        await reading
        assert loop.time() - began <= 3


@pytest.mark.parametrize(("status", "brief"), [(403, False), (400, False), (500, True), (503, True)])
async def test_refused_list_is_reported_and_tried_again(
    api: ApiServer, batches: Batches, status: int, brief: bool
) -> None:
    await until(batches, "Synced")
    api.faults.add(Fault("answer", times=1, status=410))
    api.faults.add(Fault("answer", times=3, status=status))
    api.faults.cut()
    api.put(config_map("a"))
    (lost,) = await anext(batches)
    assert isinstance(lost, WatchLost)
    assert (lost.reason.startswith(TOLD), lost.brief) == (True, brief)
    assert "Synced" in await until(batches, "Synced")


async def test_without_a_right_to_watch_changes_are_polled(api: ApiServer, batches: Batches) -> None:
    """As client-go does. Nothing is lost, and once the right is given the watch begins."""
    refused = api.faults.add(Fault("answer", "watch=true", status=403))
    assert await until(batches, "Synced") == ["RelistStarted", "Synced"]
    api.put(config_map("a"))
    assert await until(batches, "Synced") == ["RelistStarted", "a", "Synced"]
    api.faults.remove(refused)
    api.put(config_map("b"))
    assert await until(batches, "Added b") == ["Added b"]


async def test_retry_after_is_honoured(api: ApiServer, batches: Batches) -> None:
    await until(batches, "Synced")
    api.faults.add(Fault("answer", times=1, status=429, retry_after=33))
    began = asyncio.get_running_loop().time()
    api.faults.cut()
    api.put(config_map("a"))
    await until(batches, "Added a")
    assert 33 <= asyncio.get_running_loop().time() - began < 35


async def test_long_outage_is_reported_once_and_causes_few_requests(api: ApiServer, batches: Batches) -> None:
    await until(batches, "Synced")
    api.faults.add(Fault("answer", times=20, status=503))
    api.faults.cut()
    before = len(api.requests)
    began = asyncio.get_running_loop().time()
    assert await until(batches, "WatchRestored") == [f"WatchLost: {DOWN}", "WatchRestored"]
    assert asyncio.get_running_loop().time() - began > 150
    assert len(api.requests) - before == 21


async def test_half_an_event_is_not_lost(api: ApiServer, batches: Batches) -> None:
    await until(batches, "Synced")
    api.faults.add(Fault("garble", times=1))
    api.put(config_map("a"))
    assert await until(batches, "Added a") == ["Added a"]


async def test_version_that_cannot_be_resumed_leads_to_a_list(api: ApiServer, batches: Batches) -> None:
    await until(batches, "Synced")
    api.faults.add(Fault("garble", LISTING, times=1))
    api.faults.add(Fault("garble", RESUMING))
    api.put(config_map("a"))
    assert (await until(batches, "Synced"))[-3:] == ["a", "Synced", "WatchRestored"]


async def test_events_before_an_error_in_the_same_chunk_are_reported(api: ApiServer, batches: Batches) -> None:
    await until(batches, "Synced")
    added = {"type": "ADDED", "object": api.get(api.put(config_map("a")))}
    error = {"type": "ERROR", "object": {"kind": "Status", "code": 500, "reason": "InternalError"}}
    api.faults.add(Fault("drop"))
    await api.faults.inject(orjson.dumps(added) + b"\n" + orjson.dumps(error) + b"\n")
    assert (await until(batches, "Synced"))[0] == "Added a"


async def test_selectors_are_sent_to_the_server(api: ApiServer, watches: Watches) -> None:
    selection = Selection("v1", "cm", namespace="x", labels="app=web", fields="metadata.name=a")
    async with aclosing(watches.open(selection)) as batches:
        await until(batches, "Synced")
    (request,) = api.asked("watch")
    assert request.path == "/api/v1/namespaces/x/configmaps"
    assert (request.params["labelSelector"], request.params["fieldSelector"]) == ("app=web", "metadata.name=a")


@pytest.mark.parametrize("streams", [True, False])
async def test_metadata_only_watch_reports_nothing_else(api: ApiServer, watches: Watches, streams: bool) -> None:
    if not streams:
        cannot_stream_lists(api)
    listed = api.put(config_map("a", color="red"))
    async with aclosing(watches.open(Selection("v1", "ConfigMap", metadata_only=True))) as batches:
        told = [report async for reports in _to_listed(batches) for report in reports if isinstance(report, ObjectSeen)]
        changed = api.put(config_map("a", color="blue"))
        told += [report for report in await anext(batches) if isinstance(report, ObjectSeen)]
    assert [(str(item.key), set(item.obj)) for item in told] == [
        ("default/ConfigMap/a", {"apiVersion", "kind", "metadata"})
    ] * 2
    assert [item.obj["metadata"] for item in told] == [listed["metadata"], changed["metadata"]]


async def test_failures_are_counted_by_type(api: ApiServer, batches: Batches, metrics: Metrics) -> None:
    await until(batches, "Synced")
    api.faults.cut()
    reading = asyncio.ensure_future(until(batches, "Synced"))
    await waiting.until(lambda: len(api.asked("watch")) == 2 and api.faults.watching(), "it is resumed")
    await api.faults.expire()
    await reading
    text = metrics.exposition().decode()
    assert 'kubernetes_client_watch_errors_total{error_type="unexpected-eof"} 1\n' in text
    assert 'kubernetes_client_watch_errors_total{error_type="expired"} 1\n' in text
    assert 'kubernetes_watch_relists_total{gvr="v1/configmaps",namespace=""} 1\n' in text


async def test_relist_is_done_when_the_server_returns_another_shape(
    api: ApiServer, watches: Watches, batches: Batches
) -> None:
    api.put(config_map("a"))
    await until(batches, "Synced")
    watches.relist("", "configmaps")
    watches.relist("example.com", "configmaps")
    api.put(config_map("b"))
    assert await until(batches, "Added b") == ["Added b"]
    await asyncio.sleep(6)  # there may be a bookmark by now, or not
    api.put(config_map("c"))
    told = await until(batches, "Synced")
    assert told[told.index("RelistStarted") :] == ["RelistStarted", "a", "b", "c", "Synced"]
    api.put(config_map("d"))
    assert await until(batches, "Added d") == ["Added d"]
