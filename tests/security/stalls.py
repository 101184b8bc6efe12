"""What shows that code which should take milliseconds would take hours."""

import contextlib
import signal
from collections.abc import Iterator

HANG = 300
"""Seconds after which something counts as never ending; each of these takes milliseconds, or hours."""


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Breaks off what does not let the event loop go on, also what only waits."""
    with _broken_off(signal.ITIMER_REAL, signal.SIGALRM, HANG):
        yield


@contextlib.contextmanager
def computing_at_most(seconds: float) -> Iterator[None]:
    """Breaks off what computes longer than this. On a busy machine it may take as long as it likes."""
    with _broken_off(signal.ITIMER_PROF, signal.SIGPROF, seconds):
        yield


@contextlib.contextmanager
def _broken_off(timer: int, number: signal.Signals, seconds: float) -> Iterator[None]:
    def break_off(*_: object) -> None:
        raise AssertionError("the event loop stands still")

    before = signal.signal(number, break_off)
    bound = signal.setitimer(timer, seconds)  # of the whole test: tests/time_bounds.py
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)
        signal.setitimer(timer, *bound)
