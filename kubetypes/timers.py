"""Waits for a moment by the timers of an event loop, which may go off a little too early.

asyncio runs a timer that is due within the resolution of its clock, and `now + (due - now)` may round to less than
`due`. Code that sleeps until `due` and then still finds `now < due` would sleep for no time at all, again and again. On
a clock that stands still meanwhile, such as the virtual one of tests, it would never end. So no wait is shorter than a
tick: a caller that finds it too early lets time pass.
"""

import asyncio

TICK = 0.001
"""Seconds: far more than a timer may be early, and no more than what epoll rounds up to anyway."""


def pause(due: float, now: float) -> float:
    """Seconds to sleep until `due`, at least a tick."""
    return max(due - now, TICK)


def timeout_at(due: float | None, now: float) -> asyncio.Timeout:
    """As `asyncio.timeout_at` on the clock that says `now`, but no sooner than in a tick."""
    return asyncio.timeout(None if due is None else pause(due, now))
