"""Rolls out a revision of a release: what its record says (pure), and how it is carried out.

A failed or interrupted attempt is repeated under its own number as long as the desired release is the same, so that a
release that always fails does not push its own history out.

The order is Helm's: hooks before, objects, pruning, readiness, hooks after. An interrupted rollout can be carried out
once more from the beginning.
"""

import asyncio
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from typing import Any

from hookrunner import log
from hookrunner.errors import ObjectsDeleted, ReleaseFailed
from hookrunner.model.releases import DesiredRelease, Head, HelmHook, ReleaseOptions, ServiceAccount
from hookrunner.model.status import some
from hookrunner.releases.helm_hooks import HelmHookRun, HelmHooks
from hookrunner.releases.manifest_applier import ManifestApplier
from hookrunner.releases.manifest_objects import ObjectId, ReleaseId, object_id
from hookrunner.releases.objects.account_rights import AccountRights
from hookrunner.releases.objects.teardown import Teardown
from hookrunner.releases.readiness import Readiness
from hookrunner.releases.records.record import (
    APPLY_METHOD,
    OURS,
    QUICK_TO_PARSE,
    PreviousRevisions,
    ReleaseRecord,
    ReleaseRevision,
    RevisionStatus,
    new_record,
    now,
    release_labels,
    version_of,
)
from kubetypes import json_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)

_VERBS = {RevisionStatus.PENDING_INSTALL: "install", RevisionStatus.PENDING_ROLLBACK: "rollback"}
_FAILED = " failed: "
_WHEN = "modtime"
"""A field of a chart that only says when it was packed."""


@dataclass(frozen=True, slots=True)
class RevisionAttempt:
    """A revision to roll out: its pending record and its objects. `known` says that a record of this number exists
    already."""

    record: ReleaseRecord
    objects: tuple[JSON, ...]
    known: bool = False

    @property
    def verb(self) -> str:
        """The action as Helm's hooks call it: install, upgrade or rollback."""
        return _VERBS.get(RevisionStatus(self.record.status), "upgrade")

    def ended(self, error: str = "") -> ReleaseRecord:
        """The record after a success, or after a failure with the reason, in Helm's words."""
        verb, status = self.verb.capitalize(), RevisionStatus.FAILED if error else RevisionStatus.DEPLOYED
        what = f'{"Release" if verb == "Install" else verb} "{self.record.name}"'
        done = f"{verb} complete"
        if verb == "Rollback":
            what = done = self.record.document["info"]["description"]
        return self.record.with_status(status, what + _FAILED + error if error else done)


def with_desired_noted(previous: PreviousRevisions, desired: DesiredRelease) -> ReleaseRecord | None:
    """The head's record with the desired chart and values, if these lead to the very same objects and hooks. Raises
    ReleaseFailed if its objects cannot be read.

    Its manifest stays as it was written: addon-operator, which writes the same objects in another form, recognizes it
    by its checksum when it takes the release back.
    """
    latest = previous.latest
    if latest is None or latest.status != RevisionStatus.DEPLOYED:
        return None
    new = new_record(desired, latest.revision, RevisionStatus.DEPLOYED)
    if _hooks(latest) != _hooks(new) or _objects(latest) != _objects(new):
        return None
    old, chart = latest.document.get("chart") or {}, desired.rendered.chart
    chart = old if chart | {_WHEN: ""} == old | {_WHEN: ""} else chart
    noted = latest.document | {"config": desired.values, "chart": chart}
    return ReleaseRecord(noted, _labels(previous, desired, latest.revision, latest.manifest))


def next_attempt(previous: PreviousRevisions, desired: DesiredRelease) -> RevisionAttempt:
    """The revision that leads to the desired release. A failed or interrupted attempt for the same digest is repeated:
    a rollback unchanged; any other unless it had objects that are not desired now, because only its record names
    them."""
    latest = previous.latest
    is_repeated = (
        latest is not None
        and latest.status != RevisionStatus.DEPLOYED
        and previous.history[-1].head.digest == desired.digest
    )
    if latest and is_repeated and previous.history[-1].head.note:
        description = latest.document["info"]["description"].partition(_FAILED)[0]
        return RevisionAttempt(
            latest.with_status(RevisionStatus.PENDING_ROLLBACK, description), latest.objects, known=True
        )
    known = latest is not None and is_repeated and _keys(latest.objects) <= _keys(desired.rendered.objects)
    number = previous.history[-1].number if known else previous.next_number
    record = new_record(desired, number, _pending(previous.history), _first_deployed(previous))
    labels = _labels(previous, desired, number, record.manifest)
    return RevisionAttempt(replace(record, labels=labels), desired.rendered.objects, known)


