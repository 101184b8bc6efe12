"""Deletes all objects of a release and waits until they are gone, or leaves them to their users.

    kept = await teardown.delete(ids, identity, options, patience=60.0)
    await teardown.abandon(ids, identity, marks)
    contents = await NamespaceContents(client, discovery).list_contents("kubernetes-dashboard")

Stages are deleted in the reverse order of writing, each after the one before is gone: a controller has to be there
while finalizers of its objects wait for it. Namespaces come last. One is deleted only if this release has created it
and it is empty; objects that stay on purpose are returned.

What a namespace still contains is what a client has created and still wants: not what Kubernetes puts into each
namespace, what is being deleted, nor what belongs to another object, which is counted itself or whose dependents are
deleted soon. Each kind that can be deleted is asked for; kinds that cannot are views of other objects, such as metrics.
Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from hookrunner.errors import AccountDenied, Conflict, Denied, NotFound, ReleaseFailed, UnknownKind
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.kube.writes import FIELD_MANAGER, ListOptions, ObjectRef, WriteOptions
from hookrunner.model.releases import KeptObject, ObjectMarks, ReleaseOptions
from hookrunner.model.resources import Resource
from hookrunner.model.status import some
from hookrunner.releases.manifest_objects import NAMESPACE, KindResolver, ObjectId, ReleaseId, stages
from hookrunner.releases.objects.object_marks import CREATED, has_owner, is_adopted, without_marks, without_release
from hookrunner.releases.objects.object_remover import ObjectRemover, RemovedObject, reason_to_stay
from hookrunner.releases.objects.stage_runner import StageProgress, run_stage
from kubetypes.json_values import JSON

_AT_ONCE = 8
_ENOUGH = 20
"""Objects of each kind that are looked at: one that counts is enough to keep the namespace."""

_OF_KUBERNETES = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
_DERIVED = frozenset({"Event", "Endpoints"})
"""Kinds whose objects Kubernetes writes and deletes: events, and the addresses of Services."""


class NamespaceContents:
    """The contents of namespaces of one cluster."""

    def __init__(self, client: Client, discovery: Discovery) -> None:
        self._client = client
        self._discovery = discovery

    async def list_contents(self, namespace: str) -> list[str]:
        """The objects that count, as `Kind/name`, sorted. Raises ReleaseFailed if a kind cannot be listed, KubeError if
        the server cannot be asked."""
        resources, missing = await self._discovery.read_all()
        if missing:
            raise ReleaseFailed(f"its contents are unknown, these API groups do not answer: {', '.join(missing)}")
        turn = asyncio.Semaphore(_AT_ONCE)

        async def list_kind(resource: Resource) -> list[str]:
            async with turn:
                return await self._list_kind(resource, namespace)

        results = await asyncio.gather(*(list_kind(resource) for resource in resources if _is_listed(resource)))
        return sorted({name for names in results for name in names})

    async def _list_kind(self, resource: Resource, namespace: str) -> list[str]:
        options = ListOptions(metadata_only=True, limit=_ENOUGH)
        try:
            with tolerated_refusals():  # then the namespace stays, and its Event says why
                page = await writes.read_list(self._client, ObjectRef(resource, namespace), options)
        except NotFound:
            return []
        except Denied as error:
            raise ReleaseFailed(f"its contents are unknown, there is no right to list {resource.plural}") from error
        return list(_counted(resource.kind, page["items"]))


def _is_listed(resource: Resource) -> bool:
    return resource.namespaced and {"list", "delete"} <= {*resource.verbs} and resource.kind not in _DERIVED


def _counted(kind: str, items: Iterable[JSON]) -> Iterator[str]:
    for item in items:
        metadata = item["metadata"]
        is_token = (metadata.get("annotations") or {}).get("kubernetes.io/service-account.name") == "default"
        is_leaving = metadata.get("deletionTimestamp") or metadata.get("ownerReferences")
        if not (is_leaving or is_token or (kind, metadata["name"]) in _OF_KUBERNETES):
            yield f"{kind}/{metadata['name']}"


class Teardown:
    """Removes objects of releases from one cluster, each in its `turn`."""

    def __init__(
        self, client: Client, kinds: KindResolver, contents: NamespaceContents, turn: asyncio.Semaphore
    ) -> None:
        self._client = client
        self._kinds = kinds
        self._contents = contents
        self._remover = ObjectRemover(client, kinds)
        self._turn = turn

    async def delete(
        self, ids: Collection[ObjectId], identity: ReleaseId, options: ReleaseOptions, patience: float
    ) -> tuple[KeptObject, ...]:
        """Delete these objects; those that stay on purpose. Raises ReleaseFailed, which names the objects that could
        not be deleted, or still exist `patience` seconds after their deletion, with the finalizers that block it."""
        options = replace(options, kept_kinds=options.kept_kinds - {NAMESPACE})

        async def delete(target: ObjectId) -> KeptObject | None:
            async with self._turn:
                is_namespace = (target.group, target.kind) == NAMESPACE
                kept = await self._keep_namespace(target, identity, options.marks) if is_namespace else None
                kept = kept or await self._delete(target, identity, options, patience)
                if kept and kept.adopted:  # a later release of this name must ask again whether it may adopt it
                    await self._patch(target, lambda metadata: without_release(metadata, identity, options.marks))
                return kept

        results: list[KeptObject | None] = []
        for stage in _reversed_stages(ids):
            progress = StageProgress("deleted", len(ids), len(results))
            results += await run_stage({target: delete(target) for target in stage}, progress, self._kinds)
        return tuple(kept for kept in results if kept)

    async def abandon(self, ids: Collection[ObjectId], identity: ReleaseId, marks: ObjectMarks) -> int:
        """Take all our marks from these objects, and leave them in the cluster; how many exist. Raises ReleaseFailed,
        which names the objects that could not be changed."""

        async def abandon(target: ObjectId) -> bool:
            async with self._turn:
                return await self._patch(target, lambda metadata: without_marks(metadata, identity, marks))

        progress = StageProgress("left to their users", len(ids), 0)
        return sum(await run_stage({target: abandon(target) for target in ids}, progress, self._kinds))

    async def has_lost_owner(self, ids: Collection[ObjectId], identity: ReleaseId, marks: ObjectMarks) -> bool:
        """Has someone taken the owner references from all of these objects that had one? The garbage collector does, if
        the owner was deleted with the policy `Orphan`. Usually the first object answers. Raises KubeError."""
        has_lost = False
        for target in ids:
            try:
                metadata = await writes.read_metadata(self._client, await self._kinds.resolve_ref(target))
            except (NotFound, UnknownKind, AccountDenied):  # what the account cannot read it does not delete either
                continue
            match has_owner(metadata, identity, marks):
                case True:
                    return False
                case False:
                    has_lost = True
        return has_lost

    async def _delete(
        self, target: ObjectId, identity: ReleaseId, options: ReleaseOptions, patience: float
    ) -> KeptObject | None:
        outcome = await self._remover.remove(target, identity, options)
        if not isinstance(outcome, RemovedObject):
            return outcome
        if reason := await writes.wait_for_deletion(self._client, outcome.ref, outcome.uid, patience):
            raise ReleaseFailed(f"deleted, but it still exists after {patience:g} s: {reason}")
        return None

    async def _keep_namespace(self, target: ObjectId, identity: ReleaseId, marks: ObjectMarks) -> KeptObject | None:
        """The namespace if it stays; None if it can be deleted, or the remover knows why it stays."""
        try:
            ref = await self._kinds.resolve_ref(target)
            metadata = await writes.read_metadata(self._client, ref)
        except NotFound:
            return None
        adopted = is_adopted(metadata, identity)
        is_others = not adopted and reason_to_stay(metadata, identity, ReleaseOptions())
        if metadata.get("deletionTimestamp") or is_others:
            return None
        reason = await self._namespace_in_use(target.name, metadata, identity)
        if not reason:
            return None
        await self._remover.keep(ref, metadata, marks)
        return KeptObject(str(target), reason, adopted)

    async def _namespace_in_use(self, name: str, metadata: JSON, identity: ReleaseId) -> str:
        """Why a namespace has to stay, empty if it can be deleted."""
        if (metadata.get("annotations") or {}).get(CREATED) != str(identity):
            return "it existed before this release"
        try:
            contents = await self._contents.list_contents(name)
        except ReleaseFailed as error:
            return str(error)
        return f"it contains {some(contents)}" if contents else ""

    async def _patch(self, target: ObjectId, patch_of: Callable[[JSON], JSON | None]) -> bool:
        """Take marks from an object; does it exist?"""
        try:
            ref = await self._kinds.resolve_ref(target)
            options = WriteOptions(FIELD_MANAGER, metadata_only=True)
            await writes.patch_metadata(self._client, ref, patch_of, options)
        except (NotFound, UnknownKind):
            return False
        except Conflict:
            raise ReleaseFailed("another client keeps writing it", brief=True) from None
        return True


def _reversed_stages(ids: Collection[ObjectId]) -> Iterator[Sequence[ObjectId]]:
    """The stages in reverse, namespaces after all others."""
    yield from reversed(stages(target for target in ids if (target.group, target.kind) != NAMESPACE))
    if namespaces := [target for target in ids if (target.group, target.kind) == NAMESPACE]:
        yield namespaces
