"""A virtual clock that counts how often it is read, for waits that must not spin."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from looptime import LoopTimeEventLoop

MOST_LOOKS = 20_000
"""Some hundred times what the longest of these stories needs."""


class Spinning(Exception):
    """A story looks at a clock that does not go on."""


class _WatchedLoop(LoopTimeEventLoop, asyncio.SelectorEventLoop):
    """Time goes on only while all tasks sleep: a wait that ends too early and begins again would stop it for good."""

    def __init__(self, start: float) -> None:
        self._looks = 0
        super().__init__(start=start)

    def time(self) -> float:
        self._looks += 1
        if self._looks == MOST_LOOKS:  # once, for the end of the loop looks at it, too
            raise Spinning(f"the clock was looked at {MOST_LOOKS} times, and shows {super().time()}")
        return super().time()


def run_watched(story: Coroutine[Any, Any, None], start: float = 0.0) -> None:
    """Run a story in virtual time from `start` on. Raises Spinning."""
    with asyncio.Runner(loop_factory=lambda: _WatchedLoop(start)) as runner:
        runner.run(story)


def awkward(seconds: float) -> float:
    """A time from which the virtual clock, which shows whole microseconds, stops a little short of `seconds` later."""
    times = (number / 1e6 for number in range(100_000))
    return next(now for now in times if now + seconds > round((now + seconds) * 1e6) / 1e6)
