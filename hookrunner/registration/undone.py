"""How often what we put right was changed back, by whom, and how long to wait before the next time.

Once is an accident and is repaired at once. More often is somebody's will, usually another controller's or a GitOps
tool's: then the pauses grow, so that nobody writes all day against another, and a person is told.
"""

import asyncio

from hookrunner.kube.writes import FIELD_MANAGER
from hookrunner.model.resources import JSON
from hookrunner.pacing import exponential

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_FORGOTTEN = 60.0
"""Seconds without a change after which the fight is over."""

_STUBBORN = 3


class Undone:
    """Counts repairs in the event loop's time."""

    def __init__(self) -> None:
        self._times = 0
        self._last = float("-inf")
        self._by = ""

    @property
    def pause(self) -> float:
        """Seconds to wait before the next repair."""
        times = self._recent()
        return exponential(_FIRST_PAUSE, _LONGEST_PAUSE, times - 1) if times else 0.0

    @property
    def problem(self) -> str:
        """What a person should know; empty while it may have been an accident."""
        times = self._recent()
        if times < _STUBBORN:
            return ""
        return f"changed back {times} times, last by {self._by}, and repaired after {self.pause:g} s: stop that writer"

    def repaired(self, before: JSON | None) -> None:
        """We had to put right what was like this."""
        self._times = self._recent() + 1
        self._last = _now()
        self._by = last_writer(before)

    def _recent(self) -> int:
        return self._times if _now() - self._last < _FORGOTTEN else 0


def last_writer(obj: JSON | None) -> str:
    """The field manager, not us, that wrote last to an object.

    Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers
    """
    if obj is None:
        return "whoever deletes it"
    entries = obj["metadata"].get("managedFields") or []
    others = [entry for entry in entries if entry.get("manager", FIELD_MANAGER) != FIELD_MANAGER]
    if not others:
        return "an unknown writer"
    return f"'{max(others, key=lambda entry: str(entry.get('time', '')))['manager']}'"


def _now() -> float:
    return asyncio.get_running_loop().time()
