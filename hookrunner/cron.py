"""Crontab text in, the next times that it fires out. Pure: no clock is read here and nothing waits.

The dialect is shell-operator's (robfig/cron v2) with `CRON_TZ=` and Sunday as 7 on top.
Times are whole epoch seconds as floats; local time exists only inside.

What daylight saving does depends on what the crontab names:

* All 24 hours (`*/15 * * * *`): it follows the clock on the wall, whatever that shows. `*/15` stays 15 real minutes.
* Some hours (`30 2 * * *`): each named time counts once a day. One that the clock skips fires when the gap ends, one
  that the clock shows twice fires the first time. A day that the zone skipped (Apia, 2011-12-30) owes nothing.
* Some hours, with `*` or a step for the minutes (`*/15 0-5 * * *`): both, so the repeated hour has no hole in it.

Not here: `L`, `W`, `#` (refused), and what to do when late (`sources/schedule`).
"""

import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from datetime import date, datetime, time, timedelta, tzinfo
from math import floor
from typing import TypeAlias
from zoneinfo import ZoneInfo

from hookrunner.errors import BadCrontab
from hookrunner.options import duration
from kubetypes.light_dataclasses import dataclass

_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_ITEM = re.compile(r"(?:([*?])|([^-/*?]+)(?:-([^-/*?]+))?)(?:/([^-/*?]+))?")
_NUMBER = re.compile(r"\+?[0-9]{1,9}")

_EPOCH = datetime(1970, 1, 1)
_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)
_HORIZON = timedelta(days=41 * 366)
"""How far to search. A 29 February on a given weekday can be 40 years away (2100 is no leap year)."""
_SHIFT = 26 * 3600
"""More seconds than any zone's clock has ever moved by at once (24 h)."""


