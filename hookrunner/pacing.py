"""How fast: pauses that grow between attempts, and a token bucket. Times are seconds of one monotonic clock."""

import asyncio
import random
from typing import Self

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