def rollback_attempt(
    previous: PreviousRevisions, target: ReleaseRecord, digest: str, note: str, account: ServiceAccount | None = None
) -> RevisionAttempt:
    """A new revision with the content of an earlier one, written as this account; it stands for a digest from which it
    was not made."""
    info = target.document["info"] | {"first_deployed": _first_deployed(previous) or now(), "last_deployed": now()}
    record = ReleaseRecord(
        target.document | {"info": info, "version": previous.next_number, "apply_method": APPLY_METHOD}
    )
    head = replace(previous.history[-1].head, revision=previous.next_number, digest=digest, note=note)
    head = replace(head, version=version_of(target.labels), account=account)
    labels = _user_labels(previous) | release_labels(head, checksum(record.manifest))
    pending = record.with_status(RevisionStatus.PENDING_ROLLBACK, f"Rollback to {target.revision}")
    return RevisionAttempt(replace(pending, labels=labels), target.objects)


def checksum(manifest: str) -> str:
    """The checksum of a manifest as addon-operator computes it."""
    return hashlib.md5(manifest.encode(), usedforsecurity=False).hexdigest()


def _labels(previous: PreviousRevisions, desired: DesiredRelease, number: int, manifest: str) -> dict[str, str]:
    head = Head(desired.name, desired.namespace, number, "", desired.digest, True, desired.options.unmanaged)
    head = replace(head, addon=desired.addon, version=desired.version, account=desired.options.account)
    head = replace(head, **_succession(previous, desired))
    return _user_labels(previous) | release_labels(head, checksum(manifest))


def _succession(previous: PreviousRevisions, desired: DesiredRelease) -> dict[str, Any]:
    """Whose place the release takes, or has taken: decided by its first revision."""
    if previous.history:
        head = previous.history[-1].head
        return {"predecessor": head.predecessor, "succession": head.succession}
    predecessor = desired.options.predecessor
    return {"predecessor": predecessor.name, "succession": predecessor.succession} if predecessor else {}


def _user_labels(previous: PreviousRevisions) -> dict[str, str]:
    """Labels that a person put on the release are kept, as Helm does."""
    labels = previous.history[-1].labels if previous.history else {}
    return {key: value for key, value in labels.items() if key not in OURS}


def _first_deployed(previous: PreviousRevisions) -> str:
    """When the release was first deployed, "" if it is new or unknown."""
    return str(previous.records[-1].document["info"].get("first_deployed", "")) if previous.records else ""


def _pending(history: Sequence[ReleaseRevision]) -> RevisionStatus:
    """An upgrade needs an earlier deployment that was not uninstalled since."""
    was_deployed = any(revision.status in (RevisionStatus.DEPLOYED, RevisionStatus.SUPERSEDED) for revision in history)
    was_uninstalled = bool(history) and history[-1].status in (RevisionStatus.UNINSTALLING, RevisionStatus.UNINSTALLED)
    return RevisionStatus.PENDING_UPGRADE if was_deployed and not was_uninstalled else RevisionStatus.PENDING_INSTALL


