"""When the next attempt is made: a token bucket, the back-off of a watch, and the outage of a server
that all its clients share. Times are seconds of one monotonic clock.

    outage = Outage()                  # one for each cluster: its clients report failures and answers
    await outage.turn(seconds)         # between two attempts of a watch
    await outage.sleep(seconds)        # between two attempts of anything else
    await outage.rest(seconds)         # the same for what is expensive to try: a short outage changes nothing
    async for seconds in outage.ends(): ...

A `BackOff` counts each kind of failure separately: the pauses that grew while the server refused connections do not
apply to the 410 that comes next. Kinds that alternate grow separately, so that a server in trouble gets few requests
however its errors change.

An `Outage` begins when a connection fails and ends with the first useful answer to any client. Meanwhile watches do not
pause on their own: 200 watches would reconnect with 200 different delays after the server is back. They wait in line,
the first of them probes the server from time to time, and its success releases all of them, at a limited rate. A server
that has just started refuses valid credentials or answers 429 for a moment: such an answer does not end an outage, but
the next probe comes sooner.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from http import HTTPStatus
from typing import Self, TypeAlias

from hookrunner import log
from hookrunner.errors import ApiError, KubeError, NotFound, UnknownKind, Unreachable
from hookrunner.waits import Notifier, Pauses
from kubetypes.timers import TICK

_log = log.get(__name__)

_RETRIES = Pauses(1.0, 60.0)
"""Between two attempts of `retry_forever`."""


async def retry_forever(
    attempt: Callable[[], Awaitable[None]],
    errors: tuple[type[Exception], ...],
    report: Callable[[Exception], None],
    rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Make attempts until one ends without one of these errors, however long that takes. `report` gets each of them;
    the pause after it is a second at first, doubled with each failure in a row, up to a minute. With an outage's `rest`
    the end of the outage ends the pause: otherwise it would last up to a minute longer for what is tried here."""
    for pause in _RETRIES:
        try:
            await attempt()
        except errors as error:
            report(error)
            await rest(pause)
        else:
            return


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


_PAUSES, _CHEAP_PAUSES = Pauses(0.1, 20.0), Pauses(0.1, 2.0)
"""Between attempts; the second where a retry is cheap for the server: for an unknown kind, since a CRD usually comes
with the addon that is being installed, and for connections that fail although the server answers others."""

_FORGOTTEN = 30.0
"""Seconds without a failure of a kind after which its back-off starts again, although the watch has not worked yet."""

_Kind: TypeAlias = tuple[bool, str, int]
"""Was the watch accepted before? Which error, and which status?"""


class BackOff:
    """The failures of one watch since it last worked, by kind: how many, and when the last one was."""

    def __init__(self) -> None:
        self._failures: dict[_Kind, tuple[int, float]] = {}

    def __bool__(self) -> bool:
        return bool(self._failures)

    def failures(self, error: KubeError, accepted: bool) -> int:
        """The number of recent failures of this kind."""
        times, last = self._failures.get(_kind(error, accepted), (0, 0.0))
        return times if _now() - last < _FORGOTTEN else 0

    def pause(self, error: KubeError, accepted: bool) -> float:
        """Count a failure; seconds until the next attempt."""
        before = self.failures(error, accepted)
        self._failures[_kind(error, accepted)] = (before + 1, _now())
        return jitter((_CHEAP_PAUSES if _is_cheap(error) else _PAUSES).after(before + 1))

    def note_acceptance(self) -> None:
        """Forget the failures to connect: the server has begun to send."""
        self._failures = {kind: failures for kind, failures in self._failures.items() if kind[0]}

    def reset(self) -> None:
        """Forget all failures: the watch works."""
        self._failures.clear()


def moment() -> float:
    """The shortest pause, so that watches that end at the same time do not begin again at the same time."""
    return jitter(_PAUSES.first)


def _kind(error: KubeError, accepted: bool) -> _Kind:
    return accepted, type(error).__name__, error.status if isinstance(error, ApiError) else 0


def _is_cheap(error: KubeError) -> bool:
    """Is another attempt cheap for the server?"""
    return isinstance(error, UnknownKind | NotFound) or type(error) is Unreachable


_PROBES = Pauses(0.1, 1.0)
"""Between two probes by the line: a refused connection is cheap."""

_RELEASED, _AT_ONCE = 200.0, 20
"""Watches that may reconnect per second after an outage, and how many of them at once."""

