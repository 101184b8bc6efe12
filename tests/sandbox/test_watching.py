"""Watches in virtual time; what they tell of objects is in `contract/test_watches.py`."""

import asyncio

import orjson
import pytest

from hookrunner.sandbox import kinds, watching
from hookrunner.sandbox.requests import ListOptions
from hookrunner.sandbox.store import Key, Store
from hookrunner.sandbox.watching import BOOKMARK_SECONDS, Event

pytestmark = pytest.mark.looptime


def version(event: Event) -> str:
    return str(orjson.loads(event.body)["metadata"]["resourceVersion"])


async def told(store: Store, seconds: float, bookmarks: bool = True) -> list[Event]:
    """The events of a watch of ConfigMaps that lasts so long."""
    kind = next(kind for kind in kinds.builtin() if kind.plural == "configmaps")
    watch = watching.opened(store, kind, "", ListOptions(watch=True, version=store.revision, bookmarks=bookmarks))
    deadline = asyncio.get_running_loop().time() + seconds
    return [event async for event in watching.events(store, watch, deadline)]


async def test_a_bookmark_comes_every_minute_though_nothing_happens() -> None:
    store = Store()
    found = await told(store, 3 * BOOKMARK_SECONDS)
    assert [(event.type, version(event)) for event in found] == [("BOOKMARK", str(store.revision))] * 3


async def test_a_bookmark_tells_how_far_others_have_come() -> None:
    store = Store()
    asyncio.get_running_loop().call_later(70, store.put, Key("pods", "x", "a"), {"metadata": {}})
    first, second = await told(store, 2 * BOOKMARK_SECONDS)
    assert int(version(second)) == int(version(first)) + 1


async def test_who_wants_no_bookmarks_gets_none() -> None:
    assert await told(Store(), 3 * BOOKMARK_SECONDS, bookmarks=False) == []
