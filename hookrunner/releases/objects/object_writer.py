"""Writes one object of a release: creates, applies, recreates, adopts or deletes it.

    writer = ObjectWriter(client, kinds, SharedWrites(client))
    result = await writer.write(obj, identity, last, options)

A new object is created by POST, which fails if another client was first, so that nothing can change between the check
of the owner and the write. Such a creation counts as an update by `helm`, because the API server has no way to apply
only an absent object; the first change turns it into an apply, exactly as for objects that Helm 3 has left. An existing
object is read (metadata only) and applied under its `uid`: an object that was replaced in between is read again.
Which objects may be adopted is said in `object_owners`, what an addon's objects have beside Helm's marks in
`object_marks`.
"""

import asyncio
from collections import defaultdict
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Literal

from hookrunner import log
from hookrunner.errors import AlreadyExists, ApiError, Conflict, Denied, NotFound, ReleaseFailed
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef, WriteOptions
from hookrunner.model.releases import Adoption, ReleaseOptions, WriteNotes
from hookrunner.model.resources import Resource
from hookrunner.releases.manifest_objects import (
    ADOPT,
    MANAGER,
    RECREATE,
    KindResolver,
    ReleaseId,
    has_no_foreign_fields,
    is_marked,
    owned,
    owner_of,
    to_applied,
    was_written,
)
from hookrunner.releases.objects import apply_refusals, tolerant_writes
from hookrunner.releases.objects.object_marks import (
    as_adopted,
    as_created,
    as_taken,
    comes_from_outside,
    for_dry_run,
    foreign_controller,
    is_adopted,
    is_ignored,
    is_lent,
    taken_from,
    with_live_owner,
    with_marks,
)
from hookrunner.releases.objects.object_owners import Adopter, ReleaseOwners, check_unowned
from hookrunner.releases.objects.object_remover import delete_object, explain_rights
from hookrunner.releases.objects.stage_runner import OBJECTS_AT_ONCE
from hookrunner.releases.objects.tolerant_writes import TolerantWrite, accept_unpatched, describe
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

WriteResult = Literal["created", "changed", "unchanged"]

_OPTIONS = WriteOptions(MANAGER, metadata_only=True)
_ATTEMPTS = 5
_GONE_WITHIN = 30.0


_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class ObjectWrite:
    """`obj` is the object to send, with all marks, `last` the same object in our last manifest. With `dry_run` the API
    server is asked, and nothing is changed. `unpatched` is the object without the patches of an instance, None if none
    has changed it."""

    resource: Resource
    obj: JSON
    identity: ReleaseId
    last: JSON | None
    options: ReleaseOptions
    dry_run: bool = False
    unpatched: JSON = None

    @property
    def ref(self) -> ObjectRef:
        """The object in the cluster."""
        return ObjectRef(self.resource, self.obj["metadata"].get("namespace", ""), self.obj["metadata"]["name"])

    @property
    def name(self) -> str:
        """`<namespace>/<Kind>/<name>`, without the namespace for a kind that has none."""
        parts = (self.ref.namespace, self.resource.kind, self.ref.name)
        return "/".join(filter(None, parts))

    @property
    def may_adopt(self) -> bool:
        """May an object that belongs to no release be adopted?"""
        is_allowed = self.options.adopt or is_marked(self.obj["metadata"], ADOPT)
        return is_allowed and not self.options.never_adopt

    @property
    def may_recreate(self) -> bool:
        """May the object be deleted and created again if an immutable field changes?"""
        is_job = (self.resource.group, self.resource.kind) == ("batch", "Job")
        return is_marked(self.obj["metadata"], RECREATE) or (is_job and self.options.recreate_jobs)

    def adopts(self, metadata: JSON) -> bool:
        """Does a write adopt the live object? One that has only lost its marks is still ours."""
        owner = owner_of(metadata)
        if owner is None:
            return self.last is None or not was_written(metadata)
        return owner != self.identity

    def for_live(self, metadata: JSON) -> "ObjectWrite":
        """The same for the live object: an adopted one of an addon is marked, and has no owner."""
        if self.options.of_addon and (predecessor := taken_from(metadata, self.identity, self.options)):
            return replace(self, obj=as_taken(self.obj, metadata, str(predecessor), self.identity, self.options.marks))
        is_new = self.adopts(metadata) and comes_from_outside(metadata, self.identity)
        if not self.options.of_addon or not (is_new or is_adopted(metadata, self.identity)):
            return self
        return replace(self, obj=as_adopted(self.obj, self.identity, self.options.marks))

    def adoption(self, metadata: JSON) -> Adoption:
        """The adoption, to be reported."""
        owner = owner_of(metadata)
        return Adoption(self.name, str(owner) if owner else "")


