"""When the next attempt is made: pauses that grow, a token bucket, the back-off of a watch, and the outage of a server
that all its clients share. Times are seconds of one monotonic clock.

    outage = Outage()                  # one for each cluster: its clients report failures and answers
    await outage.turn(seconds)         # between two attempts of a watch
    await outage.sleep(seconds)        # between two attempts of anything else
    async for seconds in outage.ends(): ...

A `BackOff` counts each kind of failure for itself: what grew while the server refused connections says nothing about
the 410 that comes next. Kinds that alternate grow each for itself, so that a server in trouble is spared however its
errors change.

An `Outage` begins when a connection fails and ends with the first useful answer to any client. Meanwhile watches do not
keep pauses of their own, of which 200 would be as many different delays after the server's return: they stand in line,
the first of them looks once in a while, and its success lets all of them go, at a rate that spares the server. For a
moment, a server that starts refuses good credentials or asks for patience: such an answer ends no outage, but the next
look comes sooner.
"""

import asyncio
import random
from collections.abc import AsyncGenerator
from http import HTTPStatus
from typing import Self, TypeAlias

from hookrunner.errors import ApiError, KubeError, NotFound, UnknownKind, Unreachable
from kubetypes.timers import TICK

_MOST_DOUBLINGS = 10


def exponential(first: float, longest: float, failures: int) -> float:
    """The pause after so many failures before this one: doubled at each, up to the longest."""
    return min(first * 2.0 ** min(failures, _MOST_DOUBLINGS), longest)


def jitter(seconds: float) -> float:
    """A quarter more or less, so that clients that failed together do not come back together."""
    return seconds * random.uniform(0.75, 1.25)


class TokenBucket:
    """`burst` tokens, one more every `interval` seconds. An interval of 0 is no limit."""

    def __init__(self, interval: float, burst: int) -> None:
        self._interval = interval
        self._credit = interval * (max(burst, 1) - 1)
        self._full_at = 0.0

    @classmethod
    def per_second(cls, rate: float, burst: int) -> Self:
        """A bucket that gets so many tokens a second; a rate of 0 is no limit."""
        return cls(1 / rate if rate > 0 else 0.0, burst)

    def take(self, now: float) -> float:
        """0 if a token is taken; otherwise the seconds until there is one, and none is taken."""
        if seconds := self._wait(now):
            return max(seconds, TICK)
        self._full_at = max(self._full_at, now) + self._interval
        return 0.0

    async def turn(self) -> float:
        """Wait for a token, in the order of the calls; how many seconds that took."""
        now = asyncio.get_running_loop().time()
        seconds = self._wait(now)
        self._full_at = max(self._full_at, now) + self._interval
        if seconds:
            await asyncio.sleep(seconds)
        return seconds

    def _wait(self, now: float) -> float:
        if self._interval <= 0:
            return 0.0
        return max(0.0, max(self._full_at, now) - self._credit - now)


_FIRST, _LONGEST, _CHEAP = 0.1, 20.0, 2.0
"""Seconds between attempts: growing from the first to the longest, but to the last where to ask costs little: for a
kind that is not there, since a CRD usually comes with the addon that is being installed, and for connections that
fail although the server answers others."""

_FORGOTTEN = 30.0
"""Seconds after which a kind that has not come again begins anew, though the watch has not worked since."""

_Kind: TypeAlias = tuple[bool, str, int]
"""Was the watch accepted before? Which error, and which status?"""


class BackOff:
    """The failures of one watch since it last worked, by kind: how many, and when the last one was."""

    def __init__(self) -> None:
        self._failures: dict[_Kind, tuple[int, float]] = {}

    def __bool__(self) -> bool:
        return bool(self._failures)

    def failures(self, error: KubeError, accepted: bool) -> int:
        """How many of this kind there were lately."""
        times, last = self._failures.get(_kind(error, accepted), (0, 0.0))
        return times if _now() - last < _FORGOTTEN else 0

    def pause(self, error: KubeError, accepted: bool) -> float:
        """Count one more; seconds until the next attempt."""
        before = self.failures(error, accepted)
        self._failures[_kind(error, accepted)] = (before + 1, _now())
        return jitter(exponential(_FIRST, _CHEAP if _is_cheap(error) else _LONGEST, before))

    def note_acceptance(self) -> None:
        """The server has begun to send: what kept it from doing so is over."""
        self._failures = {kind: failures for kind, failures in self._failures.items() if kind[0]}

    def reset(self) -> None:
        """The watch works."""
        self._failures.clear()


