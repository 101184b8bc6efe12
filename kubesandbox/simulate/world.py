"""What controllers can see: the objects of the store, read only, each look the newest."""

from dataclasses import dataclass, field
from datetime import datetime

from kubesandbox.simulate.steps import USUAL, Pace
from kubesandbox.store import Key, Store, Stored
from kubesandbox.verbs.rules import Object


@dataclass(frozen=True, slots=True)
class World:
    """The store at one moment, `now`. Objects are shared by all readers and must not be changed.

    `parsed` keeps them with their revision from one look to the next.
    """

    store: Store
    now: datetime
    pace: Pace = USUAL
    parsed: dict[Key, tuple[int, Object]] = field(default_factory=dict)

    def one(self, resource: str, namespace: str, name: str) -> Object | None:
        """An object; None if it does not exist."""
        stored = self.store.get(Key(resource, namespace, name))
        return self._read(stored) if stored else None

    def all(self, resource: str, namespace: str = "") -> list[Object]:
        """Objects of a resource, of one namespace or all."""
        return [self._read(stored) for stored in self.store.select(resource, namespace)]

    def _read(self, stored: Stored) -> Object:
        revision, obj = self.parsed.get(stored.key, (0, {}))
        if revision != stored.revision:
            obj = stored.json()
            self.parsed[stored.key] = (stored.revision, obj)
        return obj

    def owned(self, resource: str, owner: Object) -> list[Object]:
        """Those that an object controls."""
        meta = owner["metadata"]
        there = self.all(resource, meta.get("namespace", ""))
        return [obj for obj in there if (controller(obj) or {}).get("uid") == meta["uid"]]


def controller(obj: Object) -> Object | None:
    """The owner reference of who controls an object."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)
