"""Passes of loops: at common times, never too close, and none after a stop; in virtual time. Level: pure."""

import asyncio
from itertools import pairwise

import pytest

from hookrunner.controllers.pass_clock import PassClock, next_tick
from tests.fakes.cluster import settle

pytestmark = pytest.mark.looptime


async def at_once(stopped: asyncio.Event) -> bool:
    return not stopped.is_set()


async def note_passes(clock: PassClock, times: list[float], seconds: float = 0.0) -> None:
    while await clock.wait_for_pass(at_once):
        times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(seconds)


def test_passes_begin_at_multiples_of_the_period_half_a_period_apart_at_least() -> None:
    rows = {
        "on time": (20.0, 20.0, 30.0),
        "after a short pass": (20.0, 24.0, 30.0),
        "after a pass of more than a period": (20.0, 31.0, 40.0),
        "after a first pass soon before a multiple": (17.0, 17.0, 30.0),
        "after a first pass soon after one": (12.0, 12.0, 20.0),
        "a timer that went off a little early": (19.9999, 19.9999, 30.0),
    }
    assert {what: next_tick(began, now, 10.0) for what, (began, now, _) in rows.items()} == {
        what: due for what, (_, _, due) in rows.items()
    }


async def test_loops_that_began_apart_come_together() -> None:
    often, seldom = PassClock(10.0), PassClock(30.0)
    times: list[list[float]] = [[], []]
    loops = [asyncio.create_task(note_passes(often, times[0], 3.0))]
    await asyncio.sleep(2)
    loops.append(asyncio.create_task(note_passes(seldom, times[1])))
    await asyncio.sleep(60)
    often.stop()
    seldom.stop()
    await asyncio.gather(*loops)
    begin = times[0][0]
    assert [round(time - begin) for time in times[0]] == [0, 10, 20, 30, 40, 50, 60]
    assert len(times[1]) > 1
    assert set(times[1][1:]) < set(times[0])


async def test_stop_ends_the_wait_for_a_pass_and_for_what_it_needs() -> None:
    async def never(stopped: asyncio.Event) -> bool:
        await stopped.wait()
        return True

    clock, times = PassClock(1000.0), list[float]()
    resting = asyncio.create_task(note_passes(clock, times))
    waiting = PassClock(1000.0)
    unready = asyncio.create_task(waiting.wait_for_pass(never))
    await settle()
    clock.stop()
    waiting.stop()
    assert await unready is False
    await resting
    assert len(times) == 1


async def test_pass_is_repeated_after_the_exact_time_that_it_names_and_then_at_its_period() -> None:
    clock, times = PassClock(10.0), list[float]()
    for pause in (3.0, 33.0, None, None):
        assert await clock.wait_for_pass(at_once)
        times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1)
        clock.repeat_after(pause)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps[:2] == pytest.approx([4, 34])
    assert round(times[-1]) % 10 == 0
