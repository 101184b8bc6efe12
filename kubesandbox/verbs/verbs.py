"""The verbs that change things: create, update, patch, delete, deletecollection.

Each happens whole or, refused, not at all. Webhooks are all that a verb waits for (`gate.py`). When they have
answered the world may be another one: what the verb has read is looked at again, and if it is not the same the verb
begins anew, as in a real API server. Without webhooks no verb ever waits, and `api.py` makes plain functions of them.
Reading is in `reading.py` and `watching.py`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from kubesandbox import names, status
from kubesandbox.fields import writes as fields
from kubesandbox.fields.writes import Write
from kubesandbox.kinds import Kind, Kinds
from kubesandbox.query.requests import DeleteParameters, ListParameters, Place, WriteParameters
from kubesandbox.status import Cause, Refused
from kubesandbox.store import Key, Store, Stored
from kubesandbox.times import rfc3339
from kubesandbox.verbs import deletion, identity, reading, rules
from kubesandbox.verbs.bodies import Body
from kubesandbox.verbs.gate import OPEN, UNCONVERTED, AdmissionGate, Converter
from kubesandbox.verbs.patching import APPLY, Patch
from kubesandbox.verbs.rules import Object
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

PRIORITIES = "priorityclasses.scheduling.k8s.io"
DEFINITION_ENDS = "create not allowed while custom resource definition is terminating"
BEING_ENDED = "unable to create new content in namespace {} because it is being terminated"

Step = Callable[[Object], Object]
"""Takes an object that it may change, and returns the one to write instead."""
Change = Callable[[Object, Object], tuple[Object, Sequence[str]]]
"""Takes an object as it is and a copy that it may change; returns the one to write instead, and warnings."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write has come to: the object as it is now, whether it is new or gone, warnings for the client."""

    obj: Object
    created: bool = False
    gone: bool = False
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Verbs:
    """The verbs on a store. `now` is the time of day; `gate` and `converter` are who is asked."""

    store: Store
    kinds: Kinds
    now: Callable[[], datetime]
    gate: AdmissionGate = OPEN
    converter: Converter = UNCONVERTED

    # ── create ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def create(self, kind: Kind, where: Place, options: WriteParameters, body: Body) -> Written:
        """Raises Refused 400, 403, 404, 409, 422."""
        obj, warnings = rules.decoded(kind, body.value, options.validation, body.duplicates)
        obj = rules.defaulted(kind, identity.bare(rules.placed(kind, where, obj)))
        obj = fields.updated(None, obj, kind, self._write(where, options))
        return await self._store_new(kind, await self._admit_new(kind, where, obj), options, warnings)

    async def _admit_new(self, kind: Kind, where: Place, obj: Object) -> Object:
        """What creating makes of it, and it is right so."""
        self._check_place(kind, where.namespace, obj)
        classes = [one.json() for one in self.store.select(PRIORITIES)] if kind.stored == "pods" else []
        obj = self._born(await self.gate.mutate(rules.admitted(kind, obj, classes), None))
        obj = rules.for_create(kind, obj, classes)
        rules.check(kind, obj, None)
        await self.gate.check(obj, None)
        return obj

    def _born(self, obj: Object) -> Object:
        """With the metadata that only the server gives. In place."""
        meta = obj["metadata"]
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = names.generated(meta["generateName"])
        meta.setdefault("name", "")  # reported later, with everything else that is wrong
        meta["uid"], meta["creationTimestamp"] = str(uuid4()), rfc3339(self.now())
        return obj

    def _check_place(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Raises Refused 404, 403 where nothing may be created."""
        name = obj["metadata"].get("name", "")
        stored = self.store.get(Key("namespaces", "", namespace)) if kind.namespaced else None
        if kind.namespaced and stored is None:
            raise status.not_found(status.About("", "namespaces", namespace))
        if _ends(stored):
            refused = status.forbidden(kind.resource(name), BEING_ENDED.format(namespace))
            message = f"namespace {namespace} is being terminated"
            refused.causes = [Cause("NamespaceTerminating", message, "metadata.namespace")]
            raise refused
        if kind.custom and _ends(self.store.get(Key(rules.DEFINITIONS, "", kind.stored))):
            raise status.forbidden(kind.resource(name), DEFINITION_ENDS)

    async def _store_new(self, kind: Kind, obj: Object, options: WriteParameters, warnings: Sequence[str]) -> Written:
        name = obj["metadata"]["name"]
        key = Key(kind.kept, obj["metadata"].get("namespace", ""), name)
        kept = await self.converter.to_stored_version(kind, obj)
        self._check_place(kind, key.namespace, obj)  # which may be gone since webhooks were asked
        known = self.store.get(key)
        if known is not None:
            raise status.already_exists(kind.resource(name), ending="deletionTimestamp" in known.json()["metadata"])
        if not options.dry_run:
            obj = await self._put(kind, key, obj, kept)
        return Written(obj, created=True, warnings=[*warnings, *rules.remarks(kind, obj)])

    async def _put(self, kind: Kind, key: Key, obj: Object, kept: Object) -> Object:
        """Write `kept`, which is `obj` in the version in which it is stored; the object as it is read from now on."""
        stored = self.store.put(key, kept)
        if kept is obj:
            return obj
        await self.converter.prepare(kind, [stored])
        return reading.obj(kind, stored)

    # ── update, patch ─────────────────────────────────────────────────────────────────────────────────────────────

    async def update(self, kind: Kind, where: Place, options: WriteParameters, body: Body) -> Written:
        """Raises Refused 400, 404, 409, 422."""
        creates = rules.created_by_update(kind) and not where.subresource
        while creates and self.store.get(reading.key(kind, where)) is None:
            if done := await self._unless_there(kind, where, self.create(kind, where, options, body)):
                return done
        obj, warnings = rules.decoded(kind, body.value, options.validation, body.duplicates)
        return await self.modify(kind, where, options, lambda old: identity.meant(kind, obj, old), warnings)

    async def _unless_there(self, kind: Kind, where: Place, creation: Awaitable[Written]) -> Written | None:
        """What a creation comes to; None if another one was faster."""
        try:
            return await creation
        except Refused as refused:
            if refused.reason != "AlreadyExists" or self.store.get(reading.key(kind, where)) is None:
                raise
            return None

    async def patch(self, kind: Kind, where: Place, options: WriteParameters, patch: Patch) -> Written:
        """Raises Refused 400, 404, 409, 415, 422."""
        if patch.type == APPLY:
            return await self._apply(kind, where, options, patch.body)
        warnings: list[str] = []

        def patched(old: Object) -> Object:
            obj, said = rules.patched(kind, patch.applied(old, kind), options.validation)
            warnings[:] = said
            return obj

        return await self.modify(kind, where, options, patched, warnings)

    async def modify(
        self, kind: Kind, where: Place, options: WriteParameters, change: Step, warnings: Sequence[str] = ()
    ) -> Written:
        """Write what `change` makes of the object. Raises Refused 404, 409, 422."""

        def changed(old: Object, own: Object) -> tuple[Object, Sequence[str]]:
            obj = rules.defaulted(kind, rules.placed(kind, where, change(own)))
            return fields.updated(old, obj, kind, self._write(where, options)), warnings

        return await self._write_change(kind, where, options, changed)

    async def _apply(self, kind: Kind, where: Place, options: WriteParameters, config: JSON) -> Written:
        """Server-side apply: the only patch that creates a missing object."""
        config = rules.configured(kind, where, config)
        while self.store.get(reading.key(kind, where)) is None:
            creation = self._created_by_apply(kind, where, options, config)
            if done := await self._unless_there(kind, where, creation):
                return done
        return await self.apply(kind, where, options, config)

    async def apply(self, kind: Kind, where: Place, options: WriteParameters, config: JSON) -> Written:
        """Server-side apply of an object, or of its `Scale`, to an existing object, which is returned.

        Raises Refused 400, 404, 409, 422."""

        def merged(old: Object, own: Object) -> tuple[Object, Sequence[str]]:
            result = fields.applied(old, config, kind, self._write(where, options), options.force)
            obj, warnings = rules.decoded(kind, result, options.validation)
            return rules.defaulted(kind, rules.placed(kind, where, obj)), warnings

        return await self._write_change(kind, where, options, merged)

    async def _created_by_apply(self, kind: Kind, where: Place, options: WriteParameters, config: Object) -> Written:
        if where.subresource:
            raise status.not_found(kind.resource(where.name))
        if uid := config["metadata"].get("uid"):
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
            raise status.conflict(kind.resource(where.name), why)
        merged = fields.applied(None, config, kind, self._write(where, options), options.force)
        obj, warnings = rules.decoded(kind, merged, options.validation)
        obj = rules.defaulted(kind, identity.bare(rules.placed(kind, where, obj)))
        return await self._store_new(kind, await self._admit_new(kind, where, obj), options, warnings)

    async def _write_change(self, kind: Kind, where: Place, options: WriteParameters, change: Change) -> Written:
        """Write what `change` makes of the object; again from its new state if another client has written meanwhile."""
        while True:
            stored = await self.find(kind, where)
            old = reading.obj(kind, stored)
            obj, warnings = change(old, reading.obj(kind, stored))
            obj = await self._next(kind, where, obj, old)
            obj["metadata"]["resourceVersion"] = str(stored.revision)
            kept = await self.converter.to_stored_version(kind, obj)
            if self.store.get(stored.key) is stored:
                break
        if options.dry_run or identity.same(kept, stored):
            return Written(obj, warnings=warnings)
        if deletion.finished(obj):
            self.store.delete(stored.key)
            return Written(obj, gone=True, warnings=warnings)
        obj = await self._put(kind, stored.key, obj, kept)
        return Written(obj, warnings=[*warnings, *rules.remarks(kind, obj)])

    async def find(self, kind: Kind, where: Place) -> Stored:
        """The object of a path, ready to be read. Raises Refused 404."""
        stored = reading.found(self.store, kind, where)
        await self.converter.prepare(kind, [stored])
        return stored

    async def _next(self, kind: Kind, where: Place, obj: Object, old: Object) -> Object:
        """What an update makes of it, and it is right so."""
        obj = await self.gate.mutate(obj, old)
        obj = fields.settled(old, identity.continued(kind, obj, old))
        obj = rules.for_update(kind, obj, old, where.subresource)
        rules.check(kind, obj, old, where.subresource)
        await self.gate.check(obj, old)
        return obj

    # ── delete ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def delete(self, kind: Kind, where: Place, options: DeleteParameters) -> Written:
        """Raises Refused 404, 409."""
        while True:
            stored = await self.find(kind, where)
            old = reading.obj(kind, stored)
            deletion.check_preconditions(kind, old, options)
            if not deletion.pending(kind, old, options, self.now()):
                await self.gate.check_deletion(old)
            obj = deletion.marked(kind, old, options, self.now())
            kept = await self.converter.to_stored_version(kind, obj) if obj is not None else {}
            if self.store.get(stored.key) is stored:
                break
        if obj is None:
            if not options.dry_run:
                self.store.delete(stored.key)
            return Written(old, gone=True)
        if obj != old and not options.dry_run:
            obj = await self._put(kind, stored.key, obj, kept)
        return Written(obj)

    async def delete_collection(
        self, kind: Kind, where: Place, listed: ListParameters, options: DeleteParameters
    ) -> list[Written]:
        """Delete what a list would show. Raises Refused 400, and what a gate raises for one of them."""
        matches = reading.matcher(kind, listed)
        chosen = self.store.select(kind.kept, where.namespace)[: listed.limit or None]
        await self.converter.prepare(kind, chosen)
        done = []
        for stored in chosen:
            if matches is None or matches(reading.obj(kind, stored)):
                _, namespace, name = stored.key
                if self.store.get(stored.key) is not None:  # not gone while a webhook thought of another one
                    there = replace(where, namespace=namespace, name=name)
                    done.append(await self.delete(kind, there, options))
        return done

    def _write(self, where: Place, options: WriteParameters) -> Write:
        return Write(options.manager, rfc3339(self.now()), where.subresource)


def _ends(stored: Stored | None) -> bool:
    """Whether the deletion of an object was asked for. Most are there to stay, and a definition may be large."""
    if stored is None or b"deletionTimestamp" not in stored.body:
        return False
    return "deletionTimestamp" in stored.json()["metadata"]
