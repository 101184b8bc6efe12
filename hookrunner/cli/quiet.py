"""Keeps the log silent while a tool works that tells all of it by itself."""

from collections.abc import Iterator
from contextlib import contextmanager

from hookrunner import log


@contextmanager
def quiet() -> Iterator[None]:
    """Only what is fatal is logged in here."""
    before = log.current_level()
    log.set_level("fatal")
    try:
        yield
    finally:
        log.set_level(before)
