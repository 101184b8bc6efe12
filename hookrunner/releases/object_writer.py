"""Writes one object of a release: creates, applies, recreates, adopts or deletes it.

A new object is created by POST, which fails if another client was first, so that nothing can change between the check
of the owner and the write. Such a creation counts as an update by `helm`, because the API server has no way to apply
only an absent object; the first change turns it into an apply, exactly as for objects that Helm 3 has left. An existing
object is read (metadata only) and applied under its `uid`: an object that was replaced in between is read again.

An operator that has moved to another namespace, or a namespace that was deleted with its records, leaves objects whose
owner does not exist any more. Those may be adopted; the objects of a release that exists, or may exist, never are.
Source: the checks of `helm install` before it adopts an object.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Literal

from hookrunner import log
from hookrunner.errors import AlreadyExists, ApiError, Conflict, Denied, KubeError, NotFound, ReleaseFailed
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import DeleteOptions, ObjectRef, WriteOptions
from hookrunner.model.releases import Adoption, ReleaseOptions
from hookrunner.model.resources import Resource
from hookrunner.releases import apply_refusals
from hookrunner.releases.manifest_objects import (
    ADOPT,
    MANAGER,
    RECREATE,
    RELEASE_NAMESPACE,
    ReleaseId,
    is_marked,
    owner_of,
    to_applied,
    was_written,
)
from hookrunner.releases.records.record_storage import OTHER, RecordStorage
from kubetypes.json_values import JSON

WriteResult = Literal["created", "changed", "unchanged"]

_OPTIONS = WriteOptions(MANAGER, metadata_only=True)
_FORCED = replace(_OPTIONS, force=True)
_NAMESPACES = Resource("v1", "Namespace", "namespaces", False)
_ATTEMPTS = 5
_GONE_WITHIN = 30.0

_LOG = log.get("releases.writing")
_OWNERS_LOG = log.get("releases.owners")

_FRESH = 2.0
"""Seconds for which an answer is cached: hundreds of objects may name the same owner."""


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
                f"{belongs} of an unknown namespace: add its annotation {RELEASE_NAMESPACE}, or delete the object"
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
        _OWNERS_LOG.log(level, "object adopted", release=str(identity), object=adoption.object, owner=owner)
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
                if record := await records.find(*owner):
                    return record
        except Denied:
            if not await self._is_absent(owner.namespace):
                raise
        return ""

    async def _is_absent(self, namespace: str) -> bool:
        """Is it certain that a namespace does not exist?"""
        try:
            await writes.read(self._client, ObjectRef(_NAMESPACES, name=namespace))
        except NotFound:
            return True
        except KubeError:
            return False
        return False


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


@dataclass(frozen=True, slots=True)
class ObjectWrite:
    """`obj` is the object to send (`manifest_objects.owned`), `last` the same object in our last manifest."""

    resource: Resource
    obj: JSON
    identity: ReleaseId
    last: JSON | None
    options: ReleaseOptions

    @property
    def ref(self) -> ObjectRef:
        """The object in the cluster."""
        return ObjectRef(self.resource, self.obj["metadata"].get("namespace", ""), self.obj["metadata"]["name"])

    @property
    def may_adopt(self) -> bool:
        """May an object that belongs to no release be adopted?"""
        return self.options.adopt or is_marked(self.obj["metadata"], ADOPT)

    def adopts(self, metadata: JSON) -> bool:
        """Does a write adopt the live object? One that has only lost its marks is still ours."""
        owner = owner_of(metadata)
        if owner is None:
            return self.last is None or not was_written(metadata)
        return owner != self.identity

    def adoption(self, metadata: JSON) -> Adoption:
        """The adoption, to be reported."""
        owner = owner_of(metadata)
        namespace = self.obj["metadata"].get("namespace") or self.identity.namespace
        name = f"{namespace}/{self.resource.kind}/{self.obj['metadata']['name']}"
        return Adoption(name, str(owner) if owner else "")


class ObjectWriter:
    """Writes to one cluster. Every method raises KubeError, or ReleaseFailed with what to do."""

    def __init__(self, client: Client, owners: ReleaseOwners) -> None:
        self._client = client
        self._owners = owners

    async def write(self, order: ObjectWrite) -> WriteResult:
        """Create or apply the object, whatever its live state is, and again if that changes meanwhile."""
        expected = order.last is not None
        for _ in range(_ATTEMPTS):
            outcome = await (self._update(order) if expected else self._create(order))
            if outcome:
                return outcome
            expected = not expected
        raise ReleaseFailed("another client keeps deleting and creating it", brief=True)

    async def _create(self, order: ObjectWrite) -> WriteResult | None:
        try:
            await writes.create(self._client, replace(order.ref, name=""), order.obj, _OPTIONS)
        except AlreadyExists:
            return None
        return "created"

    async def _update(self, order: ObjectWrite) -> WriteResult | None:
        """Apply the object; None if it does not exist."""
        try:
            metadata = await self._read_live(order)
            metadata = await self._take_over_fields(order, metadata)
            answer = await self._apply_resolving_conflicts(order, metadata)
            same = answer["metadata"]["resourceVersion"] == metadata["resourceVersion"]
            outcome: WriteResult | None = "unchanged" if same else "changed"
        except NotFound:
            return None
        except ApiError as error:
            if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
                raise
            outcome = await self._recreate(order, metadata, error)
        if outcome and order.adopts(metadata):
            self._owners.note(order.identity, order.adoption(metadata))
        return outcome

    async def _read_live(self, order: ObjectWrite) -> JSON:
        """Read the metadata of the live object. Raises ReleaseFailed if it must not be written."""
        metadata = await writes.read_metadata(self._client, order.ref)
        if order.adopts(metadata):
            await self._check_free(order, metadata)
        if metadata.get("deletionTimestamp"):
            blockers = ", ".join(metadata.get("finalizers") or ()) or "its processes to end"
            problem = f"it is being deleted, and will be created again afterwards; the deletion waits for: {blockers}"
            raise ReleaseFailed(problem, brief=True)
        return metadata

    async def _check_free(self, order: ObjectWrite, metadata: JSON) -> None:
        """Raise ReleaseFailed unless the live object may be adopted."""
        owner = owner_of(metadata)
        if owner is None:
            check_unowned(order.identity, order.may_adopt)
        else:
            await self._owners.check_owner_absent(owner, order.identity, order.may_adopt or order.options.adopt_orphans)

    async def _take_over_fields(self, order: ObjectWrite, metadata: JSON) -> JSON:
        """Turn all that `helm` has written into applied fields; the metadata afterwards."""
        last = None if order.adopts(metadata) else order.last
        entries = to_applied(metadata.get("managedFields") or [], last)
        if entries is None:
            return metadata
        patch = [
            {"op": "replace", "path": "/metadata/managedFields", "value": entries},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        ]
        try:
            return (await writes.json_patch(self._client, order.ref, patch, _OPTIONS)).json["metadata"]
        except Conflict:
            return await self._take_over_fields(order, await self._read_live(order))

    async def _apply_resolving_conflicts(self, order: ObjectWrite, metadata: JSON) -> JSON:
        """Apply the object; the answer. Force is used for fields that were ours before, and for objects that are
        adopted."""
        try:
            return await self._apply(order, metadata["uid"])
        except Conflict as error:
            disputes = apply_refusals.disputes(error.raw)
            if not disputes:
                raise NotFound(error.status, error.reason, str(error)) from error
            adopted = order.adopts(metadata)
            foreign = [
                dispute for dispute in disputes if not adopted and not apply_refusals.sets(order.last, dispute.field)
            ]
            if foreign:
                raise ReleaseFailed(_describe_disputes(foreign)) from error
        return await self._apply(order, metadata["uid"], _FORCED)

    async def _apply(self, order: ObjectWrite, uid: str, options: WriteOptions = _OPTIONS) -> JSON:
        """Apply the object without tolerated faults of the template. The server names such faults in several steps."""
        body = order.obj | {"metadata": order.obj["metadata"] | {"uid": uid}}
        for _ in range(_ATTEMPTS):
            try:
                return (await writes.apply(self._client, order.ref, body, options)).json
            except ApiError as error:
                if not (faults := apply_refusals.faults(error.raw)):
                    raise
            _LOG.warn("faults in a template are ignored", object=order.ref.path, faults=", ".join(map(str, faults)))
            body = apply_refusals.without_faults(body, faults)
        return (await writes.apply(self._client, order.ref, body, options)).json

    async def _recreate(self, order: ObjectWrite, metadata: JSON, error: ApiError) -> WriteResult | None:
        """Recreate an object after a refused change of immutable fields; None if another object was refused than the
        one that was read."""
        frozen = apply_refusals.immutable(error.raw)
        if "metadata.uid" in frozen:
            return None
        if not frozen:
            raise error
        if not is_marked(order.obj["metadata"], RECREATE):
            raise ReleaseFailed(
                f"{', '.join(frozen)} cannot change after creation: delete the object, or allow to recreate it by"
                f' the annotation {RECREATE}: "true" in the template. The API server said: {error}'
            ) from error
        await self.delete(order.ref, metadata["uid"])
        reason = await writes.wait_for_deletion(self._client, order.ref, metadata["uid"], _GONE_WITHIN)
        if reason:
            raise ReleaseFailed(f"deleted to be recreated, but it still exists after {_GONE_WITHIN:g} s: {reason}")
        return await self._create(order)

    async def delete(self, ref: ObjectRef, uid: str) -> None:
        """Delete the object with this uid; its dependents are deleted in the background. An absent object, or another
        one of this name, is no error."""
        try:
            await writes.delete(self._client, ref, DeleteOptions("Background", uid))
        except (NotFound, Conflict):
            return


def _describe_disputes(foreign: list[apply_refusals.Dispute]) -> str:
    return (
        f"other clients have set fields that are new in the template to other values: {', '.join(map(str, foreign))}."
        " Leave the field out, or remove it from the object"
    )
