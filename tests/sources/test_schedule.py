"""Ticks in virtual time: the loop's clock is looptime's, the wall clock hangs on it and can be set.

Covered: sharing, counting, lateness, set clocks, sleeping. What a crontab means: tests/test_cron.py.

Level: pure.
"""

import asyncio
import time
from datetime import UTC, datetime

import pytest

from hookrunner.errors import BadCrontab
from hookrunner.model.events import Ticked
from hookrunner.sources.schedule import Schedules, WallClock
from tests.tables import each

pytestmark = pytest.mark.looptime

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp()
MINUTELY = "TZ=UTC * * * * *"


class SetClock(WallClock):
    """Shows `start` when made, runs with the loop, can be set, and remembers how often it was read."""

    def __init__(self, start: float = NOON) -> None:
        self.ahead = start - asyncio.get_running_loop().time()
        self.looks = 0

    def now(self) -> float:
        self.looks += 1
        return asyncio.get_running_loop().time() + self.ahead

    def jump(self, seconds: float) -> None:
        self.ahead += seconds


async def ticks(schedules: Schedules, seconds: float) -> list[Ticked]:
    """Every tick in the coming seconds."""
    fired = []
    try:
        async with asyncio.timeout(seconds):
            async for tick in schedules:
                fired.append(tick)
    except TimeoutError:
        pass
    return fired


async def due_times(schedules: Schedules, seconds: float) -> list[float]:
    """When the ticks in the coming seconds were due, in seconds after noon."""
    return [tick.at - NOON for tick in await ticks(schedules, seconds)]


async def test_an_armed_crontab_ticks_when_it_is_due() -> None:
    clock = SetClock(NOON + 30.5)
    schedules = Schedules(clock)
    schedules.arm(MINUTELY)
    assert await anext(schedules) == Ticked(MINUTELY, NOON + 60)
    assert clock.now() == NOON + 60


async def test_crontabs_tick_in_the_order_in_which_they_are_due() -> None:
    schedules = Schedules(SetClock())
    for crontab in ("TZ=UTC */2 * * * *", "@every 50s", MINUTELY):
        schedules.arm(crontab)
    fired = [(tick.crontab, tick.at - NOON) for tick in await ticks(schedules, 125)]
    every, minute, other = "@every 50s", MINUTELY, "TZ=UTC */2 * * * *"
    assert fired == [(every, 50), (minute, 60), (every, 100), (other, 120), (minute, 120)]


async def test_hooks_with_the_same_crontab_share_one_tick_until_the_last_leaves() -> None:
    schedules = Schedules(SetClock())
    schedules.arm(MINUTELY)
    schedules.arm(MINUTELY)
    assert await due_times(schedules, 61) == [60]
    schedules.disarm(MINUTELY)
    assert await due_times(schedules, 60) == [120]
    schedules.disarm(MINUTELY)
    assert await due_times(schedules, 600) == []


async def test_a_hundred_arms_and_disarms_leave_one_tick() -> None:
    schedules = Schedules(SetClock())
    for _ in range(100):
        schedules.arm(MINUTELY)
        schedules.disarm(MINUTELY)
    schedules.arm(MINUTELY)
    assert await due_times(schedules, 121) == [60, 120]


@pytest.mark.slow
async def test_the_same_crontab_in_another_zone_ticks_for_itself() -> None:
    schedules = Schedules(SetClock())
    for zone in ("Asia/Kolkata", "UTC", "Europe/Berlin"):
        schedules.arm("0 15 * * *", zone)
    fired = [(tick.timezone, (tick.at - NOON) / 3600) for tick in await ticks(schedules, 86400)]
    assert fired == [("Europe/Berlin", 1), ("UTC", 3), ("Asia/Kolkata", 21.5)]


async def test_arming_wakes_the_reader_that_sleeps_for_something_later() -> None:
    schedules = Schedules(SetClock())
    schedules.arm("TZ=UTC 0 0 1 1 *")
    reader = asyncio.create_task(anext(schedules))
    await asyncio.sleep(0)
    schedules.arm("@every 5s")
    assert await reader == Ticked("@every 5s", NOON + 5)
    assert asyncio.get_running_loop().time() == 5


