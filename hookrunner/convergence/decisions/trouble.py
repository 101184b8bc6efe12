"""For how long something is wrong, as a number that grows: for a counter that is read and not kept up by a timer."""

from collections.abc import Callable

EVERY = 5.0
"""Seconds after which trouble that lasts counts once more (addon-operator.md §8.1, `config_values_errors_total`)."""


class Trouble:
    """Counts one when trouble begins and one for every five seconds that it lasts. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: float | None = None
        self._over = 0

    def see(self, trouble: bool) -> None:
        """Is there trouble, from now on?"""
        if not trouble:
            self._over, self._since = self.count, None
        elif self._since is None:
            self._since = self._clock()

    @property
    def count(self) -> int:
        """All that there has been."""
        lasting = 0 if self._since is None else 1 + int((self._clock() - self._since) / EVERY)
        return self._over + lasting
