"""Garbage collection: objects whose owners are gone go too, in the way in which the owner's deletion asked for.

Background (the default): the owner goes at once, its dependents after it. Foreground: dependents that block go first,
the finalizer `foregroundDeletion` keeps the owner until then. Orphan: dependents lose the reference, then the finalizer
`orphan` goes. What is made for an owner that is not there goes too, a moment later; but an owner that was missing from
the beginning is taken to be elsewhere: who seeds a part of a cluster wants to keep that part. https://kubernetes.io/docs/concepts/architecture/garbage-collection/
"""

import asyncio
from collections import defaultdict
from typing import Any

from hookrunner.sandbox.api import Api
from hookrunner.sandbox.deleting import FOREGROUND, ORPHAN
from hookrunner.sandbox.kinds import Kind
from hookrunner.sandbox.requests import DeleteOptions, Place, WriteOptions
from hookrunner.sandbox.rules import Object
from hookrunner.sandbox.status import Refused
from hookrunner.sandbox.store import Change, Key, Stored

PATIENCE = 3.0
"""Seconds for an owner to come; clients make owners first, so it rarely does."""
MANAGER = WriteOptions(manager="garbage-collector")


class Garbage:
    """Who owns whom, kept up to date from the store's changes."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._places: dict[str, Key] = {}
        self._gone: set[str] = set()
        self._elsewhere: set[str] = set()
        self._missed: set[str] = set()
        self._owned: defaultdict[str, set[str]] = defaultdict(set)
        for resource in api.store.resources():
            for stored in api.store.select(resource):
                self._learn(stored)

    def sweep(self) -> None:
        """Look at everything once: what a restart has left. Owners that are not there are taken to be elsewhere."""
        self._elsewhere |= self._owned.keys() - self._places.keys()
        for key in list(self._places.values()):
            if (stored := self._api.store.get(key)) is not None:
                self._look_at(stored.json())

    def happened(self, change: Change) -> None:
        """React to one change."""
        if change.after is not None:
            self._learn(change.after)
            self._look_at(change.after.json())
        elif change.before is not None:
            meta = change.before.json()["metadata"]
            self._places.pop(meta["uid"], None)
            if meta["uid"] in self._owned:
                self._gone.add(meta["uid"])
            for uid in list(self._owned.pop(meta["uid"], ())):
                self._look_at_uid(uid)
            for owner in meta.get("ownerReferences") or ():
                self._owned[owner["uid"]].discard(meta["uid"])
                self._look_at_uid(owner["uid"])

    def _learn(self, stored: Stored) -> None:
        meta = stored.json()["metadata"]
        self._places[meta["uid"]] = stored.key
        for owner in meta.get("ownerReferences") or ():
            self._owned[owner["uid"]].add(meta["uid"])

    def _look_at_uid(self, uid: str) -> None:
        if (obj := self._object(uid)) is not None:
            self._look_at(obj)

    def _object(self, uid: str) -> Object | None:
        key = self._places.get(uid)
        stored = self._api.store.get(key) if key else None
        return stored.json() if stored else None

    def _look_at(self, obj: Object) -> None:
        """Does this object have to go, or let others go?"""
        meta = obj["metadata"]
        if "deletionTimestamp" in meta and ORPHAN in meta.get("finalizers", ()):
            self._orphan(obj)
        elif "deletionTimestamp" in meta and FOREGROUND in meta.get("finalizers", ()):
            self._end_dependents_first(obj)
        elif "deletionTimestamp" not in meta and meta.get("ownerReferences"):
            self._follow_owners(obj)

    def _follow_owners(self, obj: Object) -> None:
        """All owners gone: it goes. Some gone: it forgets them. All that are left end in the foreground: it ends."""
        meta = obj["metadata"]
        there = [owner for owner in meta["ownerReferences"] if self._exists(owner, meta.get("namespace", ""))]
        ending = [owner for owner in there if self._ends_in_foreground(owner)]
        if not there:
            self._delete(obj, "Background")
        elif len(ending) == len(there):
            self._delete(obj, "Foreground" if self._owned.get(meta["uid"]) else "Background")
        elif len(there) < len(meta["ownerReferences"]):
            self._own(obj, there)

    def _exists(self, owner: dict[str, Any], namespace: str) -> bool:
        """An owner is in the same namespace or in none, and is the one that was meant. One of a kind that nobody serves
        may be anywhere."""
        found = self._object(owner["uid"])
        if found is None:
            known = self._api.kinds.of_kind(owner["apiVersion"], owner["kind"])
            return known is None or self._may_come(owner["uid"])
        there = found["metadata"]
        return there.get("namespace", "") in ("", namespace) and there["name"] == owner["name"]

    def _may_come(self, uid: str) -> bool:
        """Whether an owner that was not seen yet may be somewhere. Its dependents are looked at again later."""
        if uid in self._gone:
            return False
        if uid not in self._elsewhere and uid not in self._missed:
            self._missed.add(uid)
            asyncio.get_running_loop().call_later(PATIENCE, self._give_up, uid)
        return True

    def _give_up(self, uid: str) -> None:
        self._missed.discard(uid)
        if uid in self._places or uid in self._elsewhere:
            return
        self._gone.add(uid)
        for dependent in list(self._owned.get(uid, ())):
            self._look_at_uid(dependent)

    def _ends_in_foreground(self, owner: dict[str, Any]) -> bool:
        found = self._object(owner["uid"])
        meta = found["metadata"] if found else {}
        return "deletionTimestamp" in meta and FOREGROUND in meta.get("finalizers", ())

    def _end_dependents_first(self, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        for dependent in self._dependents(uid):
            if "deletionTimestamp" not in dependent["metadata"]:
                self._follow_owners(dependent)
        references = [ref for obj in self._dependents(uid) for ref in obj["metadata"]["ownerReferences"]]
        if not any(ref["uid"] == uid and ref.get("blockOwnerDeletion") for ref in references):
            self._finish(owner, FOREGROUND)

    def _orphan(self, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        for dependent in self._dependents(uid):
            self._own(dependent, [ref for ref in dependent["metadata"]["ownerReferences"] if ref["uid"] != uid])
        self._owned.pop(uid, None)
        self._finish(owner, ORPHAN)

    def _dependents(self, uid: str) -> list[Object]:
        found = [self._object(dependent) for dependent in list(self._owned.get(uid, ()))]
        owned = [obj for obj in found if obj is not None]
        return [obj for obj in owned if any(ref["uid"] == uid for ref in obj["metadata"].get("ownerReferences") or ())]

    # ── writes, each as any client would make it ──────────────────────────────────────────────────────────────────

    def _delete(self, obj: Object, propagation: str) -> None:
        kind, where = self._place(obj)
        try:
            self._api.delete(kind, where, DeleteOptions(propagation=propagation, uid=obj["metadata"]["uid"]))
        except Refused:
            return  # gone meanwhile, or another one of that name

    def _own(self, obj: Object, references: list[dict[str, Any]]) -> None:
        def change(old: Object) -> Object:
            old["metadata"].pop("ownerReferences", None)
            if references:
                old["metadata"]["ownerReferences"] = references
            return old

        kind, where = self._place(obj)
        self._api.modify(kind, where, MANAGER, change)

    def _finish(self, obj: Object, finalizer: str) -> None:
        def change(old: Object) -> Object:
            left = [one for one in old["metadata"].get("finalizers") or () if one != finalizer]
            old["metadata"].pop("finalizers", None)
            if left:
                old["metadata"]["finalizers"] = left
            return old

        kind, where = self._place(obj)
        self._api.modify(kind, where, MANAGER, change)

    def _place(self, obj: Object) -> tuple[Kind, Place]:
        key = self._places[obj["metadata"]["uid"]]
        kind = self._api.kinds.of_stored(key.resource)
        assert kind is not None
        return kind, Place(kind.group, kind.version, kind.plural, key.namespace, key.name)
