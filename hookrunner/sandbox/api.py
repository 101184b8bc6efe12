"""The verbs that change things: create, update, patch, delete, deletecollection.

Each is one plain function on the store: nothing else happens in between, and it happens whole or, refused, not at all.
Reading is in `reading.py` and `watching.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from uuid import uuid4

import orjson

from hookrunner.model.resources import JSON
from hookrunner.sandbox import deleting, names, reading, rules, status
from hookrunner.sandbox.bodies import Body
from hookrunner.sandbox.fields import writes as fields
from hookrunner.sandbox.fields.writes import Write
from hookrunner.sandbox.kinds import Kind, Kinds
from hookrunner.sandbox.patching import APPLY, Patch
from hookrunner.sandbox.requests import DeleteOptions, ListOptions, Place, WriteOptions
from hookrunner.sandbox.rules import Object
from hookrunner.sandbox.status import Cause, Refused
from hookrunner.sandbox.store import Key, Store, Stored
from hookrunner.sandbox.times import rfc3339

STAYING = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
OURS = ("generation", "creationTimestamp")
PRIORITIES = "priorityclasses.scheduling.k8s.io"
DEFINITION_ENDS = "create not allowed while custom resource definition is terminating"
BEING_ENDED = "unable to create new content in namespace {} because it is being terminated"

Step = Callable[[Object], Object]
"""Takes an object, its own to change, and gives what is to be written instead."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a write has come to: the object as it is now, whether it is new or gone, warnings for the client."""

    obj: Object
    created: bool = False
    gone: bool = False
    warnings: Sequence[str] = ()