class SharedWrites:
    """What all who write to one cluster share, as whichever account they act: the objects that are written and removed
    at the same time (`turn`, `removals`), the owners of objects, which hookrunner looks up itself, and `notes` of what
    units report of each release, until it is taken."""

    def __init__(self, client: Client) -> None:
        self.turn = asyncio.Semaphore(OBJECTS_AT_ONCE)
        self.removals = asyncio.Semaphore(OBJECTS_AT_ONCE)
        self.owners = ReleaseOwners(client)
        self.notes = defaultdict[ReleaseId, WriteNotes](WriteNotes)


class ObjectWriter:
    """Writes to one cluster, each object in its turn."""

    def __init__(self, client: Client, kinds: KindResolver, shared: SharedWrites) -> None:
        self._client = client
        self._kinds = kinds
        self._turn = shared.turn
        self._owners = shared.owners
        self.notes = shared.notes

    async def write(
        self, obj: JSON, identity: ReleaseId, last: JSON | None, options: ReleaseOptions, dry_run: bool = False
    ) -> WriteResult:
        """Create or apply an object of a manifest, whatever its live state is, and again if that changes meanwhile;
        `last` is the same in our last manifest. Raises KubeError, or ReleaseFailed with what to do."""
        async with self._turn:
            resource = await self._kinds.resolve(obj["apiVersion"], obj["kind"])
            order, expected = _order(resource, obj, identity, last, options), last is not None
            order = replace(order, dry_run=dry_run)
            try:
                for _ in range(_ATTEMPTS):
                    if outcome := await (self._update(order) if expected else self._create(order)):
                        return outcome
                    expected = not expected
            except NotFound:
                self._kinds.forget(resource.api_version)
                raise
            except Denied as error:
                raise explain_rights(error, resource) from error
        raise ReleaseFailed("another client keeps deleting and creating it", brief=True)

    async def _create(self, order: ObjectWrite) -> WriteResult | None:
        body = as_created(order.obj, order.identity, order.options.marks)
        try:
            target, accept = replace(order.ref, name=""), accept_unpatched(self._client, order.obj, order.unpatched)
            written = await tolerant_writes.create(self._client, target, body, _options(order), accept)
        except AlreadyExists:
            return None
        except ApiError as error:  # of a Service that exists, its address is refused before its name
            if error.status != HTTPStatus.UNPROCESSABLE_ENTITY or not await self._exists(order):
                raise
            return None
        await self._note_faults(order, written)
        return "created"

    async def _exists(self, order: ObjectWrite) -> bool:
        try:
            await writes.read_metadata(self._client, order.ref)
        except NotFound:
            return False
        return True

    async def _update(self, order: ObjectWrite) -> WriteResult | None:
        """Apply the object, unless its users have it ignored; None if it does not exist."""
        try:
            metadata = await writes.read_metadata(self._client, order.ref)
            if is_ignored(metadata, order.options) or is_lent(metadata, order.identity, order.options):
                return "unchanged"
            await self._check_live(order, metadata)
            order = order.for_live(metadata)
            if order.dry_run:
                order = replace(order, obj=for_dry_run(order.obj, metadata, order.options.marks))
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
        if outcome and order.adopts(metadata) and not order.dry_run:
            self._note_adoption(order.identity, order.adoption(metadata))
        return outcome

    async def _check_live(self, order: ObjectWrite, metadata: JSON) -> None:
        """Raise ReleaseFailed if the live object must not be written."""
        is_taken = taken_from(metadata, order.identity, order.options) is not None
        if order.adopts(metadata) and not is_taken:
            await self._check_free(order, metadata)
        if not is_taken and (controller := foreign_controller(metadata, order.options.marks)):
            raise ReleaseFailed(f"it is controlled by {controller}, which would undo every change: delete one of both")
        if metadata.get("deletionTimestamp"):
            blockers = ", ".join(metadata.get("finalizers") or ()) or "its processes to end"
            problem = f"it is being deleted, and will be created again afterwards; the deletion waits for: {blockers}"
            raise ReleaseFailed(problem, brief=True)

    async def _check_free(self, order: ObjectWrite, metadata: JSON) -> None:
        """Raise ReleaseFailed unless the live object may be adopted."""
        owner = owner_of(metadata)
        if owner is None:
            check_unowned(_adopter(order, order.may_adopt))
        else:
            allowed = order.may_adopt or order.options.adopt_orphans
            await self._owners.check_owner_absent(owner, _adopter(order, allowed), metadata)

    async def _take_over_fields(self, order: ObjectWrite, metadata: JSON) -> JSON:
        """Turn all that `helm` has written into applied fields; the metadata afterwards."""
        last = None if order.adopts(metadata) else order.last
        last = last and with_live_owner(last, metadata, order.options.marks)
        entries = to_applied(metadata.get("managedFields") or [], last)
        if entries is None or order.dry_run:
            return metadata
        patch = [
            {"op": "replace", "path": "/metadata/managedFields", "value": entries},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        ]
        try:
            return (await writes.json_patch(self._client, order.ref, patch, _OPTIONS)).json["metadata"]
        except Conflict:
            metadata = await writes.read_metadata(self._client, order.ref)
            await self._check_live(order, metadata)
            return await self._take_over_fields(order, metadata)

    async def _apply_resolving_conflicts(self, order: ObjectWrite, metadata: JSON) -> JSON:
        """Apply the object; the answer. Force is used for fields that were ours before, and for objects that are
        adopted; at once in a dry run that could only conflict with our own creation, which it does not take over."""
        options = _options(order)
        is_certain = order.dry_run and has_no_foreign_fields(metadata)
        try:
            return await self._apply(order, metadata["uid"], replace(options, force=is_certain))
        except Conflict as error:
            disputes = apply_refusals.disputes(error.raw)
            if not disputes:
                raise NotFound(error.status, error.reason, str(error)) from error
            if foreign := [] if order.adopts(metadata) else [*filter(partial(_is_foreign, order), disputes)]:
                fields = ", ".join(map(str, foreign))
                raise ReleaseFailed(
                    f"other clients have set fields that are new in the template to other values: {fields}. Leave the"
                    " field out, or remove it from the object"
                ) from error
        return await self._apply(order, metadata["uid"], replace(options, force=True))

    async def _apply(self, order: ObjectWrite, uid: str, options: WriteOptions) -> JSON:
        """Apply the object without tolerated faults of the template."""
        body = order.obj | {"metadata": order.obj["metadata"] | {"uid": uid}}
        accept = accept_unpatched(self._client, order.obj, order.unpatched)
        written = await tolerant_writes.apply(self._client, order.ref, body, options, accept)
        await self._note_faults(order, written)
        return written.answer

    async def _recreate(self, order: ObjectWrite, metadata: JSON, error: ApiError) -> WriteResult | None:
        """Recreate an object after a refused change of immutable fields; None if another object was refused than the
        one that was read."""
        frozen = apply_refusals.immutable(error.raw)
        if "metadata.uid" in frozen:
            return None
        if not frozen:
            raise error
        if not order.may_recreate:
            raise ReleaseFailed(
                f"{', '.join(frozen)} cannot change after creation: delete the object, or allow to recreate it by"
                f' the annotation {RECREATE}: "true" in the template. The API server said: {error}'
            ) from error
        if order.dry_run:
            return "changed"
        await delete_object(self._client, order.ref, metadata["uid"])
        reason = await writes.wait_for_deletion(self._client, order.ref, metadata["uid"], _GONE_WITHIN)
        if reason:
            raise ReleaseFailed(f"deleted to be recreated, but it still exists after {_GONE_WITHIN:g} s: {reason}")
        return await self._create(order)

    async def _note_faults(self, order: ObjectWrite, written: TolerantWrite) -> None:
        """Keep what was ignored of an object that was written."""
        if order.dry_run:
            return
        text = await describe(self._client, order.obj, written.faults)
        if text:
            _log.warn("faults in a template are ignored", object=order.ref.path, faults=text)
        self.notes[order.identity].faults[order.name] = text

    def _note_adoption(self, identity: ReleaseId, adoption: Adoption) -> None:
        level = "warn" if adoption.owner else "info"
        owner = adoption.owner or "none"
        _log.log(level, "object adopted", release=str(identity), object=adoption.object, owner=owner)
        self.notes[identity].adopted.append(adoption)


def _order(
    resource: Resource, obj: JSON, identity: ReleaseId, last: JSON | None, options: ReleaseOptions
) -> ObjectWrite:
    """The order to write an object of a manifest."""
    body = with_marks(owned(obj, resource, identity), options.marks)
    before = last and with_marks(owned(last, resource, identity), options.marks)
    unpatched = options.without_patches(resource, body["metadata"])
    return ObjectWrite(resource, body, identity, before, options, unpatched=unpatched)


def _adopter(order: ObjectWrite, allowed: bool) -> Adopter:
    return Adopter(order.identity, allowed, order.options.of_addon, order.options.never_adopt)


def _options(order: ObjectWrite) -> WriteOptions:
    return replace(_OPTIONS, dry_run=order.dry_run)


def _is_foreign(order: ObjectWrite, dispute: apply_refusals.Dispute) -> bool:
    """Is it about a field that was not ours before? A dry run does not take over what the creation has set, so that
    defaults of the API server still count as set by `helm`."""
    is_default = order.dry_run and dispute.manager == MANAGER
    return not is_default and not apply_refusals.sets(order.last, dispute.field)