async def test_the_first_time_counts_from_the_arming_and_not_from_the_last_wake_up() -> None:
    clock = SetClock()
    schedules = Schedules(clock)
    assert await ticks(schedules, 300) == []
    schedules.arm(MINUTELY)
    schedules.arm("@every 70s")
    assert await due_times(schedules, 75) == [360, 370]


async def test_missed_ticks_come_as_one() -> None:
    clock = SetClock()
    schedules = Schedules(clock)
    schedules.arm("TZ=UTC * * * * * *")
    schedules.arm("@every 7s")
    clock.jump(3600.5)
    assert await due_times(schedules, 7) == [1, 7, *range(3601, 3606), *range(3605, 3608)]


async def test_a_clock_set_forward_is_noticed_within_a_minute() -> None:
    clock = SetClock()
    schedules = Schedules(clock)
    schedules.arm("TZ=UTC 0 20 * * *")
    reader = asyncio.create_task(anext(schedules))
    await asyncio.sleep(0)
    clock.jump(8 * 3600)
    assert await reader == Ticked("TZ=UTC 0 20 * * *", NOON + 8 * 3600)
    assert asyncio.get_running_loop().time() <= 60


@each("back", [1, 59, 61, 1800])
async def test_a_clock_set_back_fires_no_minute_again(back: float) -> None:
    clock = SetClock()
    schedules = Schedules(clock)
    schedules.arm(MINUTELY)
    assert await due_times(schedules, 121) == [60, 120]
    clock.jump(-back)
    assert await due_times(schedules, back + 121) == [180, 240]


async def test_schedules_go_on_after_a_clock_is_set_back_by_years() -> None:
    clock = SetClock()
    schedules = Schedules(clock)
    schedules.arm(MINUTELY)
    schedules.arm("@every 90s")
    reader = asyncio.create_task(ticks(schedules, 300))
    await asyncio.sleep(0)
    clock.jump(-5 * 365 * 86400)
    assert {tick.crontab for tick in await reader} == {MINUTELY, "@every 90s"}


async def test_small_steps_back_add_up_to_a_large_one() -> None:
    clock = SetClock()
    schedules = Schedules(clock)
    schedules.arm(MINUTELY)
    for _ in range(2):
        clock.jump(-2400)
        fired = await ticks(schedules, 120)
    assert len(fired) >= 1


async def test_clock_is_not_read_while_no_schedule_is_armed() -> None:
    clock = SetClock()
    schedules = Schedules(clock)
    schedules.arm("TZ=UTC 0 0 30 2 *")
    before = clock.looks
    assert await ticks(schedules, 86400) == []
    assert clock.looks - before == 1


async def test_a_distant_time_costs_one_look_a_minute() -> None:
    clock = SetClock()
    schedules = Schedules(clock)
    schedules.arm("TZ=UTC 0 0 1 1 *")
    before = clock.looks
    assert await ticks(schedules, 3601) == []
    assert clock.looks - before == 61


async def test_a_cancelled_reader_loses_no_tick() -> None:
    schedules = Schedules(SetClock())
    schedules.arm(MINUTELY)
    assert await ticks(schedules, 59.5) == []
    assert await due_times(schedules, 1) == [60]


@each(("crontab", "zone"), [("61 * * * *", ""), ("* * * * *", "Mars/Olympus")])
async def test_unreadable_crontab_is_not_armed(crontab: str, zone: str) -> None:
    schedules = Schedules(SetClock())
    with pytest.raises(BadCrontab):
        schedules.arm(crontab, zone)
    with pytest.raises(KeyError):
        schedules.disarm(crontab, zone)


@pytest.mark.slow
async def test_without_another_clock_the_machines_is_used() -> None:
    schedules = Schedules()
    before = time.time()
    schedules.arm("TZ=UTC * * * * * *")
    assert before < (await anext(schedules)).at <= time.time()
