"""Which of the instances shown may have changed unseen: the API server does not answer, or a kind cannot be watched.

Nothing can be written into a status then, so it is shown from memory.
"""

from collections.abc import Iterator, Mapping

from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.kube.back_off import Outage
from hookrunner.model.timestamps import rfc3339


class Sight:
    """What is not seen at the moment. `caches` are those of the addons, by name."""

    def __init__(self, caches: Mapping[str, InstanceCache], outage: Outage) -> None:
        self._caches = caches
        self._outage = outage

    def lost_since(self, addon: str) -> float:
        """Since when (epoch seconds) the instances of an addon are not seen; 0 if they are."""
        cache = self._caches.get(addon)
        times = (self._outage.since, cache.obstacle_since if cache and cache.is_listed else 0.0)
        return min((time for time in times if time), default=0.0)

    def losses(self) -> Iterator[str]:
        """What is not seen, and why, for `/readyz`."""
        if since := self._outage.since:
            yield f"no instance is seen since {rfc3339(since)}: the API server does not answer"
            return
        for name, cache in self._caches.items():
            if cache.is_known and cache.obstacle:
                yield f"{name}: not seen since {rfc3339(cache.obstacle_since)}: {cache.obstacle}"
