"""Readers of changes see each unit that has changed, once."""

import asyncio
import gc

import pytest

from hookrunner.convergence.unit_changes import CALM, MOST_PAUSES, UnitChanges

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


async def test_batch_may_be_empty_after_the_longest_wait() -> None:
    assert await UnitChanges().subscribe().next_batch(5.0) == ()
    assert asyncio.get_running_loop().time() == pytest.approx(5.0, abs=0.01)


async def test_feed_without_a_reader_is_forgotten() -> None:
    changes = UnitChanges()
    changes.subscribe()
    gc.collect()
    assert len(changes._feeds) == 0


async def test_calm_batch_has_all_that_changes_until_nothing_does() -> None:
    changes = UnitChanges()
    feed = changes.subscribe()
    waiting = asyncio.create_task(feed.next_calm_batch())
    for unit in ("b", "a", "b"):
        changes.note(unit)
        await asyncio.sleep(0.8 * CALM)
        assert not waiting.done()
    assert await waiting == ("b", "a")
    assert await feed.next_calm_batch(5.0) == ()


async def test_calm_batch_ends_though_there_is_always_a_change() -> None:
    changes = UnitChanges()
    feed = changes.subscribe()
    waiting = asyncio.create_task(feed.next_calm_batch())
    for _ in range(4 * MOST_PAUSES):
        changes.note("a")
        await asyncio.sleep(0.3 * CALM)
    assert waiting.done()
    assert asyncio.get_running_loop().time() == pytest.approx(1.2 * MOST_PAUSES * CALM)
