"""A hook's execution rate limit (shell-operator.md §6.7): a token bucket that says how long to wait and never waits."""


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
            return free_at - now
        self._full_at = max(self._full_at, now) + self._interval
        return 0.0
