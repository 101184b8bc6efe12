"""A hook's execution rate limit (shell-operator.md §6.7): a token bucket that says how long to wait and never waits."""

from hookrunner.model.bindings import Hook
from hookrunner.timers import pause


class Bucket:
    """`burst` tokens, one more every `interval` seconds. An interval of 0 is no limit."""

    def __init__(self, interval: float, burst: int) -> None:
        self._interval = interval
        self._burst = max(burst, 1)
        self._full_at = 0.0

    def take(self, now: float) -> float:
        """0 and a token is taken, or the seconds until there is one and nothing is taken."""
        if self._interval <= 0:
            return 0.0
        free_at = max(self._full_at, now) - (self._burst - 1) * self._interval
        if free_at > now:
            return pause(free_at, now)
        self._full_at = max(self._full_at, now) + self._interval
        return 0.0


class Rates:
    """The buckets of all hooks; a hook's runs have one, whoever asks for them."""

    def __init__(self) -> None:
        self._buckets: dict[str, Bucket] = {}

    def take(self, hook: Hook, now: float) -> float:
        """As `Bucket.take`."""
        settings = hook.config.settings
        bucket = self._buckets.setdefault(hook.name, Bucket(settings.min_interval, settings.burst))
        return bucket.take(now)

    def forget(self, hook: str) -> None:
        """If the hook comes again, its rate may be another."""
        self._buckets.pop(hook, None)
