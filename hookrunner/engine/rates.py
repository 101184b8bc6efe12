"""How often hooks may run: `settings` of a hook as a token bucket (docs/hooks.md, settings)."""

from hookrunner.model.bindings import Hook
from hookrunner.pacing import TokenBucket


class Rates:
    """The buckets of all hooks; a hook's runs have one, whoever asks for them."""

    def __init__(self) -> None:
        self._buckets: dict[str, TokenBucket] = {}

    def take(self, hook: Hook, now: float) -> float:
        """0 if the hook may run now, which counts as a run; otherwise the seconds until it may."""
        settings = hook.config.settings
        bucket = self._buckets.setdefault(hook.name, TokenBucket(settings.min_interval, settings.burst))
        return bucket.take(now)

    def forget(self, hook: str) -> None:
        """If the hook comes again, its rate may be another."""
        self._buckets.pop(hook, None)
