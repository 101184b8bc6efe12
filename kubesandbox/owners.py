"""Who owns whom, by `metadata.ownerReferences`: a graph of uids beside the store, for the garbage collector."""

from collections import defaultdict

from kubesandbox.rules import Object
from kubesandbox.store import Key, Store, Stored


class Owners:
    """The graph. It may lag behind the store by changes that were not delivered yet."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._places: dict[str, Key] = {}
        self._owned: defaultdict[str, set[str]] = defaultdict(set)

    def learn_all(self) -> None:
        """Take over what the store has."""
        for resource in self._store.resources():
            for stored in self._store.select(resource):
                self.learn(stored)

    def learn(self, stored: Stored) -> Object:
        """An object is there, or has changed; it is returned."""
        obj = stored.json()
        uid = obj["metadata"]["uid"]
        self._places[uid] = stored.key
        for owner in references(obj):
            self._owned[owner["uid"]].add(uid)
        return obj

    def forget(self, obj: Object) -> list[str]:
        """An object is gone; the uids of what it has owned."""
        uid = obj["metadata"]["uid"]
        self._places.pop(uid, None)
        for owner in references(obj):
            self._owned.get(owner["uid"], set()).discard(uid)
        return list(self._owned.pop(uid, ()))

    def missing(self) -> set[str]:
        """Owners that were never in the store."""
        return self._owned.keys() - self._places.keys()

    def uids(self) -> list[str]:
        """Of all objects."""
        return list(self._places)

    def place(self, uid: str) -> Key | None:
        """Where an object is kept, None if it is gone or was not seen yet."""
        return self._places.get(uid)

    def object(self, uid: str) -> Object | None:
        """An object as it is now; another one of its name is not the one."""
        stored = self._store.get(key) if (key := self._places.get(uid)) else None
        obj = stored.json() if stored else None
        return obj if obj is not None and obj["metadata"]["uid"] == uid else None

    def dependents(self, uid: str) -> list[Object]:
        """What an object owns now."""
        found = [self.object(dependent) for dependent in list(self._owned.get(uid, ()))]
        return [obj for obj in found if obj is not None and reference(obj, uid) is not None]

    def dependents_seen(self, uid: str) -> list[str]:
        """The uids of what named it as an owner some time."""
        return list(self._owned.get(uid, ()))


def references(obj: Object) -> list[Object]:
    """The owner references of an object."""
    return obj["metadata"].get("ownerReferences") or []


def reference(obj: Object, uid: str) -> Object | None:
    """The one to an owner."""
    return next((one for one in references(obj) if one["uid"] == uid), None)
