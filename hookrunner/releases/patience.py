"""How soon to look at an object that somebody changes: at once, unless he does it again and again.

Two controllers that want the same field otherwise would else write it in turns for ever (user-pains.md R13).
"""

from hookrunner.releases.ordering import ObjectId

_FIRST, _FACTOR, _LONGEST = 1.0, 4.0, 3600.0
"""Seconds from the first sign of a change until the object is read, since an edit seldom comes alone; so many times
more for each time that it was found changed before."""

_QUIET = 3 * _LONGEST
"""An object that was not found changed for so many seconds begins anew."""


class Patience:
    """Remembers the objects that were found changed, and when."""

    def __init__(self) -> None:
        self._waits: dict[ObjectId, tuple[float, float]] = {}

    def wait(self, one: ObjectId, now: float) -> float:
        """Seconds until it is to be looked at. `now` is any monotonic time."""
        wait, told = self._waits.get(one, (_FIRST, now))
        return _FIRST if now - told > _QUIET else wait

    def told(self, one: ObjectId, now: float) -> None:
        """It was found changed."""
        self._waits[one] = (min(self.wait(one, now) * _FACTOR, _LONGEST), now)
