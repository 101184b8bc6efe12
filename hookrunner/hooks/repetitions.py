"""A hook's wish to be run again: `RUN_AGAIN_PATH`, a file that it makes with a number of seconds in it."""

import math

from hookrunner.errors import BadOutput

LONGEST = 365 * 24 * 3600.0
"""Seconds."""


def parse(text: bytes) -> float | None:
    """The seconds in the file, None if it is empty. Raises BadOutput."""
    if not text.strip():
        return None
    try:
        return to_seconds(float(text))
    except ValueError:
        raise _refusal(repr(text[:40].decode(errors="replace"))) from None


def to_seconds(number: float) -> float:
    """The number, if a run can be repeated after so long. Raises BadOutput."""
    if not (math.isfinite(number) and 0 < number <= LONGEST):
        raise _refusal(f"{number:g}")
    return float(number)


def _refusal(what: str) -> BadOutput:
    return BadOutput(f"RUN_AGAIN_PATH: {what} is no number of seconds from 0 to {LONGEST:.0f}; write one such as 600")
