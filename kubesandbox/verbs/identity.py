"""The identity of an object: uid, times, resourceVersion; and what a write may say of them. Pure."""

from http import HTTPStatus

import orjson

from kubesandbox import status
from kubesandbox.kinds import Kind
from kubesandbox.status import Refused
from kubesandbox.store import Stored
from kubesandbox.verbs import rules
from kubesandbox.verbs.rules import Object

GIVEN = ("selfLink", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
STAYING = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
OURS = ("generation", "creationTimestamp")


def bare(obj: Object) -> Object:
    """Without the metadata that only the server gives. In place. Raises Refused 500."""
    meta = obj["metadata"]
    if meta.pop("resourceVersion", "") not in ("", "0"):
        message = "resourceVersion should not be set on objects to be created"
        raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)
    for key in GIVEN:
        meta.pop(key, None)
    return obj


def same(obj: Object, stored: Stored) -> bool:
    """Whether nothing has changed. To Python true is 1, to JSON it is not."""
    known = stored.json()
    order = orjson.OPT_SORT_KEYS
    return obj == known and orjson.dumps(obj, option=order) == orjson.dumps(known, option=order)


def meant(kind: Kind, obj: Object, old: Object) -> Object:
    """The object of a PUT, if its uid and version fit the stored one. Raises Refused 409."""
    there, uid = old["metadata"]["uid"], (obj.get("metadata") or {}).get("uid")
    if uid and uid != there:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {there}"
        raise status.conflict(kind.resource(old["metadata"]["name"]), why)
    return obj


def continued(kind: Kind, obj: Object, old: Object) -> Object:
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
