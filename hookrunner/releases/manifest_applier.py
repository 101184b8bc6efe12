"""Applies the objects of a release's manifest, or deletes them.

    applier = ManifestApplier(client, KindResolver(discovery))
    counts = await applier.apply(objects, identity, last, options)
    await applier.remove(ids, identity, spare=wanted_ids)

Nothing is asked of the API server about an object whose desired state equals the last manifest: the caller has to
watch the objects and name in `repair` those that have drifted. Stages (`manifest_objects`) come one after another, the
objects of each at the same time. An object that fails keeps later stages from being written, not the rest of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus

from hookrunner import log
from hookrunner.errors import ApiError, Denied, KubeError, NotFound, ReleaseFailed, UnknownKind
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.releases import ReleaseOptions
from hookrunner.model.resources import Resource
from hookrunner.model.status import MOST, some
from hookrunner.releases.crds import wait_for_serving
from hookrunner.releases.manifest_objects import (
    CRD,
    POLICY,
    KindResolver,
    ObjectId,
    ReleaseId,
    must_stay,
    object_id,
    owned,
    owner_of,
    stages,
)
from hookrunner.releases.object_marks import IGNORE, is_ignored, with_marks
from hookrunner.releases.object_owners import ReleaseOwners
from hookrunner.releases.object_writer import ObjectWrite, ObjectWriter, WriteResult
from hookrunner.releases.pending_objects import changed, without_dependent
from kubetypes.json_values import JSON

_AT_ONCE = 24
_VERBS = ["get", "list", "watch", "create", "patch", "delete"]
_ESTABLISHED_WITHIN = 60.0

_LOG = log.get("releases.applying")

_NO_OPTIONS = ReleaseOptions()

_Work = Callable[[ObjectId], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many objects were created, changed, or already in sync."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0

    @property
    def written(self) -> int:
        """Created or changed."""
        return self.created + self.changed


class ManifestApplier:
    """Writes to one cluster, for any number of releases at once, in at most 24 requests at a time."""

    def __init__(self, client: Client, kinds: KindResolver) -> None:
        self._client = client
        self._kinds = kinds
        self.owners = ReleaseOwners(client)
        self._writing = ObjectWriter(client, self.owners)
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def create_or_update(
        self, obj: JSON, identity: ReleaseId, last: JSON | None, options: ReleaseOptions
    ) -> WriteResult:
        """Write one object; `last` is the same in our last manifest. Raises KubeError, or ReleaseFailed with what to
        do."""
        resource = await self._kinds.resolve(obj["apiVersion"], obj["kind"])
        return await self._write(_order(resource, obj, identity, last, options))

    async def apply(
        self,
        objects: Sequence[JSON],
        identity: ReleaseId,
        last: Mapping[ObjectId, JSON],
        options: ReleaseOptions,
        repair: Collection[ObjectId] = (),
    ) -> Counts:
        """Write the objects that differ from the last manifest, and those named in `repair`.

        Raises ReleaseFailed, which names the objects that could not be written; of many only some.
        """
        before = {target.lasting: obj for target, obj in last.items()}
        wanted = {object_id(obj, identity): obj for obj in objects}
        if len(wanted) < len(objects):
            _LOG.warn("duplicate objects in manifest, the last one is used", release=str(identity))
        pending = changed(wanted, before, repair)
        self._kinds.learn(objects)

        async def write(target: ObjectId) -> WriteResult:
            return await self.create_or_update(wanted[target], identity, before.get(target.lasting), options)

        outcomes: list[str] = []
        for stage in stages(pending):
            outcomes += await self._write_stage(stage, write, _FailureReport("applied", len(pending), len(outcomes)))
            await self._wait_for_serving([wanted[target] for target in stage if target.kind == CRD])
        unchanged = len(wanted) - len(pending) + outcomes.count("unchanged")
        return Counts(outcomes.count("created"), outcomes.count("changed"), unchanged)

    async def try_out(
        self,
        objects: Sequence[JSON],
        identity: ReleaseId,
        last: Mapping[ObjectId, JSON],
        options: ReleaseOptions,
        repair: Collection[ObjectId] = (),
    ) -> None:
        """Send each write that `apply` would do as a dry run, except for objects that need another one of the manifest
        that may not exist yet (`pending_objects.py`).

        Raises ReleaseFailed, which names the objects that would be refused; `invalid` are those whose content is.
        """
        before = {target.lasting: obj for target, obj in last.items()}
        wanted = {object_id(obj, identity): obj for obj in objects}
        pending = without_dependent(changed(wanted, before, repair), wanted, before, repair)

        async def attempt(target: ObjectId) -> WriteResult:
            obj = wanted[target]
            resource = await self._kinds.resolve(obj["apiVersion"], obj["kind"])
            order = _order(resource, obj, identity, before.get(target.lasting), options)
            return await self._write(replace(order, dry_run=True))

        await self._write_stage(pending, attempt, _FailureReport("applied, in a dry run", len(pending), 0))

    async def remove(
        self,
        ids: Iterable[ObjectId],
        identity: ReleaseId,
        spare: Collection[ObjectId] = (),
        options: ReleaseOptions = _NO_OPTIONS,
    ) -> list[ObjectId]:
        """Delete the objects that belong to this release, except those that its policy or `options` keep; the deleted
        ones, last written first.

        `spare` are the objects of the current manifest, in case one of `ids` is the same object by another version or
        by a namespace that does not matter. Does not wait until objects are gone. Raises ReleaseFailed, which names
        the objects that were not deleted.
        """
        spared = {target.lasting for target in spare}
        pending = {target: None for target in ids if target.lasting not in spared}
        removed: list[ObjectId] = []

        async def delete(target: ObjectId) -> str:
            if await self._delete(target, identity, spare, options):
                removed.append(target)
            return "done"

        for stage in reversed(stages(pending)):
            await self._write_stage(stage, delete, _FailureReport("deleted", len(pending), len(removed)))
        return removed

    async def _write(self, order: ObjectWrite) -> WriteResult:
        try:
            return await self._writing.write(order)
        except NotFound:
            self._kinds.forget(order.resource.api_version)
            raise
        except Denied as error:
            raise _explained(error, order.resource) from error

    async def _write_stage(self, stage: Sequence[ObjectId], work: _Work, report: "_FailureReport") -> list[str]:
        """Write the objects of a stage at the same time; the result of each. Raises ReleaseFailed."""

        async def attempt(target: ObjectId) -> str | KubeError | ReleaseFailed:
            async with self._turn:
                try:
                    return await work(target)
                except (KubeError, ReleaseFailed) as error:
                    return error

        results = await asyncio.gather(*map(attempt, stage))
        done = [result for result in results if isinstance(result, str)]
        if len(done) < len(stage):
            raise report.failure(dict(zip(stage, results, strict=True)))
        return done

    async def _wait_for_serving(self, crds: Sequence[JSON]) -> None:
        await asyncio.gather(*(wait_for_serving(self._client, crd, _ESTABLISHED_WITHIN) for crd in crds))

    async def _delete(
        self, target: ObjectId, identity: ReleaseId, spare: Collection[ObjectId], options: ReleaseOptions
    ) -> bool:
        """Delete one object; did it exist?"""
        try:
            resource = await self._kinds.resolve(target.api_version, target.kind)
            if not resource.namespaced and any(_same_in_cluster(target, other) for other in spare):
                return False
            ref = ObjectRef(resource, target.namespace, target.name)
            metadata = await writes.read_metadata(self._client, ref)
        except (UnknownKind, NotFound):
            return False
        except Denied as error:
            raise _explained(error, resource) from error
        kept = (target.group, target.kind) in options.kept_kinds and "objects of its kind are never pruned"
        if reason := kept or reason_to_stay(metadata, identity, options):
            _LOG.info("object is not deleted", object=str(target), reason=reason)
            return False
        if not metadata.get("deletionTimestamp"):
            try:
                await self._writing.delete(ref, metadata["uid"])
            except Denied as error:
                raise _explained(error, resource) from error
        return True


@dataclass(frozen=True, slots=True)
class _FailureReport:
    """Makes one error of many. `what` is the action, for `total` objects, `done` of them in the stages before."""

    what: str
    total: int
    done: int

    def failure(self, results: Mapping[ObjectId, str | KubeError | ReleaseFailed]) -> ReleaseFailed:
        """Names each kind of failure, because each may need another remedy, and all others unless there are many: the
        message is in logs, at `/readyz`, in `module list` and in the release's record."""
        failed = {target: result for target, result in results.items() if not isinstance(result, str)}
        done = [str(target) for target in results if target not in failed]
        rest = self.total - self.done - len(results)
        lines = [f"{len(failed)} of {self.total} objects could not be {self.what}:"]
        shown = _chosen({target: str(error) for target, error in failed.items()})
        lines += [f"{target}: {failed[target]}" for target in shown]
        lines += [f"and {len(failed) - len(shown)} more, for the same reasons or others"] * (len(failed) > len(shown))
        others = {f"{self.what} before that": self.done, "beside it": some(done), "not tried yet": rest}
        lines.append("; ".join(f"{which}: {what}" for which, what in others.items() if what))
        brief = any(error.brief for error in failed.values())
        invalid = [str(target) for target, error in failed.items() if _is_invalid(error)]
        return ReleaseFailed("\n".join(filter(None, lines)), brief, invalid)


