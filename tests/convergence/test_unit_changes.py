"""Readers of changes see each unit that has changed, once."""

import asyncio
import gc

import pytest

from hookrunner.convergence.unit_changes import UnitChanges

pytestmark = pytest.mark.looptime


async def test_reader_gets_each_changed_unit_once_in_order() -> None:
    changes = UnitChanges()
    feed = changes.subscribe()
    for unit in ("b", "a", "b"):
        changes.note(unit)
    assert await feed.next_batch() == ("b", "a")
    waiting = asyncio.create_task(feed.next_batch())
    await asyncio.sleep(1)
    assert not waiting.done()
    changes.note("a")
    assert await waiting == ("a",)


async def test_each_reader_has_its_own_changes_from_when_it_subscribed() -> None:
    changes = UnitChanges()
    first = changes.subscribe()
    changes.note("a")
    second = changes.subscribe()
    changes.note("b")
    assert (await first.next_batch(), await second.next_batch()) == (("a", "b"), ("b",))


async def test_feed_without_a_reader_is_forgotten() -> None:
    changes = UnitChanges()
    changes.subscribe()
    gc.collect()
    assert len(changes._feeds) == 0