BLIP = 3.0
"""Seconds. A shorter outage may have been one bad connection among good ones, so it does not shorten the longer pause
of a watch: perhaps its own connection is the one that always fails."""

_UNSURE = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS})
"""Statuses that a server also answers with before it has read its own rules."""


class Outage:
    """The state of one cluster's API server. `is_under_way` from a failed connection to the next useful answer."""

    def __init__(self) -> None:
        self.is_under_way = False
        self._began = 0.0
        self._began_at = 0.0
        self._is_logged = False
        self._last_sign = float("-inf")
        self._lasted = 0.0
        self._ended = 0
        self._probes = 1
        self._next_probe = 0.0
        self._line = asyncio.Lock()
        self._pace = TokenBucket.per_second(_RELEASED, _AT_ONCE)
        self._news = Notifier()

    def note_failure(self, error: KubeError | None = None) -> None:
        """Note that a connection failed, or that no answer came. Logged once, as soon as it is no single bad
        connection."""
        if not self.is_under_way:
            self.is_under_way, self._began, self._began_at = True, _now(), time.time()
            self._probes, self._next_probe = 1, self._began + _PROBES.first
        elif self.since and not self._is_logged:
            self._is_logged = True
            _log.warn("API server is unavailable", error=error)

    def note_answer(self, status: int) -> None:
        """Note an answer with this HTTP status, to any request."""
        if not self.is_under_way:
            return
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _UNSURE:
            self._probes, self._next_probe = 1, min(self._next_probe, _now() + _PROBES.first)
        else:
            self.is_under_way, self._lasted = False, _now() - self._began
            self._ended += 1
            self._log_end()
        self._news.notify()

    def note_sign(self) -> None:
        """Note that an open watch has received something: only new connections fail, perhaps just one."""
        self._last_sign = _now()

    @property
    def since(self) -> float:
        """For views: the epoch seconds since which nothing is heard of the server; 0 if that is not so, or may be one
        bad connection among good ones."""
        is_long = self.is_under_way and _now() - self._began >= BLIP
        return self._began_at if is_long and self._last_sign < self._began else 0.0

    async def sleep(self, seconds: float) -> None:
        """Wait so many seconds, but no longer than until an outage ends."""
        ended, until = self._ended, _now() + seconds
        while self._ended == ended and await self._wait_for_news(until):
            pass

    async def rest(self, seconds: float) -> None:
        """The same, but no end of a short outage counts (`BLIP`): where one request always fails, and others are
        answered, each answer ends an outage, and it would be sent again without a pause."""
        until = _now() + seconds
        while (left := until - _now()) > 0:
            ended = self._ended
            await self.sleep(left)
            if self._ended != ended and self._lasted >= BLIP:
                return

    async def turn(self, seconds: float) -> None:
        """Wait before the next attempt of a watch: so many seconds, or in an outage for a turn in the line; in any case
        no longer than until the end of an outage that lasted for a while (`BLIP`)."""
        ended, until = self._ended, _now() + seconds
        if not self.is_under_way:
            await self.sleep(seconds)
        elif await self._is_next_to_probe():
            return
        if self._ended != ended:
            if self._lasted < min(seconds, BLIP):
                await asyncio.sleep(until - _now())
            await self._pace.turn()

    async def ends(self) -> AsyncGenerator[float, None]:
        """Yield at the end of each outage how many seconds ago it began; never ends."""
        ended = self._ended
        while True:
            if self._ended == ended:
                await self._news.next()
                continue
            ended = self._ended
            yield _now() - self._began

    def _log_end(self) -> None:
        if self._is_logged:
            self._is_logged = False
            _log.info("API server is available again, retrying what has failed", seconds=round(self._lasted, 1))

    async def _is_next_to_probe(self) -> bool:
        """Wait in the line for the next probe; False if the outage ended meanwhile."""
        async with self._line:
            while self.is_under_way and await self._wait_for_news(self._next_probe):
                pass
            if self.is_under_way:
                self._probes += 1
                self._next_probe = _now() + _PROBES.after(self._probes)
            return self.is_under_way

    async def _wait_for_news(self, until: float) -> bool:
        """Wait for a change of the outage; False if nothing changes by that time."""
        try:
            async with asyncio.timeout_at(until):
                await self._news.next()
        except TimeoutError:
            return False
        return True


def _now() -> float:
    return asyncio.get_running_loop().time()
