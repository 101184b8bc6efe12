"""The objects of one kind that have an addon's label, whoever has made them: one watch of the whole kind.

    kind = LabelledKind("deployments.apps", watches, queue)
    await kind.follow()                    # until cancelled
    kind.components("coredns", now)

The label has the addon's name in its key, so no selector finds all of them. Of an object without such a label nothing
is kept. Of kinds without a status the watch has metadata alone: nobody has to see the values of Secrets for this.

While the watch is lost, verdicts count as long as those of addons' objects (`releases/health/kind_health.py`). After
that their health is unknown; if the API server does not know the kind any more, there are none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import aclosing

from hookrunner.discovery.addon_queue import AddonQueue
from hookrunner.discovery.components import Component, ComponentHealth, addons_of, judge_component
from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified, Opener
from hookrunner.model.events import WatchLost
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.releases.health.kind_health import Clock, KindHealth
from hookrunner.releases.health.object_status import ObjectHealth, unknown

_RBAC = "rbac.authorization.k8s.io"
_WITHOUT_STATUS = {name: "v1" for name in ("configmaps", "endpoints", "secrets", "serviceaccounts")}
_WITHOUT_STATUS |= {
    f"{plural}.{_RBAC}": f"{_RBAC}/v1" for plural in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
}
"""Kinds of which metadata is enough, with the apiVersion that such a watch does not show."""


class LabelledKind:
    """The labelled objects of a kind, which is named as `kubectl api-resources -o name` does: `deployments.apps`."""

    def __init__(self, name: str, watches: Opener, queue: AddonQueue) -> None:
        self.name = name
        self._watches = watches
        self._queue = queue
        self._api_version = _WITHOUT_STATUS.get(name, "")
        self._selection = Selection(self._api_version, name, metadata_only=name in _WITHOUT_STATUS)
        self._shown = KindHealth(name, Clock.now().monotonic, judge_component)
        self._informer = Informer(self._shown)
        self._counts = Counter[str]()
        """How many objects each addon has. Which ones is looked up: an index would take as much memory as their
        health."""
        self._is_unserved = False

    @property
    def addons(self) -> frozenset[str]:
        """The addons that have such objects."""
        return frozenset(self._counts)

    def is_known(self, now: float) -> bool:
        """Is it known which objects there are, or does that take longer than one waits?"""
        return self._shown.is_synced or bool(self._shown.obstacle(now))

    def obstacle(self, now: float) -> str:
        """Why its objects are not seen, empty if they are."""
        return self._shown.obstacle(now)

    def expires_in(self, now: float) -> float | None:
        """Seconds after which its objects are not known any more, though nothing changes; None if that is not so."""
        return self._shown.expires_in(now)

    def components(self, addon: str, now: float) -> Iterator[Component]:
        """The objects with the label of an addon."""
        is_expired = self._shown.expires_in(now) == 0
        if is_expired and self._is_unserved:
            return
        lost = unknown(f"it cannot be watched: {self._shown.obstacle(now)}")
        for key in self._shown if addon in self._counts else ():
            health = self._shown.last(key)
            if health and addon in _addons(health):
                yield Component(self._api_version, key, lost if is_expired else health)

    async def follow(self) -> None:
        """Keep the objects until cancelled."""
        async with aclosing(self._informer.follow(self._watches, self._selection)) as batches:
            async for facts in batches:
                self._read(facts)
                del facts  # otherwise the last objects would stay in memory until the next change

    def _read(self, facts: Iterable[Fact]) -> None:
        clock = Clock.now()
        for fact in facts:
            match fact:
                case Added(seen) | Modified(seen) if addons := addons_of(seen.obj["metadata"]):
                    self._api_version = self._api_version or str(seen.obj["apiVersion"])
                    self._note(fact, seen.key, addons, clock)
                case Added(seen) | Modified(seen) if seen.key in self._shown:
                    self._note(Deleted(seen.key), seen.key, (), clock)
                case Deleted(key) if key in self._shown:
                    self._note(fact, key, (), clock)
                case Added() | Modified() | Deleted():
                    pass
                case _:
                    self._shown.read((fact,), clock)
                    self._is_unserved = isinstance(fact, WatchLost) and fact.is_unserved
                    self._queue.note(self._counts)

    def _note(self, fact: Fact, key: ObjectKey, addons: tuple[str, ...], clock: Clock) -> None:
        """Take in a fact about an object that has, or had, an addon's label."""
        before = _addons(self._shown.last(key))
        if not self._shown.read((fact,), clock):
            return
        self._counts.update(addons)
        self._counts.subtract(before)
        self._counts = +self._counts  # without those that have none any more
        self._queue.note({*before, *addons})


def _addons(health: ObjectHealth | None) -> tuple[str, ...]:
    return health.addons if isinstance(health, ComponentHealth) else ()
