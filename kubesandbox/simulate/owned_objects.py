"""Objects that controllers own: made with owner references, names with hashes, conditions and Pods from templates;
their revisions; their adoption. Pure.

https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
"""

import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime

import orjson

from kubesandbox.names import ALPHABET
from kubesandbox.query.selectors import from_object
from kubesandbox.simulate.world import Create, Delete, Update, World, Write, controller
from kubesandbox.times import rfc3339
from kubesandbox.verbs.rules import Object
from kubetypes.light_dataclasses import dataclass

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def owned_by(owner: Object) -> list[Object]:
    """The owner references of what a controller makes."""
    meta = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    return [{**reference, "controller": True, "blockOwnerDeletion": True}]


def child(owner: Object, api_version: str, kind: str, metadata: Object) -> Object:
    """The beginning of an object in the owner's namespace."""
    meta = {"namespace": owner["metadata"]["namespace"], "ownerReferences": owned_by(owner), **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}


def pod(owner: Object, template: Object, metadata: Object) -> Object:
    """A Pod of a template. `metadata` has its name or `generateName`, and what labels there are besides."""
    meta = template.get("metadata") or {}
    labels = {**(meta.get("labels") or {}), **metadata.get("labels", {})}
    annotations = {**(meta.get("annotations") or {}), **metadata.get("annotations", {})}
    made = child(owner, "v1", "Pod", {**metadata, "labels": labels})
    if annotations:
        made["metadata"]["annotations"] = annotations
    if meta.get("finalizers"):
        made["metadata"]["finalizers"] = meta["finalizers"]
    return {**made, "spec": template["spec"]}


def template_hash(template: Object) -> str:
    """Ten characters or less that stand for a template, in the alphabet of generated names."""
    number = zlib.crc32(orjson.dumps(template, option=orjson.OPT_SORT_KEYS))
    return "".join(ALPHABET[ord(digit) % len(ALPHABET)] for digit in str(number))


def when(text: str) -> datetime:
    """The time that the API has written."""
    return datetime.fromisoformat(text)


def condition(conditions: Iterable[Object] | None, type_: str) -> Object:
    """The condition of a type, an empty one without it."""
    return next((one for one in conditions or () if one["type"] == type_), {})


def with_condition(conditions: Sequence[Object] | None, new: Object, now: datetime) -> list[Object]:
    """The conditions with a new one in its place; `lastTransitionTime` stays if the status does."""
    old = condition(conditions, new["type"])
    since = old.get("lastTransitionTime") if old.get("status") == new["status"] else None
    written = {**new, "lastTransitionTime": since or rfc3339(now)}
    if not old:
        return [*(conditions or ()), written]
    return [written if one["type"] == new["type"] else one for one in conditions or ()]


def is_ready(obj: Object) -> bool:
    """Whether a Pod or a Node has the condition Ready."""
    return bool(condition(obj.get("status", {}).get("conditions"), "Ready").get("status") == "True")


def is_ending(obj: Object) -> bool:
    """Whether it is being deleted."""
    return "deletionTimestamp" in obj["metadata"]


def is_active(pod: Object) -> bool:
    """Whether a Pod has not ended and is not being deleted."""
    return not is_ending(pod) and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def is_available(pod: Object, seconds: int, now: datetime) -> bool:
    """Whether a Pod has been Ready for `minReadySeconds`."""
    if not is_ready(pod) or not seconds:
        return is_ready(pod)
    since = condition(pod["status"]["conditions"], "Ready")["lastTransitionTime"]
    return (now - when(since)).total_seconds() >= seconds


def age(obj: Object) -> tuple[str, str]:
    """Sorts the oldest first."""
    return obj["metadata"]["creationTimestamp"], obj["metadata"]["name"]


# ── ControllerRevisions ───────────────────────────────────────────────────────────────────────────────────────────────

# ControllerRevisions: the templates that a StatefulSet or a DaemonSet had, for `kubectl rollout history` and `undo`.
#
# https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/controller-revision-v1/


REVISIONS = "controllerrevisions.apps"


@dataclass(frozen=True, slots=True)
class Revision:
    """The newest: its hash, its object's name, and what has to be written so that it and no surplus are there."""

    hash: str
    name: str
    writes: tuple[Write, ...]


def newest(owner: Object, world: World, label: str) -> Revision:
    """The revision of the owner's template as it is now. `label` is the key of the hash."""
    known = sorted(world.owned(REVISIONS, owner), key=lambda one: int(one["revision"]))
    template = owner["spec"]["template"]
    short = template_hash(template)
    name = f"{owner['metadata']['name']}-{short}"
    there = next((one for one in known if one["metadata"]["name"] == name), None)
    number = known[-1]["revision"] + 1 if known else 1
    if there is None:
        return Revision(short, name, (Create(_made(owner, name, {label: short}, number)),))
    if there is not known[-1]:
        return Revision(short, name, (Update({**there, "revision": number}),))
    surplus = len(known) - 1 - owner["spec"].get("revisionHistoryLimit", 10)
    return Revision(short, name, tuple(Delete(one) for one in known[: max(0, surplus)]))


def _made(owner: Object, name: str, label: dict[str, str], number: int) -> Object:
    template = owner["spec"]["template"]
    labels = {**((template.get("metadata") or {}).get("labels") or {}), **label}
    metadata = {"name": name, "labels": labels, "annotations": owner["metadata"].get("annotations") or {}}
    made = child(owner, "apps/v1", "ControllerRevision", metadata)
    return {**made, "data": {"spec": {"template": {"$patch": "replace", **template}}}, "revision": number}


# ── adoption ──────────────────────────────────────────────────────────────────────────────────────────────────────────

# Adoption: a controller adopts objects that its selector matches and no controller owns, and releases objects that it
# no longer matches. So Pods can be taken out of a set by a label, and sets survive `kubectl delete --cascade=orphan`.
#
# https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#non-template-pod-acquisitions


def claimed(owner: Object, world: World, resource: str) -> tuple[Write, ...]:
    """The references that have to be added or taken away before children can be counted."""
    if is_ending(owner):
        return ()
    selector = from_object(owner["spec"]["selector"])
    writes: list[Write] = []
    for obj in world.all(resource, owner["metadata"]["namespace"]):
        meta, reference = obj["metadata"], controller(obj)
        references = meta.get("ownerReferences") or []
        named = selector.matches(meta.get("labels") or {})
        if reference is None and named and not is_ending(obj):
            writes.append(_with_owners(obj, [*references, *owned_by(owner)]))
        elif reference is not None and reference["uid"] == owner["metadata"]["uid"] and not named:
            writes.append(_with_owners(obj, [one for one in references if one is not reference]))
    return tuple(writes)


def _with_owners(obj: Object, references: list[Object]) -> Update:
    return Update({**obj, "metadata": {**obj["metadata"], "ownerReferences": references}})
