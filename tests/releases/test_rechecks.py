"""When objects are read again, and that nothing stays of objects whose release is forgotten. Level: pure."""

import asyncio
import gc

import pytest

from hookrunner.releases.drift import TrackedReleases
from hookrunner.releases.drift_checks import DriftBackoff, RecheckQueue
from hookrunner.releases.manifest_objects import ObjectId, ReleaseId, object_id
from tests.fakes.objects import config_map

pytestmark = pytest.mark.looptime
HOME = ReleaseId("a", "default")


def id_of(name: str) -> ObjectId:
    return object_id(config_map(name), HOME)


async def test_objects_that_are_discarded_are_not_read_and_hold_up_no_other() -> None:
    queue = RecheckQueue()
    for seconds, name in enumerate("abc", 1):
        queue.add_after(id_of(name), float(seconds))
    queue.discard([id_of("a"), id_of("b"), id_of("unknown")])
    assert await queue.take() == id_of("c")
    assert asyncio.get_running_loop().time() == pytest.approx(3.0)


async def test_object_that_is_discarded_when_it_is_due_is_not_read() -> None:
    """The reader wakes up, and finds the queue changed."""
    queue, loop = RecheckQueue(), asyncio.get_running_loop()
    queue.add_after(id_of("a"), 1.0)
    queue.add_after(id_of("b"), 1.0)
    queue.add_after(id_of("c"), 3600.0)
    loop.call_at(loop.time() + 1.0, queue.discard, [id_of("a"), id_of("b")])
    loop.call_later(10.0, queue.discard, [id_of("c")])
    loop.call_later(20.0, queue.add, id_of("d"))
    assert await queue.take() == id_of("d")
    assert loop.time() == pytest.approx(20.0)


async def test_discarded_object_can_be_added_again() -> None:
    queue = RecheckQueue()
    queue.add_after(id_of("a"), 3600.0)
    queue.discard([id_of("a")])
    queue.add_after(id_of("a"), 1.0)
    assert await queue.take() == id_of("a")


@pytest.mark.slow
async def test_nothing_stays_of_a_thousand_objects_that_were_discarded() -> None:
    queue, before = RecheckQueue(), _living()
    for number in range(1000):
        queue.add_after(id_of(str(number)), 3600.0)
        queue.discard([id_of(str(number))])
    assert _living() == before


def test_object_that_was_forgotten_begins_with_the_first_delay() -> None:
    backoff = DriftBackoff()
    for now in (0.0, 1.0, 2.0):
        backoff.mark_changed(id_of("a"), now)
    assert backoff.delay(id_of("a"), 3.0) == 64.0
    backoff.forget(id_of("a"))
    assert backoff.delay(id_of("a"), 3.0) == 1.0


def test_object_that_another_release_has_taken_is_that_of_the_first_again_when_the_other_has_ended() -> None:
    tracked = TrackedReleases()
    tracked.put(HOME, [config_map("a"), config_map("b")], "missing")
    tracked.put(ReleaseId("other", "default"), [config_map("b")], "missing")
    assert tracked.ids(HOME) == [id_of("a")]
    assert tracked.ids(ReleaseId("unknown", "default")) == []
    tracked.drop(ReleaseId("other", "default"))
    assert (tracked.ids(HOME), tracked.active(id_of("b"))) == ([id_of("a"), id_of("b")], tracked.release(HOME))


def _living() -> int:
    gc.collect()
    return sum(type(thing) is ObjectId for thing in gc.get_objects())
