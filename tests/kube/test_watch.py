"""Watches against a fake server with faults, most in virtual time: the story told is complete, whatever happens.

R1, R2 and R3 of user-pains.md at this level; what a snapshot makes of a repeated list is tested in `tests/sources`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.model.resources import Selection
from hookrunner.model.watching import Item, Listed, Lost, Report
from tests.fakes.api import FakeApi, config_map
from tests.kube.stories import Story, until, words

pytestmark = pytest.mark.looptime

CONFIG_MAPS = Selection("v1", "ConfigMap")


@pytest.fixture
async def watches(client: Client, discovery: Discovery, metrics: Metrics) -> Watches:
    return Watches(client, discovery, metrics, idle=75.0)


@pytest.fixture
async def story(watches: Watches) -> AsyncIterator[Story]:
    async with aclosing(watches.open(CONFIG_MAPS)) as story:
        yield story


@pytest.mark.parametrize("streams", [True, False])
async def test_tells_the_list_and_then_each_change(api: FakeApi, story: Story, streams: bool) -> None:
    api.streams_lists = streams
    api.put(config_map("a"))
    assert await until(story, "Listed") == ["Listing", "a", "Listed"]
    api.put(config_map("b"))
    api.put(config_map("a", color="red"))
    api.delete("b")
    assert await until(story, "Deleted") == ["Added b", "Modified a", "Deleted b"]


async def test_listed_objects_are_complete(api: FakeApi, story: Story) -> None:
    api.streams_lists = False
    sent = api.put(config_map("a", color="red"))
    items = [report async for reports in _to_listed(story) for report in reports if isinstance(report, Item)]
    assert [(item.obj, item.version) for item in items] == [(sent, sent["metadata"]["resourceVersion"])]


async def _to_listed(story: Story) -> AsyncIterator[list[Report]]:
    async for reports in story:
        yield reports
        if any(isinstance(report, Listed) for report in reports):
            return


async def test_lists_in_pages_where_the_server_cannot_stream(api: FakeApi, story: Story) -> None:
    api.streams_lists = False
    for number in range(1001):
        api.put(config_map(f"m{number}"))
    told = await until(story, "Listed")
    assert len(told) == 1003
    assert [request.params.get("continue") for request in api.asked("list")] == [None, "500", "1000"]


async def test_takes_the_list_whole_when_pages_outlive_their_version(api: FakeApi, story: Story) -> None:
    api.streams_lists = False
    for number in range(501):
        api.put(config_map(f"m{number}"))
    assert words(await anext(story))[0] == "Listing"
    api.expire()
    assert len(await until(story, "Listed")) == 503
    assert [request.params["limit"] for request in api.asked("list")] == ["500", "500", "0"]


async def test_silence_is_resumed_without_loss_or_repetition(api: FakeApi, story: Story, metrics: Metrics) -> None:
    """R1: the server stops sending and keeps the connection."""
    await until(story, "Listed")
    api.put(config_map("before"))
    await until(story, "Added before")
    api.silent = True
    for name in "abcde":
        api.put(config_map(name))
    began = asyncio.get_running_loop().time()
    asyncio.get_running_loop().call_later(74, setattr, api, "silent", False)
    assert await until(story, "Added e") == [f"Added {name}" for name in "abcde"]
    assert asyncio.get_running_loop().time() - began <= 80
    assert b'kubernetes_watch_stalls_total{gvr="v1/configmaps",namespace=""} 1\n' in metrics.exposition()


async def test_silence_that_cannot_be_resumed_is_told_once(api: FakeApi, story: Story) -> None:
    await until(story, "Listed")
    api.silent = True
    api.failures = [(503, "down", {})] * 3
    assert await until(story, "Found") == ["Lost: refused: down", "Found"]


@pytest.mark.parametrize("as_event", [True, False])
async def test_an_expired_version_leads_to_one_more_list(api: FakeApi, story: Story, as_event: bool) -> None:
    """R2, both forms of 410."""
    for name in ("changed", "deleted", "same"):
        api.put(config_map(name))
    await until(story, "Listed")
    if as_event:
        api.tell(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}')
    else:
        api.cut()
    api.put(config_map("changed", color="red"))
    api.put(config_map("new"))
    api.delete("deleted")
    api.expire()
    told = await until(story, "Listed")
    assert sorted(told) == ["Listed", "Listing", "changed", "new", "same"]
    lists = [request for request in api.asked("watch") if "sendInitialEvents" in request.params]
    assert len(lists) == 2


async def test_lists_that_expire_at_once_are_spaced(api: FakeApi, story: Story) -> None:
    gone = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}'
    began = asyncio.get_running_loop().time()
    for _ in range(8):
        await until(story, "Listed")
        api.tell(gone)
    assert asyncio.get_running_loop().time() - began > 5


@pytest.mark.parametrize("streams", [True, False])
async def test_resumes_from_the_version_of_the_list(api: FakeApi, story: Story, streams: bool) -> None:
    """R3: objects come in any order, the oldest last."""
    api.streams_lists = streams
    listed = api.put(config_map("young"))["metadata"]["resourceVersion"]
    api.put(config_map("old"), version=7)
    await until(story, "Listed")
    api.cut()
    api.put(config_map("next"))
    assert await until(story, "Added") == ["Added next"]
    assert api.asked("watch")[-1].params["resourceVersion"] == listed


async def test_resumes_from_a_bookmark(api: FakeApi, story: Story) -> None:
    await until(story, "Listed")
    api.bookmark()
    marked = api.version
    api.put(config_map("a"))
    await until(story, "Added a")
    assert api.asked("watch")[0].params["allowWatchBookmarks"] == "true"
    api.bookmark()
    api.cut()
    api.put(config_map("b"))
    await until(story, "Added b")
    assert int(api.asked("watch")[-1].params["resourceVersion"]) > marked


async def test_an_unknown_kind_is_awaited(api: FakeApi, watches: Watches) -> None:
    async with aclosing(watches.open(Selection("example.com/v1", "Widget"))) as story:
        (lost,) = await anext(story)
        assert isinstance(lost, Lost)
        assert not lost.brief
        assert "CustomResourceDefinition" in lost.reason
        api.kinds.append(("example.com/v1", "Widget", "widgets", [], True))
        assert await until(story, "Listed") == ["Found", "Listing", "Listed"]


async def test_a_kind_that_comes_late_is_found_within_seconds(api: FakeApi, watches: Watches) -> None:
    loop = asyncio.get_running_loop()
    async with aclosing(watches.open(Selection("example.com/v1", "Widget"))) as story:
        await anext(story)
        waiting = asyncio.ensure_future(until(story, "Listed"))
        await asyncio.wait([waiting], timeout=300)
        api.kinds.append(("example.com/v1", "Widget", "widgets", [], True))
        began = loop.time()
        await waiting
        assert loop.time() - began <= 5.5


@pytest.mark.parametrize(("status", "brief"), [(403, False), (400, False), (500, True), (503, True)])
async def test_a_refused_list_is_told_and_tried_again(api: FakeApi, story: Story, status: int, brief: bool) -> None:
    await api_is_known(api, story)
    api.expire()
    api.cut()
    api.put(config_map("a"))
    api.failures = [(410, "Expired", {}), *[(status, "because", {})] * 3]
    (lost,) = await anext(story)
    assert lost == Lost("refused: because", brief)
    assert "Listed" in await until(story, "Listed")


async def api_is_known(api: FakeApi, story: Story) -> None:
    """Discovery and first list are done, so that failures hit what follows."""
    await until(story, "Listed")


async def test_retry_after_is_honoured(api: FakeApi, story: Story) -> None:
    await until(story, "Listed")
    api.failures = [(429, "TooManyRequests", {"Retry-After": "33"})]
    began = asyncio.get_running_loop().time()
    api.cut()
    api.put(config_map("a"))
    await until(story, "Added a")
    assert 33 <= asyncio.get_running_loop().time() - began < 35


async def test_a_long_outage_is_asked_about_rarely_and_told_once(api: FakeApi, story: Story) -> None:
    await until(story, "Listed")
    api.failures = [(503, "down", {})] * 20
    api.cut()
    before = len(api.requests)
    began = asyncio.get_running_loop().time()
    assert await until(story, "Found") == ["Lost: refused: down", "Found"]
    assert asyncio.get_running_loop().time() - began > 150
    assert len(api.requests) - before == 21


async def test_half_an_event_is_not_lost(api: FakeApi, story: Story) -> None:
    await until(story, "Listed")
    api.tell(b'{"type":"ADDED","object":{"meta')
    api.put(config_map("a"))
    assert await until(story, "Added a") == ["Added a"]


async def test_a_version_that_cannot_be_resumed_is_given_up_for_a_list(api: FakeApi, story: Story) -> None:
    await until(story, "Listed")
    api.tell(b"poison", again=True)
    api.put(config_map("a"))
    assert (await until(story, "Listed"))[-2:] == ["a", "Listed"]


async def test_events_before_an_error_in_the_same_chunk_are_told(api: FakeApi, story: Story) -> None:
    await until(story, "Listed")
    api.put(config_map("a"))
    api.tell(b'{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError"}}')
    assert (await until(story, "Listed"))[0] == "Added a"


async def test_only_the_selected_is_asked_for(api: FakeApi, watches: Watches) -> None:
    selection = Selection("v1", "cm", namespace="x", labels="app=web", fields="metadata.name=a")
    async with aclosing(watches.open(selection)) as story:
        await until(story, "Listed")
    (request,) = api.asked("watch")
    assert request.path == "/api/v1/namespaces/x/configmaps"
    assert (request.params["labelSelector"], request.params["fieldSelector"]) == ("app=web", "metadata.name=a")


async def test_failures_are_counted_by_type(api: FakeApi, story: Story, metrics: Metrics) -> None:
    await until(story, "Listed")
    api.cut()
    api.tell(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}')
    await until(story, "Listed")
    text = metrics.exposition().decode()
    assert 'kubernetes_client_watch_errors_total{error_type="unexpected-eof"} 1\n' in text
    assert 'kubernetes_client_watch_errors_total{error_type="expired"} 1\n' in text
    assert 'kubernetes_watch_relists_total{gvr="v1/configmaps",namespace=""} 1\n' in text