def _keys(objects: Iterable[JSON]) -> set[tuple[str, ...]]:
    return {
        (obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"].get("name", ""))
        for obj in objects
    }


def _objects(record: ReleaseRecord) -> list[bytes]:
    """The objects in an order that does not depend on the manifest."""
    return sorted(map(json_values.canonical, record.objects))


def _hooks(record: ReleaseRecord) -> list[tuple[JSON, ...]]:
    """The parts of hooks to compare, without their last runs."""
    stored = record.document.get("hooks") or ()
    return [(hook["manifest"], hook.get("events"), hook.get("weight", 0)) for hook in stored]


@dataclass(frozen=True, slots=True)
class RolloutTools:
    """What changes one cluster, as one account; `release_tools.py` makes them. `rights` are those of the account,
    None for hookrunner's own. Every method raises KubeError, or ReleaseFailed with what to do."""

    applier: ManifestApplier
    hooks: HelmHooks
    readiness: Readiness
    teardown: Teardown
    rights: AccountRights | None = None


@dataclass(slots=True)
class ReleaseRollout:
    """One rollout of an attempt. `written` counts the objects that were written or deleted, `runs` are its Helm
    hooks."""

    tools: RolloutTools
    attempt: RevisionAttempt
    previous: PreviousRevisions
    options: ReleaseOptions
    written: int = 0
    runs: list[HelmHookRun] = field(default_factory=list)
    _before: Mapping[ObjectId, JSON] | None = None

    async def try_out(self) -> None:
        """Have the API server check what would be written. Raises ReleaseFailed, KubeError; then nothing is written."""
        objects, identity = self.attempt.objects, release_of(self.attempt.record)
        before, desired = await self._read_before(), {object_id(obj, identity) for obj in objects}
        doubtful = () if self.previous.is_consistent else desired
        await self.tools.applier.try_out(objects, identity, before, self.options, doubtful)

    async def carry_out(self) -> None:
        """Carry the attempt out. If the previous attempt was interrupted, it is unknown what was written, so every
        object is written."""
        record, objects, verb = self.attempt.record, self.attempt.objects, self.attempt.verb
        identity, hooks = release_of(record), record.hooks
        before, desired = await self._read_before(), {object_id(obj, identity) for obj in objects}
        await self._run(hooks, f"pre-{verb}")
        doubtful = () if self.previous.is_consistent else desired
        self.written += (await self.tools.applier.apply(objects, identity, before, self.options, doubtful)).written
        gone = await self.tools.applier.remove(before.keys() - desired, identity, desired, self.options)
        self.written += len(gone)
        if self.options.wait:
            await self._wait_ready(objects, identity)
        await self._run(hooks, f"post-{verb}")

    async def _wait_ready(self, objects: Sequence[JSON], identity: ReleaseId) -> None:
        """Wait until all are ready. What others delete meanwhile is written again, each object once: whoever deletes it
        a second time means it."""
        clock, desired = asyncio.get_running_loop().time, {object_id(obj, identity): obj for obj in objects}
        deadline, spared = clock() + self.options.timeout, set(desired)
        while True:
            try:
                return await self.tools.readiness.wait_ready(objects, identity.namespace, deadline - clock())
            except ObjectsDeleted as error:
                deleted = {one for one in spared if _keys_of(one) & error.deleted}
                if not deleted:
                    raise ReleaseFailed(str(error)) from error
                _log.warn("objects were deleted during the rollout", objects=some([*map(str, deleted)]))
                spared -= deleted
                counts = await self.tools.applier.apply(objects, identity, desired, self.options, deleted)
                self.written += counts.written

    def ended(self, error: str = "") -> ReleaseRecord:
        """The revision's record after the rollout, with the error if it failed."""
        runs = {(run.hook.path, run.hook.name): _run_as_json(run) for run in self.runs}
        return self.attempt.ended(error).with_runs(runs)

    async def _read_before(self) -> Mapping[ObjectId, JSON]:
        """The objects of the previous revisions, parsed once for the dry run and the writes."""
        if self._before is None:
            self._before = await by_id(self.previous.records)
        return self._before

    async def _run(self, hooks: Sequence[HelmHook], event: str) -> None:
        if not hooks:  # most charts have none
            return
        identity = release_of(self.attempt.record)
        async with aclosing(self.tools.hooks.run(hooks, event, identity, self.options.timeout)) as runs:
            async for run in runs:
                self.runs.append(run)


def _keys_of(target: ObjectId) -> set[tuple[str, str, str]]:
    """What an `ObjectKey` of it may be: its namespace counts only for kinds that have namespaces."""
    return {(target.namespace, target.kind, target.name), ("", target.kind, target.name)}


async def check_rights(
    tools: RolloutTools,
    previous: PreviousRevisions,
    identity: ReleaseId,
    objects: Sequence[JSON],
    hooks: Sequence[HelmHook],
) -> None:
    """Ask whether the account may do all that these objects and hooks take, if there is one, before anything is
    written. Raises ReleaseFailed, KubeError."""
    if tools.rights:
        await tools.rights.require(objects, [hook.obj for hook in hooks], identity, await by_id(previous.records))


async def repair(tools: RolloutTools, record: ReleaseRecord, objects: Sequence[JSON], options: ReleaseOptions) -> int:
    """Restore these objects to a deployed revision; how many were written."""
    identity = release_of(record)
    desired = {object_id(obj, identity): obj for obj in objects}
    return (await tools.applier.apply(objects, identity, desired, options, desired.keys())).written


async def run_hooks(tools: RolloutTools, record: ReleaseRecord, event: str, timeout: float) -> None:
    """Run the hooks of a revision for one event, without recording when they ran."""
    async with aclosing(tools.hooks.run(record.hooks, event, release_of(record), timeout)) as runs:
        async for _ in runs:
            continue


async def delete_exclusive(
    tools: RolloutTools, records: Sequence[ReleaseRecord], numbers: Collection[int], options: ReleaseOptions
) -> None:
    """Delete the objects that only the revisions of these numbers have."""
    known = await by_id([record for record in records if record.revision in numbers])
    spare = await by_id([record for record in records if record.revision not in numbers])
    await tools.applier.remove(known, release_of(records[-1]), spare, options)


def release_of(record: ReleaseRecord) -> ReleaseId:
    """The release of a record."""
    return ReleaseId(record.name, record.namespace)


async def by_id(records: Sequence[ReleaseRecord]) -> Mapping[ObjectId, JSON]:
    """All objects of these revisions, each from the last revision that has it. A manifest of a megabyte takes half a
    second to parse, so a thread does it; a small one takes less time than starting a thread."""

    def read() -> Mapping[ObjectId, JSON]:
        return {object_id(obj, release_of(record)): obj for record in records for obj in record.objects}

    is_quick = sum(record.work for record in records) <= QUICK_TO_PARSE
    return read() if is_quick else await asyncio.to_thread(read)


def _run_as_json(run: HelmHookRun) -> JSON:
    """A run in Helm's format, which leaves out an unknown time."""
    completed = {"completed_at": run.completed} if run.completed else {}
    return {"started_at": run.started, **completed, "phase": run.phase}
