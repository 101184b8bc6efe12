"""Who owns the replica count of an object that is written through its `scale`.

The API server shows the owners of the count to the Scale as its own managed fields, lets the write change them, and
takes them back. That loses the times of entries, and the entries of updates come back apart from what else they own.

https://github.com/kubernetes/kubernetes/issues/82046 has the design.
"""

from dataclasses import replace
from http import HTTPStatus

from kubesandbox.fields import tracking
from kubesandbox.fields.differences import shape_in
from kubesandbox.fields.entries import Entries, read, written
from kubesandbox.fields.shapes import OBJECT
from kubesandbox.fields.tracking import Write, managed, managed_by
from kubesandbox.kinds import Kind
from kubesandbox.status import Refused
from kubetypes.field_sets import Path, difference, has, of
from kubetypes.json_values import JSON
from kubetypes.openapi.schemas import Schema

REPLICAS = ("f:spec", "f:replicas")
COUNT = {"type": "object", "default": {}, "properties": {"replicas": {"type": "integer"}}}
SCALE = Kind(
    "autoscaling", "v1", "Scale", "scales", True, schema=Schema({"properties": {**OBJECT, "spec": COUNT, "status": {}}})
)


def updated(live: JSON, new: JSON, kind: Kind, write: Write) -> JSON:
    """The object with a replica count written through `scale`, and its managed fields."""
    seen = tracking.updated(_scale(live, kind), _scale(new, kind), SCALE, write)
    return managed_by(new, _taken_back(live, seen, kind))


def applied(live: JSON, config: JSON, kind: Kind, write: Write, force: bool) -> JSON:
    """The object with a Scale applied to it. Raises `Refused`, always 500 for a custom kind, as a real one does."""
    before = _scale(live, kind)
    seen = tracking.applied(before, config, SCALE, write, force)
    if kind.custom and seen["spec"] != before["spec"]:
        why = "request to convert CR to an invalid group/version: autoscaling/v1"
        name = f"/{config.get('metadata', {}).get('name', '')}; autoscaling/v1, Kind=Scale"
        message = f"failed to convert new object ({name}) to proper version: {why}"
        raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)
    changed = _with(live, _path(kind), (seen.get("spec") or {}).get("replicas", 0))
    return managed_by(changed, _taken_back(live, seen, kind))


def _path(kind: Kind) -> Path:
    """Where the count is in the object."""
    versions = kind.definition["versions"] if kind.definition else ()
    for version in versions:
        if version["name"] == kind.version:
            return tuple(f"f:{name}" for name in version["subresources"]["scale"]["specReplicasPath"].split(".")[1:])
    return REPLICAS


def _scale(obj: JSON, kind: Kind) -> JSON:
    """What an owner of the count sees. Go leaves out a count of 0."""
    path = _path(kind)
    count = obj
    for key in path:
        count = (count or {}).get(key[2:])
    entries = read(managed(obj) or ())
    views = [
        replace(entry, api_version=SCALE.api_version, fields=of(REPLICAS))
        for entry in entries.values()
        if has(entry.fields, path)
    ]
    metadata = {"name": obj["metadata"]["name"], "managedFields": [entry.json() for entry in views]}
    spec = {"replicas": count} if count else {}
    return {"apiVersion": SCALE.api_version, "kind": "Scale", "metadata": metadata, "spec": spec}


def _taken_back(live: JSON, scale: JSON, kind: Kind) -> list[JSON]:
    """The entries of the object, as those of its Scale change them."""
    path = _path(kind)
    before, seen = read(managed(live) or ()), read(managed(scale) or ())
    kept: Entries = {}
    for who, entry in before.items():
        fields = entry.fields if who in seen else difference(entry.fields, of(path))
        if shape_in(kind, entry.api_version) is not None and fields:
            kept[who] = replace(entry, fields=fields)
    for who, entry in seen.items():
        if has(entry.fields, REPLICAS) and not (who in kept and has(kept[who].fields, path)):
            time = before[who].time if who in before else None
            kept[who] = replace(entry, api_version=kind.api_version, time=time, fields=of(path))
    return written(kept, managed(live) or ())


def _with(obj: JSON, path: Path, count: JSON) -> JSON:
    if not path:
        return count
    return {**obj, path[0][2:]: _with(obj.get(path[0][2:]) or {}, path[1:], count)}
