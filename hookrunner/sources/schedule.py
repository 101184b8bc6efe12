"""Ticks: waits for the armed crontabs and yields one `Ticked` when one comes due (docs/hooks.md, schedule).

Bindings of any hooks with the same crontab and time zone share an entry, so there is one tick for all of them; the
engine knows which hooks get it. Ticks missed while the process was down, suspended or busy come as one, never as a
burst: the next time is always computed from now.

What a crontab means is in `cron.py`.
"""

import asyncio
import time
from contextlib import suppress
from math import inf
from operator import attrgetter

from hookrunner import cron
from hookrunner.model.events import Ticked
from kubetypes.light_dataclasses import dataclass

_LONGEST_SLEEP = 60.0
"""Seconds until the wall clock is looked at again. The loop sleeps on the monotonic clock, which neither sees the wall
clock being set nor (on Linux) counts a suspension, so a longer sleep would end at a wrong time by that much more."""

_SET_BACK = 3600.0
"""A clock set back by no more than this many seconds is waited for, so that no minute fires twice. Set back further, it
was wrong before: waiting would silence every schedule, so all of them start afresh from now."""


class WallClock:
    """The epoch seconds of the machine's clock."""

    def now(self) -> float:
        return time.time()


_WALL_CLOCK = WallClock()


@dataclass(slots=True)
class _Entry:
    """One crontab in one zone: armed since when and how often; `due` is infinite if it never fires."""

    text: str
    timezone: str
    crontab: cron.Crontab
    armed: float
    due: float = inf
    users: int = 0

    def advance(self, now: float) -> None:
        due = self.crontab.next_after(now, self.armed)
        self.due = inf if due is None else due


class Schedules:
    """The armed crontabs, and the async iterator of their ticks. For one reader, in one event loop."""

    def __init__(self, clock: WallClock = _WALL_CLOCK) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._latest = clock.now()
        self._rearmed = asyncio.Event()

    def arm(self, crontab: str, timezone: str = "") -> None:
        """Tick for this crontab from now on. `timezone` is an IANA name, empty for the process's local time.

        Arming twice needs disarming twice and changes nothing about when it fires. Raises BadCrontab.
        """
        entry = self._entries.get((crontab, timezone))
        if not entry:
            zone = cron.time_zone(timezone) if timezone else None
            now = self._look()
            entry = _Entry(crontab, timezone, cron.parse(crontab, zone), armed=now)
            entry.advance(now)
            self._entries[crontab, timezone] = entry
            self._rearmed.set()
        entry.users += 1

    def disarm(self, crontab: str, timezone: str = "") -> None:
        """Take back one `arm`; the last one ends the ticks. Raises KeyError if it is not armed."""
        entry = self._entries[crontab, timezone]
        entry.users -= 1
        if entry.users == 0:
            del self._entries[crontab, timezone]
            self._rearmed.set()

    def __aiter__(self) -> "Schedules":
        return self

    async def __anext__(self) -> Ticked:
        """The next tick, the longest overdue first. `at` is when it was due; for a late one, the first time missed."""
        while True:
            now = self._look()
            entry = min(self._entries.values(), key=attrgetter("due"), default=None)
            if entry and entry.due <= now:
                tick = Ticked(entry.text, entry.due, entry.timezone)
                entry.advance(now)
                return tick
            await self._sleep(entry.due - now if entry else inf)

    def _look(self) -> float:
        """The time. All entries start afresh if the clock turns out to be set back far."""
        now = self._clock.now()
        if now >= self._latest - _SET_BACK:
            self._latest = max(now, self._latest)
            return now
        self._latest = now
        for entry in self._entries.values():
            entry.advance(now)
        return now

    async def _sleep(self, seconds: float) -> None:
        """Sleep until something is armed or disarmed, or for that long; indefinitely if no crontab is due."""
        self._rearmed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(None if seconds == inf else min(seconds, _LONGEST_SLEEP)):
                await self._rearmed.wait()
