"""Deletes one object of a release, or says why it stays.

match await remover.remove(target, identity, options):
    case None: ...                    # it does not exist
    case KeptObject(reason=why): ...
    case RemovedObject(ref, uid): ... # it was deleted, or is being deleted
"""

from collections.abc import Collection

from hookrunner import log
from hookrunner.errors import Conflict, Denied, NotFound, UnknownKind
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import FIELD_MANAGER, DeleteOptions, ObjectRef, WriteOptions
from hookrunner.model.releases import KeptObject, ObjectMarks, ReleaseOptions
from hookrunner.model.resources import Resource
from hookrunner.releases.manifest_objects import POLICY, KindResolver, ObjectId, ReleaseId, must_stay, owner_of
from hookrunner.releases.objects.object_marks import (
    IGNORE,
    given_back,
    is_adopted,
    is_ignored,
    taken_from,
    without_owner,
)
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_VERBS = ["get", "list", "watch", "create", "patch", "delete"]
_WHY_KEPT = {
    "CustomResourceDefinition": "all objects of its kind would be deleted with it",
    "PersistentVolumeClaim": "its data would be deleted with it",
    "Namespace": "all objects in it would be deleted with it",
}

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class RemovedObject:
    """An object whose deletion was accepted."""

    ref: ObjectRef
    uid: str


class ObjectRemover:
    """Deletes in one cluster. Every method raises KubeError."""

    def __init__(self, client: Client, kinds: KindResolver) -> None:
        self._client = client
        self._kinds = kinds

    async def remove(
        self, target: ObjectId, identity: ReleaseId, options: ReleaseOptions, spare: Collection[ObjectId] = ()
    ) -> RemovedObject | KeptObject | None:
        """Delete an object if it belongs to this release and nothing says that it stays; its dependents are deleted in
        the background. What was taken over from a release whose place this one was to take goes back to that. None if
        it does not exist, or is one of `spare` by another namespace that does not matter."""
        try:
            ref = await self._kinds.resolve_ref(target)
            if not ref.resource.namespaced and any(_same_in_cluster(target, other) for other in spare):
                return None
            metadata = await writes.read_metadata(self._client, ref)
        except (UnknownKind, NotFound):
            return None
        except Denied as error:
            raise explain_rights(error, ref.resource) from error
        if owner_of(metadata) == identity and (predecessor := taken_from(metadata, identity, options)):
            patch = given_back(metadata, identity, predecessor, options.marks)
            await writes.merge_patch(self._client, ref, patch, WriteOptions(FIELD_MANAGER, metadata_only=True))
            return KeptObject(str(target), f"it goes back to release {predecessor}")
        if reason := reason_to_stay(metadata, identity, options) or _kind_to_stay(target, options):
            _log.info("object is not deleted", object=str(target), reason=reason)
            if owner_of(metadata) == identity:
                await self.keep(ref, metadata, options.marks)
            return KeptObject(str(target), reason, is_adopted(metadata, identity))
        if not metadata.get("deletionTimestamp"):
            await self._delete(ref, metadata["uid"])
        return RemovedObject(ref, metadata["uid"])

    async def keep(self, ref: ObjectRef, metadata: JSON, marks: ObjectMarks) -> None:
        """Take an owner's marks from an object that stays, or it would be deleted with its owner. Raises Conflict if
        the object is not as its metadata was."""
        if (patch := without_owner(metadata, marks)) is not None:
            await writes.merge_patch(self._client, ref, patch, WriteOptions(FIELD_MANAGER, metadata_only=True))

    async def _delete(self, ref: ObjectRef, uid: str) -> None:
        try:
            await delete_object(self._client, ref, uid)
        except Denied as error:
            raise explain_rights(error, ref.resource) from error


async def delete_object(client: Client, ref: ObjectRef, uid: str) -> None:
    """Delete the object with this uid; its dependents are deleted in the background. An absent object, or another one
    of this name, is no error. Raises KubeError."""
    try:
        await writes.delete(client, ref, DeleteOptions("Background", uid))
    except (NotFound, Conflict):
        return


def reason_to_stay(metadata: JSON, identity: ReleaseId, options: ReleaseOptions) -> str:
    """Why a live object is not deleted with its release; empty if it is."""
    owner = owner_of(metadata)
    if owner in (None, identity) and is_adopted(metadata, identity) and not options.delete_adopted:
        return "it was taken over, and spec.deletionPolicy is not set to Delete"
    if owner != identity:
        return f"it belongs to release {owner}" if owner else "it belongs to no release"
    if must_stay(metadata):
        return f"its annotation {POLICY} says so"
    return f"its annotation {IGNORE} says so" if is_ignored(metadata, options) else ""


def explain_rights(error: Denied, resource: Resource) -> Denied:
    """The same error, with the rule that is missing."""
    return refusals.explain_rights(error, f"keep {resource.plural} of a release", refusals.rbac_rule(resource, _VERBS))


def _kind_to_stay(target: ObjectId, options: ReleaseOptions) -> str:
    is_kept = (target.group, target.kind) in options.kept_kinds
    return _WHY_KEPT.get(target.kind, "objects of its kind are kept") if is_kept else ""


def _same_in_cluster(target: ObjectId, other: ObjectId) -> bool:
    return (target.group, target.kind, target.name) == (other.group, other.kind, other.name)
