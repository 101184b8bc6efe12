"""Crontabs against slow references: a walk through every minute by definition, croniter where it agrees, and
clock changes: 20 zones, four each.

Level: pure."""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st

from hookrunner import cron
from tests.examples import several
from tests.tables import each

ZONES = [
    "Africa/Cairo",
    "America/Chicago",
    "America/Havana",
    "America/Los_Angeles",
    "America/New_York",
    "America/Nuuk",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Asia/Jerusalem",
    "Asia/Tehran",
    "Australia/Adelaide",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Lisbon",
    "Pacific/Auckland",
    "Pacific/Chatham",
]
MINUTE, HOUR, DAY = 60, 3600, 86400
BOUNDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]


def clock(instant: int, zone: str) -> datetime:
    return datetime.fromtimestamp(instant, ZoneInfo(zone)).replace(tzinfo=None, fold=0)


@cache
def changes(zone: str) -> list[int]:
    """The first four instants from 2010 on at which the zone's offset changed; for Apia the day it skipped."""

    def starts(instants: range) -> list[int]:
        offsets = [(instant, datetime.fromtimestamp(instant, ZoneInfo(zone)).utcoffset()) for instant in instants]
        return [earlier[0] for earlier, later in pairwise(offsets) if earlier[1] != later[1]]

    days = starts(range(1_262_304_000, 1_420_070_400, DAY))  # 2010 to 2014
    return [instant + MINUTE for day in days[:4] for instant in starts(range(day, day + DAY + 1, MINUTE))]


def allows(text: str, value: int, bounds: tuple[int, int]) -> bool:
    for item in filter(None, text.split(",")):
        body, _, step = item.partition("/")
        low, high = (int(end) for end in body.split("-")) if "-" in body else (0, 0)
        if body in ("*", "?"):
            low, high = bounds
        elif "-" not in body:
            low, high = int(body), bounds[1] if step else int(body)
        if low <= value <= high and (value - low) % int(step or 1) == 0:
            return True
    return False


@cache
def matches(crontab: str, wall: datetime) -> bool:
    texts = crontab.split()
    values = [wall.minute, wall.hour, wall.day, wall.month, wall.isoweekday() % 7]
    minute, hour, day, month, weekday = (allows(*part) for part in zip(texts, values, BOUNDS, strict=True))
    star = any(mark in texts[2] + texts[4] for mark in "*?")
    return minute and hour and month and ((day and weekday) if star else (day or weekday))


def fires(crontab: str, zone: str, start: int, end: int) -> list[int]:
    """Every firing after `start` up to `end`, by looking at the clock each minute, as hookrunner/cron.py promises."""
    minute, hour = crontab.split()[:2]
    all_hours = all(allows(hour, value, (0, 23)) for value in range(24))
    repeats = all_hours or any(mark in minute for mark in "*?/")
    found, seen = [], set()
    before = clock(start - 27 * HOUR, zone)
    for instant in range(start - 26 * HOUR, end + 1, MINUTE):
        now = clock(instant, zone)
        skipped = [before + step * timedelta(minutes=1) for step in range(1, (now - before) // timedelta(minutes=1))]
        lived = [wall for wall in skipped if wall.date() in (before.date(), now.date())]
        owed = not all_hours and any(matches(crontab, wall) for wall in lived)
        if instant > start and (owed or (matches(crontab, now) and (repeats or now not in seen))):
            found.append(instant)
        seen.add(now)
        before = now
    return found


def firings(crontab: str, zone: str, start: int, end: int) -> list[int]:
    parsed, found = cron.parse(crontab, ZoneInfo(zone)), list[int]()
    moment = parsed.next_after(start)
    while moment is not None and moment <= end:
        found.append(int(moment))
        moment = parsed.next_after(moment)
    return found


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    single = number.map(str)
    span = st.lists(number, min_size=2, max_size=2, unique=True).map(lambda ends: f"{min(ends)}-{max(ends)}")
    stepped = st.tuples(st.sampled_from(["*", "?"]) | single | span, st.integers(1, 31)).map(lambda t: f"{t[0]}/{t[1]}")
    return st.lists(st.just("*") | single | single | span | stepped, min_size=1, max_size=3).map(",".join)


ANY = st.just("*")
CRONTABS = st.tuples(
    numbers(0, 59),
    ANY | numbers(0, 3) | numbers(0, 23),
    ANY | numbers(1, 31),
    ANY | numbers(1, 12),
    ANY | numbers(0, 6),
).map(" ".join)


@pytest.mark.slow
@settings(deadline=None, max_examples=several(50))  # a slow reference is slow
@given(
    crontab=CRONTABS,
    zone=st.sampled_from([*ZONES, "Pacific/Apia", "Africa/Casablanca", "UTC"]),
    change=st.integers(0, 3),
    lead=st.integers(-3 * HOUR, 30 * HOUR),
)
def test_a_crontab_fires_as_the_slow_reference_does(crontab: str, zone: str, change: int, lead: int) -> None:
    around = [*changes(zone), 1_700_000_000]
    start = (around[min(change, len(around) - 1)] - lead) // MINUTE * MINUTE
    end = start + 50 * HOUR
    assert firings(crontab, zone, start, end) == fires(crontab, zone, start, end)


@settings(deadline=None)
@given(crontab=CRONTABS, start=st.integers(0, 4_000_000_000))
def test_the_common_dialect_agrees_with_croniter(crontab: str, start: int) -> None:
    plain = crontab.replace("?", "*")
    either = not any("*" in plain.split()[place] for place in (2, 4))
    ours = cron.parse(plain, UTC).next_after(start)
    if ours is not None and ours - start < 40 * 366 * DAY:
        assert ours == croniter(plain, start, day_or=either, max_years_between_matches=50).get_next()


def spot(zone: str, change: int) -> tuple[datetime, int]:
    """A local time in the middle of what the change skips or repeats, and the instant at which it has to fire."""
    before, after = clock(change - MINUTE, zone) + timedelta(minutes=1), clock(change, zone)
    wall = min(before, after) + abs(after - before) / 2
    return wall, change if after > before else change - int((before - wall).total_seconds())


@pytest.mark.slow
@each("zone", ZONES)
@each("days", ["* * *", "{wall.day} * *", "* * {weekday}"], ids=["fixed", "dom", "dow"])
def test_a_fixed_time_fires_once_on_the_day_of_a_clock_change(zone: str, days: str) -> None:
    assert len(changes(zone)) == 4
    for change in changes(zone):
        wall, due = spot(zone, change)
        crontab = "{wall.minute} {wall.hour} " + days
        crontab = crontab.format(wall=wall, weekday=wall.isoweekday() % 7)
        fired = firings(crontab, zone, change - 3 * DAY, change + 3 * DAY)
        assert due in fired
        dates = [wall.date() if instant == due else clock(instant, zone).date() for instant in fired]
        expected = [wall.date() + timedelta(days=day) for day in range(-3, 4)] if days == "* * *" else [wall.date()]
        assert dates == [day for day in expected if day in dates]
        assert len(dates) >= len(expected) - 2  # the window may cut off the first and the last day


@pytest.mark.slow
@each("zone", ZONES)
def test_a_step_keeps_its_cadence_through_clock_changes(zone: str) -> None:
    for change in changes(zone):
        fired = firings("*/15 * * * *", zone, change - DAY, change + DAY)
        assert fired == [at for at in range(change - DAY + 1, change + DAY + 1) if at % 900 == 0]