class Api:
    """The verbs on a store. `now` is the time of day."""

    def __init__(
        self,
        store: Store,
        kinds: Kinds,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = store
        self.kinds = kinds
        self.now = now

    # ── create ────────────────────────────────────────────────────────────────────────────────────────────────────

    def create(self, kind: Kind, where: Place, options: WriteOptions, body: Body) -> Written:
        """Raises Refused 400, 403, 404, 409, 422."""
        obj, warnings = rules.decoded(kind, body.value, options.validation, body.duplicates)
        obj = self._born(kind, rules.placed(kind, where, obj))
        obj = fields.updated(None, obj, kind, self._write(where, options))
        return self._stored(kind, self._checked(kind, where, obj), options, warnings)

    def _born(self, kind: Kind, obj: Object) -> Object:
        """With the metadata that only the server gives, and defaults."""
        meta = obj["metadata"]
        if meta.pop("resourceVersion", "") not in ("", "0"):
            message = "resourceVersion should not be set on objects to be created"
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)
        for key in ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"):
            meta.pop(key, None)
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = names.generated(meta["generateName"])
        meta.setdefault("name", "")  # which is told later, with everything else that is wrong
        meta["uid"], meta["creationTimestamp"] = str(uuid4()), rfc3339(self.now())
        return rules.defaulted(kind, obj)

    def _checked(self, kind: Kind, where: Place, obj: Object) -> Object:
        """What creating makes of it, and it is right so."""
        self._check_namespace(kind, where.namespace, obj["metadata"].get("name", ""))
        self._check_definition(kind, obj["metadata"].get("name", ""))
        classes = self.store.select(PRIORITIES) if kind.stored == "pods" else []
        obj = rules.for_create(kind, obj, [one.json() for one in classes])
        rules.check(kind, obj, None)
        return obj

    def _check_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        if not kind.namespaced:
            return
        stored = self.store.get(Key("namespaces", "", namespace))
        if stored is None:
            raise status.not_found(status.About("", "namespaces", namespace))
        if "deletionTimestamp" in stored.json()["metadata"]:
            refused = status.forbidden(kind.resource(name), BEING_ENDED.format(namespace))
            message = f"namespace {namespace} is being terminated"
            refused.causes = [Cause("NamespaceTerminating", message, "metadata.namespace")]
            raise refused

    def _check_definition(self, kind: Kind, name: str) -> None:
        stored = self.store.get(Key(rules.DEFINITIONS, "", kind.stored)) if kind.custom else None
        # A definition may be large, and most are there to stay.
        if stored and b"deletionTimestamp" in stored.body and "deletionTimestamp" in stored.json()["metadata"]:
            raise status.forbidden(kind.resource(name), DEFINITION_ENDS)

    def _stored(self, kind: Kind, obj: Object, options: WriteOptions, warnings: Sequence[str]) -> Written:
        name = obj["metadata"]["name"]
        key = Key(kind.kept, obj["metadata"].get("namespace", ""), name)
        known = self.store.get(key)
        if known is not None:
            raise status.already_exists(kind.resource(name), ending="deletionTimestamp" in known.json()["metadata"])
        if not options.dry_run:
            self.store.put(key, obj)
        return Written(obj, created=True, warnings=[*warnings, *rules.remarks(kind, obj)])

    # ── update, patch ─────────────────────────────────────────────────────────────────────────────────────────────

    def update(self, kind: Kind, where: Place, options: WriteOptions, body: Body) -> Written:
        """Raises Refused 400, 404, 409, 422."""
        if rules.created_by_update(kind) and not where.subresource and not self.store.get(reading.key(kind, where)):
            return self.create(kind, where, options, body)
        obj, warnings = rules.decoded(kind, body.value, options.validation, body.duplicates)
        return self.modify(kind, where, options, lambda old: _meant(kind, obj, old), warnings)

    def patch(self, kind: Kind, where: Place, options: WriteOptions, patch: Patch) -> Written:
        """Raises Refused 400, 404, 409, 415, 422."""
        if patch.type == APPLY:
            return self._apply(kind, where, options, patch.body)
        warnings: list[str] = []

        def patched(old: Object) -> Object:
            obj, said = rules.patched(kind, patch.applied(old, kind), options.validation)
            warnings.extend(said)
            return obj

        return self.modify(kind, where, options, patched, warnings)

    def modify(
        self, kind: Kind, where: Place, options: WriteOptions, change: Step, warnings: Sequence[str] = ()
    ) -> Written:
        """Write what `change` makes of the object. Raises Refused 404, 409, 422."""
        stored = reading.found(self.store, kind, where)
        old = reading.obj(kind, stored)
        obj = rules.placed(kind, where, change(reading.obj(kind, stored)))
        obj = rules.defaulted(kind, _continued(kind, obj, old))
        obj = fields.updated(old, obj, kind, self._write(where, options))
        return self._replaced(kind, stored, self._next(kind, where, obj, old), options, warnings)

    def _apply(self, kind: Kind, where: Place, options: WriteOptions, config: JSON) -> Written:
        """Server-side apply: the only patch that creates what is not there."""
        config = rules.configured(kind, where, config)
        stored = self.store.get(reading.key(kind, where))
        if stored is None:
            return self._created_by_apply(kind, where, options, config)
        return self._merged(kind, where, options, config, stored)

    def apply_scale(self, kind: Kind, where: Place, options: WriteOptions, config: JSON) -> Written:
        """Server-side apply of a `Scale`; what comes of it is the object. Raises Refused 400, 404, 409, 422."""
        return self._merged(kind, where, options, config, reading.found(self.store, kind, where))

    def _merged(self, kind: Kind, where: Place, options: WriteOptions, config: JSON, stored: Stored) -> Written:
        old = reading.obj(kind, stored)
        merged = fields.applied(old, config, kind, self._write(where, options), options.force)
        obj, warnings = rules.decoded(kind, merged, options.validation)
        obj = rules.defaulted(kind, _continued(kind, rules.placed(kind, where, obj), old))
        obj = fields.settled(old, obj)
        return self._replaced(kind, stored, self._next(kind, where, obj, old), options, warnings)

    def _created_by_apply(self, kind: Kind, where: Place, options: WriteOptions, config: Object) -> Written:
        if where.subresource:
            raise status.not_found(kind.resource(where.name))
        if uid := config["metadata"].get("uid"):
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
            raise status.conflict(kind.resource(where.name), why)
        merged = fields.applied(None, config, kind, self._write(where, options), options.force)
        obj, warnings = rules.decoded(kind, merged, options.validation)
        obj = self._born(kind, rules.placed(kind, where, obj))
        return self._stored(kind, self._checked(kind, where, obj), options, warnings)

    def _next(self, kind: Kind, where: Place, obj: Object, old: Object) -> Object:
        """What an update makes of it, and it is right so."""
        obj = rules.for_update(kind, obj, old, where.subresource)
        rules.check(kind, obj, old, where.subresource)
        return obj

    def _replaced(
        self, kind: Kind, stored: Stored, obj: Object, options: WriteOptions, warnings: Sequence[str]
    ) -> Written:
        """Write what has changed. An object that only waited for its last finalizer goes away."""
        obj["metadata"]["resourceVersion"] = str(stored.revision)
        if options.dry_run or _same(obj, stored):
            return Written(obj, warnings=warnings)
        if deleting.finished(obj):
            self.store.delete(stored.key)
            return Written(obj, gone=True, warnings=warnings)
        self.store.put(stored.key, obj)
        return Written(obj, warnings=[*warnings, *rules.remarks(kind, obj)])

    # ── delete ────────────────────────────────────────────────────────────────────────────────────────────────────

    def delete(self, kind: Kind, where: Place, options: DeleteOptions) -> Written:
        """Raises Refused 404, 409."""
        stored = reading.found(self.store, kind, where)
        old = reading.obj(kind, stored)
        deleting.check_preconditions(kind, old, options)
        obj = deleting.marked(kind, old, options, self.now())
        if obj is None:
            if not options.dry_run:
                self.store.delete(stored.key)
            return Written(old, gone=True)
        if obj != old and not options.dry_run:
            self.store.put(stored.key, obj)
        return Written(obj)

    def delete_collection(self, kind: Kind, where: Place, listed: ListOptions, options: DeleteOptions) -> list[Written]:
        """Delete what a list would show. Raises Refused 400."""
        matches = reading.matcher(kind, listed)
        done = []
        for stored in self.store.select(kind.kept, where.namespace)[: listed.limit or None]:
            if matches is None or matches(reading.obj(kind, stored)):
                _, namespace, name = stored.key
                there = Place(kind.group, kind.version, kind.plural, namespace, name)
                done.append(self.delete(kind, there, options))
        return done

    def _write(self, where: Place, options: WriteOptions) -> Write:
        return Write(options.manager, rfc3339(self.now()), where.subresource)


