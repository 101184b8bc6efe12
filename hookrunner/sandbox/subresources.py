"""What is below an object: `status` is the object itself seen with other rights, `scale` another view of it; a
Namespace is finished by `finalize`, a Pod leaves by `eviction` and gets its node by `binding`.
"""

from collections.abc import Mapping
from dataclasses import replace

from hookrunner.model.resources import JSON
from hookrunner.sandbox import delete_options, reading, status
from hookrunner.sandbox.api import Api, Written
from hookrunner.sandbox.bodies import Body
from hookrunner.sandbox.kinds import Kind
from hookrunner.sandbox.patching import APPLY, Patch
from hookrunner.sandbox.requests import DeleteOptions, Place, WriteOptions
from hookrunner.sandbox.rules import Object
from hookrunner.sandbox.status import bad_request
from hookrunner.sandbox.structural import scaling

PLAIN = ("", "status")


def get(kind: Kind, where: Place, obj: Object) -> Object:
    """What a GET below an object shows."""
    return scaling.scale(obj, kind) if where.subresource == "scale" else obj


def update(api: Api, kind: Kind, where: Place, options: WriteOptions, body: Body) -> Written:
    """PUT of an object or of what is below it."""
    if where.subresource != "scale":
        return api.update(kind, where, options, body)
    return _scaled(api, kind, where, options, body.value)


def patch(api: Api, kind: Kind, where: Place, options: WriteOptions, patch: Patch) -> Written:
    """PATCH of an object or of what is below it."""
    if where.subresource != "scale":
        return api.patch(kind, where, options, patch)
    if patch.type == APPLY:
        done = api.apply_scale(kind, where, options, patch.body)
        return Written(scaling.scale(done.obj, kind), warnings=done.warnings)
    there = scaling.scale(reading.obj(kind, reading.found(api.store, kind, where)), kind)
    return _scaled(api, kind, where, options, patch.applied(there, kind))


def _scaled(api: Api, kind: Kind, where: Place, options: WriteOptions, scale: JSON) -> Written:
    replicas = _spec(scale).get("replicas", 0)
    if type(replicas) is not int:
        raise bad_request('Scale in version "v1" cannot be handled as a Scale: spec.replicas must be a number')
    if replicas < 0:
        cause = status.wrong("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid(status.About("autoscaling", "Scale", where.name), [cause])
    version = str((scale.get("metadata") or {}).get("resourceVersion") or "")
    done = api.modify(kind, where, options, lambda old: _versioned(scaling.with_replicas(old, replicas, kind), version))
    return Written(scaling.scale(done.obj, kind), warnings=done.warnings)


def _spec(scale: JSON) -> Mapping[str, JSON]:
    spec = scale.get("spec") if isinstance(scale, dict) else None
    if not isinstance(spec, dict | None):
        raise bad_request('Scale in version "v1" cannot be handled as a Scale: spec must be an object')
    return spec or {}


def _versioned(obj: Object, version: str) -> Object:
    if version:
        obj["metadata"]["resourceVersion"] = version
    return obj


def create(api: Api, kind: Kind, where: Place, options: WriteOptions, body: JSON) -> Written:
    """POST below an object. Raises Refused."""
    reading.found(api.store, kind, where)
    if where.subresource == "eviction":
        return api.delete(kind, where, _evicting(where, options, body))
    target = body.get("target") if isinstance(body, dict) else None
    node = target.get("name") if isinstance(target, dict) else None
    if not node:
        raise bad_request('Binding in version "v1" cannot be handled as a Binding: target.name is required')
    return api.modify(kind, where, options, lambda old: _bound(old, str(node)))


def _evicting(where: Place, options: WriteOptions, body: JSON) -> DeleteOptions:
    """The deletion that an `Eviction` asks for. Raises Refused 400, 422."""
    said = body if isinstance(body, dict) else {}
    if said.get("kind") not in (None, "", "Eviction"):
        raise bad_request(f"{said['kind']} cannot be handled as a Eviction: unknown conversion")
    if (said.get("metadata") or {}).get("name") != where.name:
        raise bad_request("name in URL does not match name in Eviction object")
    asked = delete_options.read({}, said.get("deleteOptions"), "delete")
    return replace(asked, dry_run=asked.dry_run or options.dry_run)


def _bound(pod: Object, node: str) -> Object:
    known = pod["spec"].get("nodeName")
    if known:
        about = status.About("", "pods/binding", pod["metadata"]["name"])
        raise status.conflict(about, f'pod {pod["metadata"]["name"]} is already assigned to node "{known}"')
    pod["spec"]["nodeName"] = node
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [one for one in conditions if one["type"] != "PodScheduled"] + [scheduled]
    return pod