@dataclass(frozen=True, slots=True)
class Every:
    """`@every <duration>`: a fixed period in whole seconds, at least 1, independent of calendar and zone."""

    period: int

    def next_after(self, moment: float, armed: float = 0.0) -> float:
        """The first time after `moment` that is a whole number of periods away from `armed` (rounded down)."""
        start = floor(armed)
        return float(start + ((floor(moment) - start) // self.period + 1) * self.period)


@dataclass(frozen=True, slots=True)
class Calendar:
    """A crontab of five or six fields. `weekdays` count from Sunday = 0. `zone` None is the process's local time."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    both_days: bool
    """Day of month and day of week must both match; otherwise one is enough."""
    cadence: bool
    """Fires again when the clock repeats an hour."""
    zone: tzinfo | None = None

    def next_after(self, moment: float, armed: float = 0.0) -> float | None:
        """The first time after `moment` at which this fires; None if it never does (30 February).

        All times are epoch seconds. `armed` is there for `Every`'s sake and means nothing here.
        """
        start = floor(moment)
        named = self._next_named(start) if len(self.hours) < 24 else None
        shown = self._next_shown(start) if self.cadence else None
        instants = [float(instant) for instant in (named, shown) if instant is not None]
        return min(instants, default=None)

    def _next_named(self, start: int) -> int | None:
        """The next instant at which the clock reaches or jumps over a matching time of a day that there was."""
        wall: datetime | None = _wall(start, self.zone)
        while wall and (wall := self._wall_after(wall)):
            instant = _arrival(wall, self.zone)
            lived = wall.date() in (_wall(instant, self.zone).date(), _wall(instant - 1, self.zone).date())
            if instant > start and lived:
                return instant
        return None

    def _next_shown(self, start: int) -> int | None:
        """The next instant at which the clock shows a matching time, also for the second time.

        Guesses with the offset from UTC in force at the start and the one a good day later, then looks at the clock.
        A guess further away than that is only approached: other offsets may be in force on the way.
        """
        while True:
            guesses = [self._guess(start, _offset(near, self.zone)) for near in (start, start + _SHIFT)]
            instant = min((guess for guess in guesses if guess is not None), default=None)
            if instant is None:
                return None
            if instant - start > _SHIFT:
                start = instant - _SHIFT
                continue
            wall = _wall(instant, self.zone)
            if self._wall_after(wall - _SECOND) == wall:
                return instant
            start = instant

    def _guess(self, start: int, offset: timedelta) -> int | None:
        wall = self._wall_after(_EPOCH + start * _SECOND + offset)
        return None if wall is None else (wall - offset - _EPOCH) // _SECOND

    def _wall_after(self, wall: datetime) -> datetime | None:
        """The next matching wall-clock time, zones left out."""
        if self._is_day(wall) and (later := self._same_day_after(wall)):
            return later
        day = self._day_after(wall.date())
        first = time(self.hours[0], self.minutes[0], self.seconds[0])
        return None if day is None else datetime.combine(day, first)

    def _same_day_after(self, wall: datetime) -> datetime | None:
        if wall.hour in self.hours:
            if wall.minute in self.minutes and (second := _above(self.seconds, wall.second)) is not None:
                return wall.replace(second=second)
            if (minute := _above(self.minutes, wall.minute)) is not None:
                return wall.replace(minute=minute, second=self.seconds[0])
        hour = _above(self.hours, wall.hour)
        return None if hour is None else wall.replace(hour=hour, minute=self.minutes[0], second=self.seconds[0])

    def _day_after(self, day: date) -> date | None:
        last = day + _HORIZON
        while day < last:
            day += _DAY
            if day.month not in self.months:
                day = day.replace(day=monthrange(day.year, day.month)[1])
            elif self._is_day(day):
                return day
        return None

    def _is_day(self, day: date) -> bool:
        matches = (day.day in self.days, day.isoweekday() % 7 in self.weekdays)
        return day.month in self.months and (all(matches) if self.both_days else any(matches))


Crontab: TypeAlias = Calendar | Every


def parse(text: str, zone: tzinfo | None = None) -> Crontab:
    """Read a crontab. A `TZ=` or `CRON_TZ=` prefix wins over `zone`; with neither it runs on the process's local time.

    Raises BadCrontab: the field and what is allowed there.
    """
    words = text.split()
    try:
        if words and words[0].startswith(("TZ=", "CRON_TZ=")):
            zone = time_zone(words.pop(0).partition("=")[2])
        if len(words) == 2 and words[0] == "@every":
            return Every(_period(words[1]))
        if len(words) == 1:
            words = _DESCRIPTORS.get(words[0], words[0]).split()
        return _calendar(words, zone)
    except BadCrontab as error:
        raise BadCrontab(f"crontab: {error}") from None


def time_zone(name: str) -> ZoneInfo:
    """A zone by its IANA name. Raises BadCrontab."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # what ZoneInfo raises for unknown names, paths and directories
        raise BadCrontab("time zone is not known; write an IANA name such as Europe/Berlin or UTC") from None


@dataclass(frozen=True, slots=True)
class _Field:
    """One place in a crontab. `*` and `N/step` reach to `high`, numbers may be as large as `highest`."""

    name: str
    low: int
    high: int
    highest: int
    names: tuple[str, ...] = ()
    """Names of the values from `low` on."""

    def values(self, text: str) -> frozenset[int]:
        """Every value that a comma list stands for. Empty items are passed over."""
        items = [item for item in text.split(",") if item]
        try:
            if not items:
                raise ValueError("says nothing")
            return frozenset[int]().union(*(self._item(item) for item in items))
        except ValueError as error:
            raise BadCrontab(f"{self.name}: {error}; {self._allowed()}") from None

    def _item(self, item: str) -> range:
        match = _ITEM.fullmatch(item)
        if not match:
            raise ValueError("an item cannot be read")
        star, low, high, step = match.groups()
        first = self.low if star else self._number(low)
        open_end = max(first, self.high) if star or step else first
        last = self._number(high) if high else open_end
        if last < first:
            raise ValueError("a range runs backwards")
        return range(first, last + 1, _step(step) if step else 1)

    def _number(self, text: str) -> int:
        if text.lower() in self.names:
            return self.low + self.names.index(text.lower())
        if not _NUMBER.fullmatch(text) or not self.low <= int(text) <= self.highest:
            raise ValueError(f"an item is not one of {self.low} to {self.highest}")
        return int(text)

    def _allowed(self) -> str:
        names = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        sunday = ", 0 and 7 being Sunday" if self.highest > self.high else ""
        beyond = "; L, W and # are not supported" if "day" in self.name else ""
        return (
            f"allowed are *, N, N-M, each with /step, and lists of them with commas, "
            f"N from {self.low} to {self.highest}{names}{sunday}{beyond}"
        )


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Field("second", 0, 59, 59),
    _Field("minute", 0, 59, 59),
    _Field("hour", 0, 23, 23),
    _Field("day of month", 1, 31, 31),
    _Field("month", 1, 12, 12, _MONTHS),
    _Field("day of week", 0, 6, 7, _WEEKDAYS),
)


def _calendar(words: list[str], zone: tzinfo | None) -> Calendar:
    if len(words) not in (5, 6):
        raise BadCrontab(
            f"{len(words)} fields; write 5 (minute, hour, day of month, month, day of week), 6 with seconds first, "
            f"'@every 1h30m', or one of {', '.join(_DESCRIPTORS)}"
        )
    words = words if len(words) == 6 else ["0", *words]
    seconds, minutes, hours, days, months, weekdays = (
        field.values(word) for field, word in zip(_FIELDS, words, strict=True)
    )
    return Calendar(
        seconds=tuple(sorted(seconds)),
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        both_days=any(star in words[3] + words[5] for star in "*?"),
        cadence=len(hours) == 24 or any(mark in words[1] for mark in "*?/"),
        zone=zone,
    )


def _step(text: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) == 0:
        raise ValueError("a step is not a number from 1 on")
    return int(text)


def _period(text: str) -> int:
    """Whole seconds of a duration in Go's notation, at least 1."""
    try:
        return max(1, int(duration(text)))
    except ValueError:
        raise BadCrontab("@every: not a duration; write one such as 30s, 5m or 1h30m") from None


def _above(values: tuple[int, ...], value: int) -> int | None:
    index = bisect_right(values, value)
    return values[index] if index < len(values) else None


def _wall(instant: int, zone: tzinfo | None) -> datetime:
    """What the clock on the wall shows, without a zone."""
    return datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0)


def _offset(instant: int, zone: tzinfo | None) -> timedelta:
    return _wall(instant, zone) - (_EPOCH + instant * _SECOND)


def _arrival(wall: datetime, zone: tzinfo | None) -> int:
    """The first instant at which the clock has come to `wall`: the end of the gap if it jumps over it (PEP 495)."""
    late, early = (floor(wall.replace(tzinfo=zone, fold=fold).timestamp()) for fold in (0, 1))
    if _wall(late, zone) == wall:
        return late
    return early + bisect_left(range(early, late + 1), wall, key=lambda instant: _wall(instant, zone))
