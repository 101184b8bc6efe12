"""Garbage collection: objects whose owners are gone go too, in the way in which the owner's deletion asked for.

Background (the default): the owner goes at once, its dependents after it. Foreground: dependents that block go first,
the finalizer `foregroundDeletion` keeps the owner until then. Orphan: dependents lose the reference, then the finalizer
`orphan` goes. An object created for a missing owner goes too, a moment later. But an owner that was missing from the
beginning is taken to be elsewhere, so that a seeded part of a cluster stays.

The steps are those of the real garbage collector, circles and references that lead nowhere included.
https://kubernetes.io/docs/concepts/architecture/garbage-collection/
"""

import asyncio
from collections import defaultdict
from enum import Enum
from typing import Any

from kubesandbox.kinds import Kind
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.status import Refused
from kubesandbox.store import Key, Store, StoreChange, Stored
from kubesandbox.verbs.api import Api, Step
from kubesandbox.verbs.deletion import FOREGROUND, ORPHAN
from kubesandbox.verbs.rules import Object

PATIENCE = 3.0
"""Seconds for an owner to come; clients make owners first, so it rarely does."""
MANAGER = WriteParameters(manager="garbage-collector")


class Owner(Enum):
    """What a reference leads to. `LOST`: unknown, its kind is not served or it has another scope."""

    THERE = 1
    GONE = 2
    WAITS_FOR_DEPENDENTS = 3
    LOST = 4


