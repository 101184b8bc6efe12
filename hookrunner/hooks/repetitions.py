"""A hook's wish to be run again: `RUN_AGAIN_PATH`, a file that it makes with a number of seconds in it."""

import math

from hookrunner.errors import BadOutput

LONGEST = 365 * 24 * 3600.0
"""Seconds."""
_FILE = "RUN_AGAIN_PATH"


def parse(text: bytes) -> float | None:
    """The seconds in the file, None if it is empty. Raises BadOutput."""
    if not text.strip():
        return None
    try:
        return to_seconds(float(text), _FILE)
    except ValueError:
        raise _refusal(_FILE, repr(text[:40].decode(errors="replace"))) from None


def to_seconds(number: float, place: str) -> float:
    """The number, if a run can be repeated after so long; `place` is where it stands. Raises BadOutput."""
    if not (math.isfinite(number) and 0 < number <= LONGEST):
        raise _refusal(place, f"{number:g}")
    return float(number)


def _refusal(place: str, what: str) -> BadOutput:
    return BadOutput(f"{place}: {what} is no number of seconds from 0 to {LONGEST:.0f}; write one such as 600")
