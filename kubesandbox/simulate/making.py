"""How controllers make objects: owner references, names with hashes, conditions, Pods from templates. Pure.

https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
"""

import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime

import orjson

from kubesandbox.names import ALPHABET
from kubesandbox.rules import Object
from kubesandbox.times import rfc3339

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
    """Whether a Pod or a Node says that it is Ready."""
    return bool(condition(obj.get("status", {}).get("conditions"), "Ready").get("status") == "True")


def is_ending(obj: Object) -> bool:
    """Whether its deletion was asked for."""
    return "deletionTimestamp" in obj["metadata"]


def is_active(pod: Object) -> bool:
    """Whether a Pod has not ended and is not to end."""
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
