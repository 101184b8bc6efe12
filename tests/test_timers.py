"""Waits for a point in time end, however its number is rounded. Level: pure."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetypes.timers import pause, timeout_at
from tests.fakes.clocks import awkward, run_watched
from tests.tables import each

AGES = st.floats(0, 1e7)
"""Seconds that a clock shows: four months. Later asyncio itself stops a virtual clock, since adding the resolution to
its time makes no difference any more; a real one goes on."""


@given(now=AGES, seconds=st.floats(-1e6, 1e6))
def test_every_pause_advances_time(now: float, seconds: float) -> None:
    slept = now + pause(now + seconds, now)
    assert slept > now
    assert slept >= now + seconds or slept == pytest.approx(now + seconds)


@given(start=AGES, seconds=st.floats(0, 1e5))
def test_a_wait_for_any_moment_ends(start: float, seconds: float) -> None:
    run_watched(sleep(seconds), start)


@each("seconds", [5.0, 0.2, 1.1])
def test_a_wait_ends_where_the_timer_is_early(seconds: float) -> None:
    run_watched(sleep(seconds), awkward(seconds))


async def sleep(seconds: float) -> None:
    """Until the clock shows so many seconds more, and nothing happens meanwhile."""
    now = asyncio.get_running_loop().time
    due = now() + seconds
    while now() < due:
        with suppress(TimeoutError):
            async with timeout_at(due, now()):
                await asyncio.Event().wait()


async def test_without_a_moment_there_is_no_timeout() -> None:
    async with timeout_at(None, 0.0) as timeout:
        assert timeout.when() is None
