"""Deletes all objects of a release and waits until they are gone, or leaves them to their users.

    kept = await teardown.delete(ids, identity, options, patience=60.0)
    await teardown.abandon(ids, identity, marks)

Stages are deleted in the reverse order of writing, each after the one before is gone: a controller has to be there
while finalizers of its objects wait for it. Namespaces come last. One is deleted only if this release has created it
and it is empty; objects that stay on purpose are returned.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from hookrunner.errors import Conflict, NotFound, ReleaseFailed, UnknownKind
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import FIELD_MANAGER, ObjectRef, WriteOptions
from hookrunner.model.releases import KeptObject, ObjectMarks, ReleaseOptions
from hookrunner.model.status import some
from hookrunner.releases.manifest_objects import KindResolver, ObjectId, ReleaseId, stages
from hookrunner.releases.objects.object_marks import CREATED, without_marks
from hookrunner.releases.objects.object_remover import ObjectRemover, RemovedObject, reason_to_stay
from hookrunner.releases.objects.write_stages import StageProgress, StageRunner
from hookrunner.releases.removal.namespace_contents import NamespaceContents
from kubetypes.json_values import JSON

_NAMESPACE = ("", "Namespace")
_ATTEMPTS = 5


class Teardown:
    """Removes objects of releases from one cluster."""

    def __init__(self, client: Client, kinds: KindResolver, contents: NamespaceContents) -> None:
        self._client = client
        self._kinds = kinds
        self._contents = contents
        self._remover = ObjectRemover(client, kinds)
        self._stages = StageRunner()

    async def delete(
        self, ids: Collection[ObjectId], identity: ReleaseId, options: ReleaseOptions, patience: float
    ) -> tuple[KeptObject, ...]:
        """Delete these objects; those that stay on purpose. Raises ReleaseFailed, which names the objects that could
        not be deleted, or still exist `patience` seconds after their deletion, with the finalizers that block it."""
        options = replace(options, kept_kinds=options.kept_kinds - {_NAMESPACE})

        async def delete(target: ObjectId) -> KeptObject | None:
            is_namespace = (target.group, target.kind) == _NAMESPACE
            kept = await self._keep_namespace(target, identity, options.marks) if is_namespace else None
            return kept or await self._delete(target, identity, options, patience)

        results: list[KeptObject | None] = []
        for stage in _reversed_stages(ids):
            results += await self._stages.run(stage, delete, StageProgress("deleted", len(ids), len(results)))
        return tuple(kept for kept in results if kept)

    async def abandon(self, ids: Collection[ObjectId], identity: ReleaseId, marks: ObjectMarks) -> int:
        """Take all our marks from these objects, and leave them in the cluster; how many were changed. Raises
        ReleaseFailed, which names the objects that could not be changed."""

        async def abandon(target: ObjectId) -> bool:
            return await self._abandon(target, identity, marks)

        results = await self._stages.run(list(ids), abandon, StageProgress("left to their users", len(ids), 0))
        return sum(results)

    async def _delete(
        self, target: ObjectId, identity: ReleaseId, options: ReleaseOptions, patience: float
    ) -> KeptObject | None:
        outcome = await self._remover.remove(target, identity, options)
        if not isinstance(outcome, RemovedObject):
            return outcome
        if reason := await self._remover.wait_for_deletion(outcome, patience):
            raise ReleaseFailed(f"deleted, but it still exists after {patience:g} s: {reason}")
        return None

    async def _keep_namespace(self, target: ObjectId, identity: ReleaseId, marks: ObjectMarks) -> KeptObject | None:
        """The namespace if it stays; None if it can be deleted, or the remover knows why it stays."""
        try:
            ref = await self._ref(target)
            metadata = await writes.read_metadata(self._client, ref)
        except NotFound:
            return None
        if metadata.get("deletionTimestamp") or reason_to_stay(metadata, identity, ReleaseOptions()):
            return None
        reason = await self._namespace_in_use(target.name, metadata, identity)
        if not reason:
            return None
        await self._remover.keep(ref, metadata, marks)
        return KeptObject(str(target), reason)

    async def _namespace_in_use(self, name: str, metadata: JSON, identity: ReleaseId) -> str:
        """Why a namespace has to stay, empty if it can be deleted."""
        if (metadata.get("annotations") or {}).get(CREATED) != str(identity):
            return "it existed before this release"
        try:
            contents = await self._contents.list_contents(name)
        except ReleaseFailed as error:
            return str(error)
        return f"it contains {some(contents)}" if contents else ""

    async def _abandon(self, target: ObjectId, identity: ReleaseId, marks: ObjectMarks) -> bool:
        for _ in range(_ATTEMPTS):
            try:
                ref = await self._ref(target)
                patch = without_marks(await writes.read_metadata(self._client, ref), identity, marks)
                return patch is not None and await self._patch(ref, patch)
            except (NotFound, UnknownKind):
                return False
            except Conflict:
                continue
        raise ReleaseFailed("another client keeps writing it", brief=True)

    async def _patch(self, ref: ObjectRef, patch: JSON) -> bool:
        await writes.merge_patch(self._client, ref, patch, WriteOptions(FIELD_MANAGER, metadata_only=True))
        return True

    async def _ref(self, target: ObjectId) -> ObjectRef:
        resource = await self._kinds.resolve(target.api_version, target.kind)
        return ObjectRef(resource, target.namespace, target.name)


def _reversed_stages(ids: Collection[ObjectId]) -> Iterator[Sequence[ObjectId]]:
    """The stages in reverse, namespaces after all others."""
    yield from reversed(stages(target for target in ids if (target.group, target.kind) != _NAMESPACE))
    if namespaces := [target for target in ids if (target.group, target.kind) == _NAMESPACE]:
        yield namespaces