def _is_invalid(error: KubeError | ReleaseFailed) -> bool:
    """Does the API server refuse what the object says?"""
    cause = error.__cause__ if isinstance(error, ReleaseFailed) else error
    return isinstance(cause, ApiError) and cause.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


def _chosen(failed: Mapping[ObjectId, str]) -> list[ObjectId]:
    """Some of the failed objects in their order: first those that fail in another way than those before."""
    reasons: dict[tuple[str, str], ObjectId] = {}
    for target, error in failed.items():
        reasons.setdefault((target.kind, error.replace(target.name, "")), target)
    chosen = {*[*dict.fromkeys([*reasons.values(), *failed])][:MOST]}
    return [target for target in failed if target in chosen]


def _explained(error: Denied, resource: Resource) -> Denied:
    return refusals.explain_rights(error, f"keep {resource.plural} of a module", refusals.rbac_rule(resource, _VERBS))


def _order(
    resource: Resource, obj: JSON, identity: ReleaseId, last: JSON | None, options: ReleaseOptions
) -> ObjectWrite:
    """The order to write an object of a manifest; `last` is the same in our last manifest."""
    body = with_marks(owned(obj, resource, identity), options.marks)
    before = last and with_marks(owned(last, resource, identity), options.marks)
    return ObjectWrite(resource, body, identity, before, options)


def _same_in_cluster(target: ObjectId, other: ObjectId) -> bool:
    return (target.group, target.kind, target.name) == (other.group, other.kind, other.name)


def reason_to_stay(metadata: JSON, identity: ReleaseId, options: ReleaseOptions) -> str:
    """Why a live object is not deleted with its release; empty if it is."""
    owner = owner_of(metadata)
    if owner != identity:
        return f"it belongs to release {owner}" if owner else "it belongs to no release"
    if must_stay(metadata):
        return f"its annotation {POLICY} says so"
    return f"its annotation {IGNORE} says so" if is_ignored(metadata, options) else ""
