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
from dataclasses import dataclass

from hookrunner import log
from hookrunner.errors import Denied, KubeError, NotFound, ReleaseFailed, UnknownKind
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
from hookrunner.releases.object_writer import ObjectWrite, ObjectWriter, ReleaseOwners, WriteResult
from kubetypes import json_values
from kubetypes.json_values import JSON

_AT_ONCE = 24
_VERBS = ["get", "list", "watch", "create", "patch", "delete"]
_ESTABLISHED_WITHIN = 60.0

_LOG = log.get("releases.applying")

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
        before = last and owned(last, resource, identity)
        order = ObjectWrite(resource, owned(obj, resource, identity), identity, before, options)
        try:
            return await self._writing.write(order)
        except NotFound:
            self._kinds.forget(resource.api_version)
            raise
        except Denied as error:
            raise _explained(error, resource) from error

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
        pending = [
            target for target, obj in wanted.items() if target in repair or not _same(before.get(target.lasting), obj)
        ]
        self._kinds.learn(objects)

        async def write(target: ObjectId) -> WriteResult:
            return await self.create_or_update(wanted[target], identity, before.get(target.lasting), options)

        outcomes: list[str] = []
        for stage in stages(pending):
            outcomes += await self._write_stage(stage, write, _FailureReport("applied", len(pending), len(outcomes)))
            await self._wait_for_serving([wanted[target] for target in stage if target.kind == CRD])
        unchanged = len(wanted) - len(pending) + outcomes.count("unchanged")
        return Counts(outcomes.count("created"), outcomes.count("changed"), unchanged)

    async def remove(
        self, ids: Iterable[ObjectId], identity: ReleaseId, spare: Collection[ObjectId] = ()
    ) -> list[ObjectId]:
        """Delete the objects that belong to this release, except those that its policy keeps; the deleted ones, last
        written first.

        `spare` are the objects of the current manifest, in case one of `ids` is the same object by another version or
        by a namespace that does not matter. Does not wait until objects are gone. Raises ReleaseFailed, which names
        the objects that were not deleted.
        """
        spared = {target.lasting for target in spare}
        pending = {target: None for target in ids if target.lasting not in spared}
        removed: list[ObjectId] = []

        async def delete(target: ObjectId) -> str:
            if await self._delete(target, identity, spare):
                removed.append(target)
            return "done"

        for stage in reversed(stages(pending)):
            await self._write_stage(stage, delete, _FailureReport("deleted", len(pending), len(removed)))
        return removed

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

    async def _delete(self, target: ObjectId, identity: ReleaseId, spare: Collection[ObjectId]) -> bool:
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
        if reason := _reason_to_stay(metadata, identity):
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
        return ReleaseFailed("\n".join(filter(None, lines)), any(error.brief for error in failed.values()))


def _chosen(failed: Mapping[ObjectId, str]) -> list[ObjectId]:
    """Some of the failed objects in their order: first those that fail in another way than those before."""
    reasons: dict[tuple[str, str], ObjectId] = {}
    for target, error in failed.items():
        reasons.setdefault((target.kind, error.replace(target.name, "")), target)
    chosen = {*[*dict.fromkeys([*reasons.values(), *failed])][:MOST]}
    return [target for target in failed if target in chosen]


def _explained(error: Denied, resource: Resource) -> Denied:
    return refusals.explain_rights(error, f"keep {resource.plural} of a module", refusals.rbac_rule(resource, _VERBS))


def _same(obj: JSON, other: JSON) -> bool:
    """Are they one JSON value? Most differences are found without encoding them."""
    return obj == other and json_values.equal(obj, other)


def _same_in_cluster(target: ObjectId, other: ObjectId) -> bool:
    return (target.group, target.kind, target.name) == (other.group, other.kind, other.name)


def _reason_to_stay(metadata: JSON, identity: ReleaseId) -> str:
    owner = owner_of(metadata)
    if owner != identity:
        return f"it belongs to release {owner}" if owner else "it belongs to no release"
    return f"its annotation {POLICY} says so" if must_stay(metadata) else ""
