"""What is below an object: `status` is the object itself seen with other rights, `scale` another view of it; a
Namespace is finished by `finalize`, a Pod leaves by `eviction` and gets its node by `binding`.
"""

from collections.abc import Mapping
from dataclasses import replace

from kubesandbox import status
from kubesandbox.kinds import Kind
from kubesandbox.query import requests
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.status import bad_request
from kubesandbox.structural import scaling
from kubesandbox.verbs import reading
from kubesandbox.verbs.bodies import Body
from kubesandbox.verbs.gate import OPEN, AdmissionGate
from kubesandbox.verbs.patching import APPLY, Patch
from kubesandbox.verbs.rules import Object
from kubesandbox.verbs.verbs import Verbs, Written
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

PLAIN = ("", "status")


def get(kind: Kind, where: Place, obj: Object) -> Object:
    """What a GET below an object shows."""
    return scaling.scale(obj, kind) if where.subresource == "scale" else obj


async def update(verbs: Verbs, kind: Kind, where: Place, options: WriteParameters, body: Body) -> Written:
    """PUT of an object or of what is below it."""
    if where.subresource != "scale":
        return await verbs.update(kind, where, options, body)
    return await _write_scale(verbs, kind, where, options, body.value)


async def patch(verbs: Verbs, kind: Kind, where: Place, options: WriteParameters, patch: Patch) -> Written:
    """PATCH of an object or of what is below it."""
    if where.subresource != "scale":
        return await verbs.patch(kind, where, options, patch)
    scales = _of_scale(verbs, kind)
    if patch.type == APPLY:
        done = await scales.apply(kind, where, options, patch.body)
        return Written(scaling.scale(done.obj, kind), warnings=done.warnings)
    there = scaling.scale(reading.obj(kind, await verbs.find(kind, where)), kind)
    return await _write_scale(verbs, kind, where, options, patch.applied(there, kind))


async def _write_scale(verbs: Verbs, kind: Kind, where: Place, options: WriteParameters, scale: JSON) -> Written:
    replicas = replicas_of(scale)
    if replicas < 0:
        cause = status.wrong("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid(status.About("autoscaling", "Scale", where.name), [cause])
    version = str((scale.get("metadata") or {}).get("resourceVersion") or "")

    def change(old: Object) -> Object:
        return _versioned(scaling.with_replicas(old, replicas, kind), version)

    done = await _of_scale(verbs, kind).modify(kind, where, options, change)
    return Written(scaling.scale(done.obj, kind), warnings=done.warnings)


def replicas_of(scale: JSON) -> int:
    """How many a `Scale` wants. Raises Refused 400."""
    replicas = _spec(scale).get("replicas", 0)
    if type(replicas) is not int:
        raise bad_request('Scale in version "v1" cannot be handled as a Scale: spec.replicas must be a number')
    return replicas


def _spec(scale: JSON) -> Mapping[str, JSON]:
    spec = scale.get("spec") if isinstance(scale, dict) else None
    if not isinstance(spec, dict | None):
        raise bad_request('Scale in version "v1" cannot be handled as a Scale: spec must be an object')
    return spec or {}


def _versioned(obj: Object, version: str) -> Object:
    if version:
        obj["metadata"]["resourceVersion"] = version
    return obj


async def create(verbs: Verbs, kind: Kind, where: Place, options: WriteParameters, body: JSON) -> Written:
    """POST to a subresource. The request has to pass the gate, the writes that follow do not. Raises Refused."""
    reading.found(verbs.store, kind, where)
    if where.subresource == "eviction":
        _evicting(where, options, body if isinstance(body, dict) else {})
    asked = await _admit(verbs, kind, where, body)
    freely = replace(verbs, gate=OPEN)
    if where.subresource == "eviction":
        return await freely.delete(kind, where, _evicting(where, options, asked))
    target = asked.get("target")
    node = target.get("name") if isinstance(target, dict) else None
    if not node:
        raise bad_request('Binding in version "v1" cannot be handled as a Binding: target.name is required')
    return await freely.modify(kind, where, options, lambda old: _bound(old, str(node)))


async def _admit(verbs: Verbs, kind: Kind, where: Place, body: JSON) -> Object:
    said = body if isinstance(body, dict) else {}
    below = kind.subresources[where.subresource]
    version = f"{below.group}/{below.version}" if below.group else below.version
    meta = said.get("metadata") or {}
    asked = {"kind": below.kind, "apiVersion": version, **said}
    if isinstance(meta, dict):
        asked["metadata"] = {**meta, "namespace": where.namespace}
    asked = await verbs.gate.mutate(asked, None)
    await verbs.gate.check(asked, None)
    return asked


def _evicting(where: Place, options: WriteParameters, said: Object) -> DeleteParameters:
    """The deletion that an `Eviction` asks for. Raises Refused 400, 422."""
    if said.get("kind") not in (None, "", "Eviction"):
        raise bad_request(f"{said['kind']} cannot be handled as a Eviction: unknown conversion")
    if (said.get("metadata") or {}).get("name") != where.name:
        raise bad_request("name in URL does not match name in Eviction object")
    asked = requests.delete_options({}, said.get("deleteOptions"), "delete")
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


@dataclass(frozen=True, slots=True)
class _ScaleGate:
    """A gate that sees the `Scale` of an object."""

    gate: AdmissionGate
    kind: Kind

    async def mutate(self, obj: Object, old: Object | None) -> Object:
        before = scaling.scale(obj, self.kind)
        scale = await self.gate.mutate(before, old and scaling.scale(old, self.kind))
        if scale is before:
            return obj
        changed: Object = scaling.with_replicas(obj, replicas_of(scale), self.kind)
        return changed

    async def check(self, obj: Object, old: Object | None) -> None:
        await self.gate.check(scaling.scale(obj, self.kind), old and scaling.scale(old, self.kind))

    async def check_deletion(self, old: Object) -> None:
        """A Scale is not deleted."""


def _of_scale(verbs: Verbs, kind: Kind) -> Verbs:
    return verbs if verbs.gate is OPEN else replace(verbs, gate=_ScaleGate(verbs.gate, kind))
