"""Watches in virtual time; what they tell of objects is in `contract/test_watches.py`. Level: pure."""

import asyncio

import orjson
import pytest

from kubesandbox import kinds
from kubesandbox.kinds import Kinds
from kubesandbox.query.requests import ListParameters
from kubesandbox.store import Kept, Key, Store
from kubesandbox.verbs import watching
from kubesandbox.verbs.gate import UNCONVERTED
from kubesandbox.verbs.watching import BOOKMARK_SECONDS, Event, WatchSources

pytestmark = pytest.mark.looptime


def version(event: Event) -> str:
    return str(orjson.loads(event.body)["metadata"]["resourceVersion"])


async def told(store: Store, seconds: float, bookmarks: bool = True) -> list[Event]:
    """The events of a watch of ConfigMaps that lasts so long."""
    every = Kinds(kinds.builtin())
    kind = every.of_stored("configmaps")
    assert kind is not None
    watch = watching.opened(store, kind, "", ListParameters(watch=True, version=store.revision, bookmarks=bookmarks))
    deadline = asyncio.get_running_loop().time() + seconds
    return [event async for event in watching.events(WatchSources(store, every, UNCONVERTED), watch, deadline)]


async def test_a_bookmark_comes_every_minute_though_nothing_happens() -> None:
    store = Store()
    found = await told(store, 3 * BOOKMARK_SECONDS)
    assert [(event.type, version(event)) for event in found] == [("BOOKMARK", str(store.revision))] * 3


async def test_a_bookmark_has_the_revision_of_other_kinds() -> None:
    store = Store()
    asyncio.get_running_loop().call_later(70, store.put, Key("pods", "x", "a"), {"metadata": {}})
    first, second = await told(store, 2 * BOOKMARK_SECONDS)
    assert int(version(second)) == int(version(first)) + 1


async def test_a_watch_without_bookmarks_gets_none() -> None:
    assert await told(Store(), 3 * BOOKMARK_SECONDS, bookmarks=False) == []


async def test_what_happens_while_the_last_event_is_sent_is_not_skipped_by_the_bookmark() -> None:
    store, loop = Store(), asyncio.get_running_loop()
    every = Kinds(kinds.builtin())
    kind = every.of_stored("configmaps")
    assert kind is not None
    options = ListParameters(watch=True, version=store.revision, bookmarks=True)
    watch = watching.opened(store, kind, "", options)
    put(store, "first")
    seen = []
    async for event in watching.events(WatchSources(store, every, UNCONVERTED), watch, loop.time() + 1):
        seen.append((event.type, version(event)))
        if len(seen) == 1:
            put(store, "second")
            await asyncio.sleep(2)  # a slow client: the time of the watch is over meanwhile
    assert seen == [("ADDED", str(store.revision - 1)), ("BOOKMARK", str(store.revision - 1))]


async def test_a_watch_of_a_quiet_kind_lives_on_though_others_fill_the_history() -> None:
    store, loop = Store(kept=Kept(revisions=10)), asyncio.get_running_loop()
    for _ in range(100):
        loop.call_later(1, put, store, "pod", "pods")
    loop.call_later(2, put, store, "a")
    found = await told(store, 3, bookmarks=False)
    assert [event.type for event in found] == ["ADDED"]


def put(store: Store, name: str, resource: str = "configmaps") -> None:
    store.put(Key(resource, "x", name), {"metadata": {"name": name}})
