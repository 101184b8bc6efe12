"""What shows that code which should take milliseconds would take hours."""

import contextlib
import signal
from collections.abc import Iterator

HANG = 60
"""Seconds after which something counts as never ending; each of these takes milliseconds, or hours."""


@contextlib.contextmanager
def watched(seconds: int = HANG) -> Iterator[None]:
    """Breaks off what does not let the event loop go on."""

    def break_off(*_: object) -> None:
        raise AssertionError("the event loop stands still")

    before = signal.signal(signal.SIGALRM, break_off)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
