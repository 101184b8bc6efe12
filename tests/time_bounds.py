"""Every test has a bound: one that hangs fails with its name, and the run goes on.

| a test | may take, of real time |
|---|---|
| without markers | `USUAL` |
| `slow`, `story`, `cluster` | `LONG` |
| `nightly`, `soak`; at night any | `NIGHT` |
| `@pytest.mark.bound(seconds)` | that |

Its setup and its teardown have the same bound each; the setup of a `cluster` test has `BUILDING`, for the first one
builds the control plane. Bounds are far beyond what a busy machine makes of a test that works.

At its end the test is broken off by an exception, wherever it waits; a signal is the one way into a main thread that
waits. It is a SystemExit: no other exception leaves a running event loop at once. It is raised again and again, because
the end may hang too. If nothing can be raised, in a library in C for example, the process is ended some time later with
the stacks of all threads; pytest-xdist then names the test and starts another worker. What ends it is a thread, which
stays for as many tests as it suits: to start one for each took a twentieth of the CPU time of all tests.
"""

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import pytest

from tests.examples import is_night

USUAL, LONG, BUILDING, NIGHT = 120.0, 600.0, 2400.0, 7200.0
"""Seconds. `BUILDING` is for fixtures of the control plane: its first build takes up to ten minutes, others wait."""
AGAIN = 10.0
"""Seconds until the exception is raised once more."""
HARD = 60.0
"""Seconds from the bound until the process is ended; twice as many at most."""

_stderr = -1
_hard_end = 0.0
"""When the process will be ended, as of time.monotonic(); 0 while nothing would end it."""


class TooLong(SystemExit):
    """The test hangs."""


def pytest_configure(config: pytest.Config) -> None:
    global _stderr
    config.addinivalue_line("markers", "bound(seconds): a test that takes longer than this hangs; tests/time_bounds.py")
    if _stderr < 0:
        _stderr = os.dup(2)  # the terminal's: while a test runs, descriptor 2 leads to a file
        os.register_at_fork(before=_stop_hard_end)  # it is a thread


def pytest_unconfigure() -> None:
    _stop_hard_end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    is_building = any(item.get_closest_marker(marker) for marker in ("cluster", "image"))
    with _bounded(item, "setup", max(_bound(item), BUILDING if is_building else 0.0)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _bounded(item, "call", _bound(item)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    with _bounded(item, "teardown", _bound(item)):
        return (yield)


def _bound(item: pytest.Item) -> float:
    """Seconds for a test."""
    if marker := item.get_closest_marker("bound"):
        return float(marker.args[0])
    markers = {marker.name for marker in item.iter_markers()}
    if is_night() or markers & {"nightly", "soak"}:
        return NIGHT
    return LONG if markers & {"slow", "story", "cluster"} else USUAL


@contextmanager
def _bounded(item: pytest.Item, phase: str, seconds: float) -> Iterator[None]:
    """Break off what is inside after so many seconds. With a debugger nothing is bounded."""
    if item.config.getoption("usepdb") or sys.gettrace():
        yield
        return

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise TooLong(f"{item.nodeid}: its {phase} has no end, after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    _start_hard_end(seconds + HARD)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _start_hard_end(seconds: float) -> None:
    """End this process in so many seconds or, if that is arranged already, up to `HARD` later."""
    global _hard_end
    soonest = time.monotonic() + seconds
    if not soonest <= _hard_end <= soonest + HARD:
        faulthandler.dump_traceback_later(seconds + HARD, exit=True, file=_stderr)
        _hard_end = soonest + HARD


def _stop_hard_end() -> None:
    global _hard_end
    faulthandler.cancel_dump_traceback_later()
    _hard_end = 0.0
