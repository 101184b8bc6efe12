"""Applies the objects of a release's manifest, or deletes them.

    applier = ManifestApplier(client, KindResolver(discovery))
    counts = await applier.apply(objects, identity, last, options)
    await applier.remove(ids, identity, spare=wanted_ids)

Nothing is asked of the API server about an object whose desired state equals the last manifest: the caller has to
watch the objects and name in `repair` those that have drifted. Stages (`manifest_objects`) come one after another, the
objects of each at the same time. An object that fails keeps later stages from being written, not the rest of its own.

A dry run writes nothing, so an object is refused for want of what its own manifest creates: its namespace, the
definition of its kind, and the role that a binding names, which the API server looks up for a client that does not have
all rights of that role
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#restrictions-on-role-binding-creation-or-update). What
such an object says is not checked before it is applied; in later revisions it is.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence

from hookrunner import log
from hookrunner.kube.client import Client
from hookrunner.model.releases import KeptObject, ReleaseOptions
from hookrunner.releases.crds import wait_for_serving
from hookrunner.releases.manifest_objects import CRD, KindResolver, ObjectId, ReleaseId, object_id, stages
from hookrunner.releases.objects.object_remover import ObjectRemover, RemovedObject
from hookrunner.releases.objects.object_writer import ObjectWriter, SharedWrites
from hookrunner.releases.objects.stage_runner import StageProgress, run_stage
from kubetypes import json_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_ESTABLISHED_WITHIN = 60.0

_log = log.get(__name__)

_NO_OPTIONS = ReleaseOptions()

_RBAC = "rbac.authorization.k8s.io"
_ROLES = ("Role", "ClusterRole")
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")


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
    """Writes to one cluster, for any number of releases at once, in at most 24 requests at a time, with others that
    have the same `shared`. `writer` writes single objects, `notes` has what units report of each release, until it is
    taken."""

    def __init__(self, client: Client, kinds: KindResolver, shared: SharedWrites | None = None) -> None:
        shared = shared or SharedWrites(client)
        self._client = client
        self._kinds = kinds
        self._turn = shared.turn
        self.writer = ObjectWriter(client, kinds, shared)
        self.notes = self.writer.notes
        self._remover = ObjectRemover(client, kinds)

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
        wanted = {object_id(obj, identity): obj for obj in objects}
        before = _as_wanted(last, wanted)
        if len(wanted) < len(objects):
            _log.warn("duplicate objects in manifest, the last one is used", release=str(identity))
        pending = changed(wanted, before, repair)
        self._kinds.learn(objects)

        outcomes: list[str] = []
        for stage in stages(pending):
            work = {
                target: self.writer.write(wanted[target], identity, before.get(target), options) for target in stage
            }
            outcomes += await run_stage(work, StageProgress("applied", len(pending), len(outcomes)), self._kinds)
            crds = [wanted[target] for target in stage if target.kind == CRD]
            await asyncio.gather(*(wait_for_serving(self._client, crd, _ESTABLISHED_WITHIN) for crd in crds))
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
        that may not exist yet.

        Raises ReleaseFailed, which names the objects that would be refused; `invalid` are those whose content is.
        """
        wanted = {object_id(obj, identity): obj for obj in objects}
        before = _as_wanted(last, wanted)
        pending = without_dependent(changed(wanted, before, repair), wanted, before, repair)

        work = {
            target: self.writer.write(wanted[target], identity, before.get(target), options, dry_run=True)
            for target in pending
        }
        await run_stage(work, StageProgress("applied, in a dry run", len(pending), 0), self._kinds)

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

        async def delete(target: ObjectId) -> None:
            async with self._turn:
                match await self._remover.remove(target, identity, options, spare):
                    case RemovedObject():
                        removed.append(target)
                    case KeptObject() as kept if options.of_addon:
                        self.notes[identity].kept.append(kept)

        for stage in reversed(stages(pending)):
            progress = StageProgress("deleted", len(pending), len(removed))
            await run_stage({target: delete(target) for target in stage}, progress, self._kinds)
        return removed


def _as_wanted(last: Mapping[ObjectId, JSON], wanted: Collection[ObjectId]) -> dict[ObjectId, JSON]:
    """Objects of the last manifest by the wanted ids: the API version of an object may have changed."""
    before = {target.lasting: obj for target, obj in last.items()}
    return {target: before[target.lasting] for target in wanted if target.lasting in before}


def changed(
    desired: Mapping[ObjectId, JSON], last: Mapping[ObjectId, JSON], repair: Collection[ObjectId]
) -> list[ObjectId]:
    """The objects that differ from those of the last manifest, and those to repair."""
    return [target for target, obj in desired.items() if target in repair or not _same(last.get(target), obj)]


def without_dependent(
    pending: Iterable[ObjectId],
    desired: Mapping[ObjectId, JSON],
    last: Mapping[ObjectId, JSON],
    repair: Collection[ObjectId],
) -> list[ObjectId]:
    """The pending objects without those that need another object of the manifest that may not exist yet. Those of
    the last manifest exist, unless they need a repair."""
    uncertain = (target for target in desired if target in repair or target not in last)
    new = NewObjects(desired[target] for target in uncertain)
    return [target for target in pending if not new.are_needed_by(target, desired[target])]


def _same(obj: JSON, other: JSON) -> bool:
    """Are they one JSON value? Most differences are found without encoding them."""
    return obj == other and json_values.equal(obj, other)


class NewObjects:
    """The objects of a manifest that may not exist yet."""

    def __init__(self, objects: Iterable[JSON]) -> None:
        self._namespaces: set[str] = set()
        self._kinds: set[tuple[str, str]] = set()
        self._roles: set[tuple[str, str]] = set()
        for obj in objects:
            self._add(obj)

    def _add(self, obj: JSON) -> None:
        kind, name = obj["kind"], obj["metadata"]["name"]
        if kind == "Namespace":
            self._namespaces.add(name)
        elif kind == CRD:
            spec = obj.get("spec") or {}
            self._kinds.add((str(spec.get("group")), str((spec.get("names") or {}).get("kind"))))
        elif kind in _ROLES:
            self._roles.add((kind, name))

    def are_needed_by(self, target: ObjectId, obj: JSON) -> bool:
        """Can the object not be tried out, because it needs one of these?"""
        if target.namespace in self._namespaces or (target.group, target.kind) in self._kinds:
            return target.kind != "Namespace"
        role = obj.get("roleRef") or {}
        is_binding = target.group == _RBAC and target.kind in _BINDINGS
        return is_binding and (role.get("kind"), role.get("name")) in self._roles
