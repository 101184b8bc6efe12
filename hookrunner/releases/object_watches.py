"""Which objects of a kind exist, by their keys alone."""

import asyncio
from collections.abc import Iterable, Iterator

from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified
from hookrunner.model.events import Report, Synced
from hookrunner.model.resources import ObjectKey
from kubetypes.json_values import JSON

_REMEMBERED_FOR = 10.0
"""Seconds: longer than it takes until a release that was written is tracked."""
_MOST_REMEMBERED = 300
"""Objects that `PresentObjects` remembers, about ten kilobytes each: as many as are written in that time."""


class PresentObjects:
    """Which objects of one kind a metadata-only watch shows, by their keys, and for a few seconds their metadata.
    `synced`: others do not exist.

        present = PresentObjects("ConfigMap")
        for fact in present.facts(reports): ...
        present.remember(key, metadata)
        present.recall("default", "settings")       # None if it was not shown lately

    Of most objects only the keys are kept: a cluster has many that no release tracks. But while many releases are made,
    the watch shows the objects of each a moment before they are tracked; remembered until then, they need not be read.
    """

    def __init__(self, kind: str) -> None:
        self.synced = False
        self._kind = kind
        self._keys: set[ObjectKey] = set()
        self._recent: dict[ObjectKey, tuple[float, JSON]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._informer = Informer(self._keys)

    def has(self, namespace: str, name: str) -> bool:
        """Does the object exist? The namespace does not matter for kinds without namespaces."""
        return any(key in self._keys for key in self._possible_keys(namespace, name))

    def facts(self, reports: Iterable[Report]) -> Iterator[Fact]:
        """Yield the facts of a batch of the watch, each after it was noted here."""
        for fact in self._informer.facts(reports):
            match fact:
                case Added(seen) | Modified(seen):
                    self._keys.add(seen.key)
                case Deleted(key):
                    self._keys.discard(key)
                    self._recent.pop(key, None)
                case Synced():
                    self.synced = True
            yield fact

    def remember(self, key: ObjectKey, metadata: JSON) -> None:
        """Keep the metadata of an object that is not tracked yet; not of the first list, which may be long."""
        if not self.synced:
            return
        until = asyncio.get_running_loop().time() + _REMEMBERED_FOR
        self._recent.pop(key, None)  # the order is that of the times
        self._recent[key] = until, metadata
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(until, self._forget_old)
        if len(self._recent) > _MOST_REMEMBERED:
            del self._recent[next(iter(self._recent))]

    def recall(self, namespace: str, name: str) -> JSON | None:
        """The metadata of an object as the watch has shown it last, if that was lately; it is forgotten then."""
        for key in self._possible_keys(namespace, name):
            if known := self._recent.pop(key, None):
                return known[1]
        return None

    def _possible_keys(self, namespace: str, name: str) -> Iterator[ObjectKey]:
        """Those with and without the namespace: a manifest does not tell whether its kind has namespaces."""
        return (ObjectKey(any_namespace, self._kind, name) for any_namespace in (namespace, ""))

    def _forget_old(self) -> None:
        """Forget what has been remembered for long enough; again when the next one has."""
        loop = asyncio.get_running_loop()
        self._recent = {key: known for key, known in self._recent.items() if known[0] > loop.time()}
        until = next((until for until, _ in self._recent.values()), None)
        self._timer = None if until is None else loop.call_at(until, self._forget_old)