def moment() -> float:
    """The shortest pause, so that what ends at once for all watches does not begin at once for all."""
    return jitter(_FIRST)


def _kind(error: KubeError, accepted: bool) -> _Kind:
    return accepted, type(error).__name__, error.status if isinstance(error, ApiError) else 0


def _is_cheap(error: KubeError) -> bool:
    """Does another attempt cost the server next to nothing?"""
    return isinstance(error, UnknownKind | NotFound) or type(error) is Unreachable


_FIRST_LOOK, _LONGEST_LOOK = 0.1, 1.0
"""Seconds between two looks of the line, doubled at each: a refused connection costs next to nothing."""

_RELEASED, _AT_ONCE = 200.0, 20
"""Watches that may reconnect in a second after the return, and how many of them at once."""

_BLIP = 3.0
"""Seconds. What was shorter may have been one bad connection among good ones, and hurries no watch whose own pause is
longer: it might be its connection that always fails."""

_UNSURE = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS})
"""What a server also says that has not read its own rules yet."""


class Outage:
    """The state of one cluster's API server. `is_under_way` from a failed connection to the next useful answer."""

    def __init__(self) -> None:
        self.is_under_way = False
        self._began = 0.0
        self._lasted = 0.0
        self._ended = 0
        self._look = _FIRST_LOOK
        self._next_look = 0.0
        self._line = asyncio.Lock()
        self._pace = TokenBucket.per_second(_RELEASED, _AT_ONCE)
        self._news = asyncio.Event()

    def note_failure(self) -> None:
        """A connection could not be made, or nothing came back."""
        if not self.is_under_way:
            self.is_under_way, self._began = True, _now()
            self._look, self._next_look = _FIRST_LOOK, self._began + _FIRST_LOOK

    def note_answer(self, status: int) -> None:
        """An answer with this HTTP status came, whatever was asked."""
        if not self.is_under_way:
            return
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _UNSURE:
            self._look, self._next_look = _FIRST_LOOK, min(self._next_look, _now() + _FIRST_LOOK)
        else:
            self.is_under_way, self._lasted = False, _now() - self._began
            self._ended += 1
        self._news.set()
        self._news = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Wait so long, but no longer than until an outage ends."""
        ended, until = self._ended, _now() + seconds
        while self._ended == ended and await self._hear(until):
            pass

    async def turn(self, seconds: float) -> None:
        """Wait before the next attempt of a watch: so many seconds, in an outage instead for a turn in the line; in any
        case no longer than until an outage ends that is worth the name."""
        ended, until = self._ended, _now() + seconds
        if not self.is_under_way:
            await self.sleep(seconds)
        elif await self._is_first_to_look():
            return
        if self._ended != ended:
            if self._lasted < min(seconds, _BLIP):
                await asyncio.sleep(until - _now())
            await self._pace.turn()

    async def ends(self) -> AsyncGenerator[float, None]:
        """Yields at the end of each outage how many seconds ago it began; never ends."""
        ended = self._ended
        while True:
            if self._ended == ended:
                await self._news.wait()
                continue
            ended = self._ended
            yield _now() - self._began

    async def _is_first_to_look(self) -> bool:
        """Wait in the line; False if the outage ended meanwhile."""
        async with self._line:
            while self.is_under_way and await self._hear(self._next_look):
                pass
            if self.is_under_way:
                self._look = min(self._look * 2, _LONGEST_LOOK)
                self._next_look = _now() + self._look
            return self.is_under_way

    async def _hear(self, until: float) -> bool:
        """Return when something has changed; False if nothing has by that time."""
        try:
            async with asyncio.timeout_at(until):
                return await self._news.wait()
        except TimeoutError:
            return False


def _now() -> float:
    return asyncio.get_running_loop().time()
