"""Which release owns an object: Helm's marks on it, whether that release still exists, and which objects were adopted.

An operator that has moved to another namespace, or a namespace that was deleted with its records, leaves objects whose
owner does not exist any more. Those may be adopted; the objects of a release that exists, or may exist, never are.
Source: https://helm.sh/docs/topics/charts_hooks/ and the checks of `helm install` before it adopts an object.
"""

import asyncio
import base64
from collections import defaultdict
from dataclasses import dataclass, field

from hookrunner import log
from hookrunner.errors import Denied, KubeError, NotFound, ReleaseFailed
from hookrunner.kube.client import Client
from hookrunner.model.releases import Adoption
from hookrunner.model.resources import Resource
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.releases.records.record_storage import OTHER, RecordStorage
from kubetypes.json_values import JSON

MANAGER = "helm"
"""The field manager of everything that we apply, as for Helm and addon-operator."""

NAME = "meta.helm.sh/release-name"
NAMESPACE = "meta.helm.sh/release-namespace"
MANAGED_BY = {"app.kubernetes.io/managed-by": "Helm"}
POLICY = "helm.sh/resource-policy"

ADOPT = "hookrunner.io/adopt"
"""On an object in a template, "true": adopt it if it exists already and belongs to no release, or to one without a
record."""

RECREATE = "hookrunner.io/recreate"
"""On an object in a template, "true": delete and create it if an immutable field changes."""


def owned(obj: JSON, resource: Resource, identity: ReleaseId) -> JSON:
    """The object of a manifest as it is sent: with the marks of its release, and with its namespace."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "namespace"}
    if resource.namespaced:
        metadata["namespace"] = obj["metadata"].get("namespace") or identity.namespace
    marks = {NAME: identity.name, NAMESPACE: identity.namespace}
    metadata["labels"] = (metadata.get("labels") or {}) | MANAGED_BY
    metadata["annotations"] = (metadata.get("annotations") or {}) | marks
    return plain(obj) | {"metadata": metadata}


def plain(obj: JSON) -> JSON:
    """The object as the server stores it: `stringData` of a Secret becomes `data`. An apply would own the former, and
    keys that are removed from it would stay in the latter."""
    texts = obj.get("stringData")
    if (
        obj.get("kind") != "Secret"
        or not isinstance(texts, dict)
        or not all(isinstance(v, str) for v in texts.values())
    ):
        return obj
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    rest = {key: value for key, value in obj.items() if key != "stringData"}
    return rest | {"data": (obj.get("data") or {}) | data}


def owner(metadata: JSON) -> ReleaseId | None:
    """The release to which a live object belongs, None without one."""
    annotations = metadata.get("annotations") or {}
    name = annotations.get(NAME)
    return ReleaseId(name, annotations.get(NAMESPACE, "")) if name else None


def check_unowned(identity: ReleaseId, allowed: bool) -> None:
    """Raise ReleaseFailed unless `identity` may adopt an object that belongs to no release."""
    if not allowed:
        raise ReleaseFailed(f"it exists already and belongs to no release: delete it, or {ways_to_adopt(identity)}")


def ways_to_adopt(identity: ReleaseId) -> str:
    """How to allow the adoption of an object, for a person."""
    return (
        f"adopt it by `hookrunner module adopt {identity.name}`, by the annotation"
        f' {ADOPT}: "true" in the template, or by `adopt: true` in module.yaml'
    )


def was_written(metadata: JSON) -> bool:
    """Has a release ever written the live object? A manifest does not say so: an attempt that failed because the object
    is not ours has it, too."""
    return any(entry.get("manager") == MANAGER for entry in metadata.get("managedFields") or ())


def is_marked(metadata: JSON, annotation: str) -> bool:
    """Is this annotation "true"?"""
    return str((metadata.get("annotations") or {}).get(annotation)).lower() == "true"


def must_stay(metadata: JSON) -> bool:
    """Must the object stay when its release is deleted (https://helm.sh/docs/howto/charts_tips_and_tricks/)?"""
    return str((metadata.get("annotations") or {}).get(POLICY)).strip().lower() == "keep"


_FRESH = 2.0
"""Seconds for which an answer is cached: hundreds of objects may name the same owner."""

_LOG = log.get("releases.owners")


@dataclass(slots=True)
class _Answer:
    """A record of one release, empty if it has none, and when (loop time) the cluster was asked."""

    record: str = ""
    asked_at: float = float("-inf")
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)


class ReleaseOwners:
    """The releases of one cluster, as owners of objects."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._records = [RecordStorage(client, driver) for driver in OTHER]
        self._answers: defaultdict[ReleaseId, _Answer] = defaultdict(_Answer)
        self._adoptions: defaultdict[ReleaseId, list[Adoption]] = defaultdict(list)

    async def check_owner_absent(self, owner: ReleaseId, identity: ReleaseId, allowed: bool) -> None:
        """Raise ReleaseFailed, with the reason and what to do, unless release `owner` of an object has no record any
        more and `identity` may adopt its objects. Raises KubeError if the server cannot be asked."""
        belongs = f"it belongs to release {owner}"
        if not owner.namespace:
            raise ReleaseFailed(
                f"{belongs} of an unknown namespace: add its annotation {NAMESPACE}, or delete the object"
            )
        try:
            record = await self._record(owner)
        except Denied as error:
            raise ReleaseFailed(
                f"{belongs}, and it is unknown whether that still exists, so the object is not adopted: {error};"
                f" grant the right to list secrets and configmaps in namespace {owner.namespace}"
            ) from error
        if record:
            raise ReleaseFailed(
                f"{belongs}, and two releases may not have the same object. That release has a record, {record}; if "
                f"it is no longer maintained: kubectl delete secret,configmap -n {owner.namespace} "
                f"-l owner=helm,name={owner.name}, then hookrunner module adopt {identity.name}"
            )
        if not allowed:
            raise ReleaseFailed(f"{belongs}, which has no record any more: {ways_to_adopt(identity)}")

    def note(self, identity: ReleaseId, adoption: Adoption) -> None:
        """Note that `identity` has adopted an object."""
        level = "warn" if adoption.owner else "info"
        owner = adoption.owner or "none"
        _LOG.log(level, "object adopted", release=str(identity), object=adoption.object, owner=owner)
        self._adoptions[identity].append(adoption)

    def adopted(self, identity: ReleaseId) -> tuple[Adoption, ...]:
        """The objects that this release has adopted since the last call, in the order of names."""
        return tuple(sorted(self._adoptions.pop(identity, ()), key=lambda adoption: adoption.object))

    async def _record(self, owner: ReleaseId) -> str:
        """Find a record of a release, of either kind, as `Secret <namespace>/<name>`; empty without one. Raises Denied
        without the right to list records, or another KubeError."""
        now, answer = asyncio.get_running_loop().time, self._answers[owner]
        async with answer.asking:
            if now() - answer.asked_at >= _FRESH:
                answer.record = await self._look_up(owner)
                answer.asked_at = now()
            return answer.record

    async def _look_up(self, owner: ReleaseId) -> str:
        try:
            for records in self._records:
                if found := await records.find(*owner):
                    return found
        except Denied:
            if not await self._is_absent(owner.namespace):
                raise
        return ""

    async def _is_absent(self, namespace: str) -> bool:
        """Is it certain that a namespace does not exist?"""
        try:
            await self._client.get(f"/api/v1/namespaces/{namespace}")
        except NotFound:
            return True
        except KubeError:
            return False
        return False
