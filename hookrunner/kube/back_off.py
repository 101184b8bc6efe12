"""How long a watch waits between its attempts: a back-off for each kind of failure.

What grew while the server refused connections says nothing about the 410 that comes next. Kinds that take turns grow
each for itself, so that a server in trouble is spared however its errors change.
"""

import asyncio
from typing import TypeAlias

from hookrunner.errors import ApiError, KubeError, NotFound, UnknownKind, Unreachable
from hookrunner.pacing import exponential, jitter

_FIRST, _LONGEST, _CHEAP = 0.1, 20.0, 2.0
"""Seconds between attempts: growing from the first to the longest, but to the last where to ask costs little: for a
kind that is not there, since a CRD usually comes with the addon that is being installed, and for connections that
fail although the server answers others."""

_FORGOTTEN = 30.0
"""Seconds after which a kind that has not come again begins anew, though the watch has not worked since."""

_Kind: TypeAlias = tuple[bool, str, int]
"""Was the watch accepted before? Which error, and which status?"""


class BackOff:
    """The failures of one watch since it last worked, by kind: how many, and when the last one was."""

    def __init__(self) -> None:
        self._failures: dict[_Kind, tuple[int, float]] = {}

    def __bool__(self) -> bool:
        return bool(self._failures)

    def failures(self, error: KubeError, accepted: bool) -> int:
        """How many of this kind there were lately."""
        times, last = self._failures.get(_kind(error, accepted), (0, 0.0))
        return times if _now() - last < _FORGOTTEN else 0

    def pause(self, error: KubeError, accepted: bool) -> float:
        """Count one more; seconds until the next attempt."""
        before = self.failures(error, accepted)
        self._failures[_kind(error, accepted)] = (before + 1, _now())
        return jitter(exponential(_FIRST, _CHEAP if _is_cheap(error) else _LONGEST, before))

    def note_acceptance(self) -> None:
        """The server has begun to send: what kept it from doing so is over."""
        self._failures = {kind: found for kind, found in self._failures.items() if kind[0]}

    def reset(self) -> None:
        """The watch works."""
        self._failures.clear()


def moment() -> float:
    """The shortest pause, so that what ends at once for all watches does not begin at once for all."""
    return jitter(_FIRST)


def _kind(error: KubeError, accepted: bool) -> _Kind:
    return accepted, type(error).__name__, error.status if isinstance(error, ApiError) else 0


def _is_cheap(error: KubeError) -> bool:
    """Does another attempt cost the server next to nothing?"""
    return isinstance(error, UnknownKind | NotFound) or type(error) is Unreachable


def _now() -> float:
    return asyncio.get_running_loop().time()