class Garbage:
    """Deletes objects without owners, and finishes owners that wait for their dependents."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._graph = Owners(api.store)
        self._graph.learn_all()
        self._gone: set[str] = set()
        self._elsewhere: set[str] = set()
        self._missed: dict[str, asyncio.TimerHandle] = {}

    def sweep(self) -> None:
        """Look at everything once: what a restart or seeds have left."""
        self._graph.learn_all()
        self._elsewhere |= self._graph.missing()
        for uid in self._graph.uids():
            self._look_at_uid(uid)

    def close(self) -> None:
        """Cancel all timers."""
        for waiting in self._missed.values():
            waiting.cancel()

    def happened(self, change: StoreChange) -> None:
        """React to one change."""
        before = change.before.json() if change.before is not None else None
        if change.after is not None:
            after = self._graph.learn(change.after)
            if references(after) or _ends(after):
                self._look_at_uid(after["metadata"]["uid"])  # it may have changed again
        elif before is not None:
            owned = self._graph.forget(before)
            if owned:
                self._gone.add(before["metadata"]["uid"])
            for uid in owned:
                self._look_at_uid(uid)
        for owner in references(before) if before is not None else ():
            self._look_at_uid(owner["uid"])  # which may have waited for just this

    def _look_at_uid(self, uid: str) -> None:
        if (obj := self._graph.object(uid)) is not None:
            self._look_at(obj)

    def _look_at(self, obj: Object) -> None:
        """Does this object have to go, or let others go?"""
        if not _ends(obj):
            if references(obj):
                self._follow_owners(obj)
        elif ORPHAN in obj["metadata"].get("finalizers", ()):
            self._orphan(obj)
        elif _waits_for_dependents(obj):
            self._end_dependents_first(obj)

    # ── what is owned ─────────────────────────────────────────────────────────────────────────────────────────────

    def _follow_owners(self, obj: Object) -> None:
        """Judge an object by its owners. With an existing owner it drops references to the missing ones; if all owners
        left wait for it, it is deleted in the foreground as they are; without an owner it is deleted."""
        found = [(owner, self._owner(owner, obj)) for owner in references(obj)]
        states = {state for _, state in found}
        if Owner.LOST in states or states == {Owner.THERE}:
            return
        uid = obj["metadata"]["uid"]
        if Owner.THERE in states:
            self._own(obj, [owner for owner, state in found if state is Owner.THERE])
        elif Owner.WAITS_FOR_DEPENDENTS in states and (dependents := self._graph.dependents(uid)):
            if any(_waits_for_dependents(one) for one in dependents):  # a cycle: one of them has to be the first
                self._own(obj, [{**owner, "blockOwnerDeletion": False} for owner in references(obj)])
            self._delete(obj, "Foreground")
        else:
            self._delete(obj, "")

    def _owner(self, owner: dict[str, Any], obj: Object) -> Owner:
        """Whether an owner exists: in the same namespace or cluster-wide, with the uid of the reference."""
        kind = self._api.kinds.of_kind(owner["apiVersion"], owner["kind"])
        namespace = obj["metadata"].get("namespace", "")
        if kind is None or (kind.namespaced and not namespace):
            return Owner.LOST
        found = self._graph.object(owner["uid"])
        if found is None:
            return Owner.THERE if self._may_come(owner["uid"]) else Owner.GONE
        if self._graph.place(owner["uid"]) != (kind.kept, namespace if kind.namespaced else "", owner["name"]):
            return Owner.GONE
        return Owner.WAITS_FOR_DEPENDENTS if _waits_for_dependents(found) else Owner.THERE

    def _may_come(self, uid: str) -> bool:
        """Whether an owner that was not seen yet may be somewhere. Its dependents are looked at again later."""
        if uid in self._gone:
            return False
        if uid not in self._elsewhere and uid not in self._missed:
            self._missed[uid] = asyncio.get_running_loop().call_later(PATIENCE, self._give_up, uid)
        return True

    def _give_up(self, uid: str) -> None:
        del self._missed[uid]
        if self._graph.place(uid) is None:
            self._gone.add(uid)
            for dependent in self._graph.dependents_seen(uid):
                self._look_at_uid(dependent)

    # ── what owns ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _end_dependents_first(self, owner: Object) -> None:
        """Those that block it; the others go after it."""
        uid = owner["metadata"]["uid"]
        found = [(one, reference(one, uid) or {}) for one in self._graph.dependents(uid)]
        blocking = [one for one, said in found if said.get("blockOwnerDeletion")]
        if not blocking:
            self._finish(owner, FOREGROUND)
        for dependent in blocking:
            if not _ends(dependent):
                self._follow_owners(dependent)

    def _orphan(self, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        for dependent in self._graph.dependents(uid):
            self._own(dependent, [one for one in references(dependent) if one["uid"] != uid])
        self._finish(owner, ORPHAN)

    # ── writes, each as any client would make it ──────────────────────────────────────────────────────────────────

    def _delete(self, obj: Object, propagation: str) -> None:
        """Delete an object. Without a stated propagation, its own finalizer for dependents decides how they go."""
        own = [one for one in (ORPHAN, FOREGROUND) if one in obj["metadata"].get("finalizers", ())]
        asked = propagation or ("" if own else "Background")
        if (place := self._place(obj)) is not None:
            try:
                self._api.delete(*place, DeleteParameters(propagation=asked, uid=obj["metadata"]["uid"]))
            except Refused:
                return  # gone meanwhile, or another one of that name

    def _own(self, obj: Object, owners: list[dict[str, Any]]) -> None:
        self._modify(obj, lambda old: _with(old, "ownerReferences", owners))

    def _finish(self, obj: Object, finalizer: str) -> None:
        left = [one for one in obj["metadata"].get("finalizers", ()) if one != finalizer]
        self._modify(obj, lambda old: _with(old, "finalizers", left))

    def _modify(self, obj: Object, change: Step) -> None:
        if (place := self._place(obj)) is not None:
            self._api.modify(*place, MANAGER, change)

    def _place(self, obj: Object) -> tuple[Kind, Place] | None:
        """The kind and place to write it to; None if its definition is gone, which takes the object along."""
        key = self._graph.place(obj["metadata"]["uid"])
        kind = self._api.kinds.of_stored(key.resource) if key else None
        if key is None or kind is None:
            return None
        return kind, Place(kind.group, kind.version, kind.plural, key.namespace, key.name)


def _ends(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def _waits_for_dependents(obj: Object) -> bool:
    return _ends(obj) and FOREGROUND in obj["metadata"].get("finalizers", ())


def _with(obj: Object, key: str, value: list[Any]) -> Object:
    """With other metadata; an empty list is left out. In place."""
    obj["metadata"].pop(key, None)
    if value:
        obj["metadata"][key] = value
    return obj


# ── owners ────────────────────────────────────────────────────────────────────────────────────────────────────────────

# Owners and dependents by `metadata.ownerReferences`: a graph of uids beside the store.


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
