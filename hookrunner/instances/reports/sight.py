"""Which of the instances shown may have changed unseen: the API server does not answer, or a kind cannot be watched.
And those that are not shown any more, because their addon has left the offer.

Nothing can be written into a status then, so it is shown from memory.
"""

from collections.abc import Iterator, Mapping

from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.kube.back_off import Outage
from hookrunner.model.addons import Addon
from hookrunner.model.timestamps import rfc3339
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeftKind:
    """An addon that has left the offer with its instances: why, how many, and when (epoch seconds)."""

    addon: Addon
    reason: str
    instances: int
    since: float

    def __str__(self) -> str:
        what = "1 instance stays as it is" if self.instances == 1 else f"{self.instances} instances stay as they are"
        text = f"{self.addon.name} ({self.addon.object.kind}): not offered since {rfc3339(self.since)}: {self.reason}"
        return f"{text}; {what}, with all that is installed, until it is offered again"


class LeftKinds:
    """The kinds that have left the offer with instances, and have not come back."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, str], LeftKind] = {}

    def __iter__(self) -> Iterator[LeftKind]:
        return iter(tuple(self._left.values()))

    def leave(self, addon: Addon, reason: str, instances: int, now: float) -> None:
        """An addon has left with so many instances."""
        self._left[addon.object.api_version, addon.object.kind] = LeftKind(addon, reason, instances, now)

    def come_back(self, addon: Addon) -> None:
        """An addon of this kind is offered."""
        self._left.pop((addon.object.api_version, addon.object.kind), None)


class Sight:
    """What is not seen at the moment. `caches` are those of the addons, by name; `left` are kinds that were offered."""

    def __init__(self, caches: Mapping[str, InstanceCache], outage: Outage, left: LeftKinds | None = None) -> None:
        self._caches = caches
        self._outage = outage
        self._left = left or LeftKinds()

    def lost_since(self, addon: str) -> float:
        """Since when (epoch seconds) the instances of an addon are not seen; 0 if they are."""
        cache = self._caches.get(addon)
        times = (self._outage.since, cache.obstacle_since if cache and cache.is_listed else 0.0)
        return min((time for time in times if time), default=0.0)

    def losses(self) -> Iterator[str]:
        """What is not seen, and why, for `/readyz`."""
        yield from map(str, self._left)
        if since := self._outage.since:
            yield f"no instance is seen since {rfc3339(since)}: the API server does not answer"
            return
        for name, cache in self._caches.items():
            if cache.is_known and cache.obstacle:
                yield f"{name}: not seen since {rfc3339(cache.obstacle_since)}: {cache.obstacle}"