def _same(obj: Object, stored: Stored) -> bool:
    """Whether nothing has changed. To Python true is 1, to JSON it is not."""
    known = stored.json()
    order = orjson.OPT_SORT_KEYS
    return obj == known and orjson.dumps(obj, option=order) == orjson.dumps(known, option=order)


def _meant(kind: Kind, obj: Object, old: Object) -> Object:
    """The object of a PUT, if it is meant for the one that is there. Raises Refused 409."""
    there, uid = old["metadata"]["uid"], (obj.get("metadata") or {}).get("uid")
    if uid and uid != there:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {there}"
        raise status.conflict(kind.resource(old["metadata"]["name"]), why)
    return obj


def _continued(kind: Kind, obj: Object, old: Object) -> Object:
    """With the metadata that stays as it is where an update does not say it. Raises Refused 409, 422, 500."""
    meta, known = obj["metadata"], old["metadata"]
    wanted = meta.get("resourceVersion", "")
    if wanted not in ("", known["resourceVersion"]):
        if not wanted.isdigit():
            why = f'strconv.ParseUint: parsing "{wanted}": invalid syntax'
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "", why)
        raise status.conflict(kind.resource(known["name"]), status.STALE)
    if not wanted and not rules.unconditional(kind):
        cause = status.wrong("metadata.resourceVersion", 0, "must be specified for an update")
        raise status.invalid(kind.resource(known["name"]), [cause])
    meta["resourceVersion"] = known["resourceVersion"]
    for key in STAYING:
        if key in known:
            meta.setdefault(key, known[key])
    for key in OURS:
        meta.pop(key, None)
        if key in known:
            meta[key] = known[key]
    return obj
