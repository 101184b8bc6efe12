"""Brings a revision of a release about: what its record says (pure), and how it is carried out.

An attempt that failed or was interrupted is made again under its own number as long as the same is wanted, so that a
release that always fails does not push its own history out.

The order is Helm's: hooks before, objects, pruning, readiness, hooks after. An interrupted rollout can be carried out
once more from the beginning.
"""

import asyncio
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import orjson

from hookrunner.model.releases import Head, HelmHook, Terms, Wanted
from hookrunner.model.resources import JSON
from hookrunner.releases.helm_hooks import HelmHookRun, HelmHooks
from hookrunner.releases.manifest_applier import ManifestApplier
from hookrunner.releases.manifest_objects import Identity, ObjectId, object_id
from hookrunner.releases.readiness import Readiness
from hookrunner.releases.records.record import APPLY_METHOD, ReleaseRecord, RevisionStatus, now, recorded
from hookrunner.releases.records.release_history import PreviousRevisions
from hookrunner.releases.records.revisions import OURS, Revision, labelled

PINNED = "pinned"
ROLLED_BACK = "rolled-back"

_VERBS = {RevisionStatus.PENDING_INSTALL: "install", RevisionStatus.PENDING_ROLLBACK: "rollback"}
_FAILED = " failed: "
_WHEN = "modtime"
"""What tells of a chart only when it was packed."""


@dataclass(frozen=True, slots=True)
class RevisionAttempt:
    """A revision to be brought about: its record while it is pending, and its objects. `known` says that there is a
    record of this number already."""

    record: ReleaseRecord
    objects: tuple[JSON, ...]
    known: bool = False

    @property
    def verb(self) -> str:
        """As Helm's hooks call it: install, upgrade or rollback."""
        return _VERBS.get(RevisionStatus(self.record.status), "upgrade")

    def ended(self, error: str = "") -> ReleaseRecord:
        """The record of a revision that was brought about, or not: then with the reason, in Helm's words."""
        verb, status = self.verb.capitalize(), RevisionStatus.FAILED if error else RevisionStatus.DEPLOYED
        what = f'{"Release" if verb == "Install" else verb} "{self.record.name}"'
        done = f"{verb} complete"
        if verb == "Rollback":
            what = done = self.record.document["info"]["description"]
        return self.record.turned(status, what + _FAILED + error if error else done)


def noted(past: PreviousRevisions, wanted: Wanted) -> ReleaseRecord | None:
    """The head's record with what is wanted now noted on it, if that leads to the very same objects and hooks. Raises
    ReleaseFailed if its objects cannot be read.

    Its manifest stays as it was written: addon-operator, which writes the same objects otherwise, knows it by its
    checksum when it takes the release back (§6.3).
    """
    latest = past.latest
    if latest is None or latest.status != RevisionStatus.DEPLOYED:
        return None
    new = recorded(wanted, latest.revision, RevisionStatus.DEPLOYED)
    if _hooks(latest) != _hooks(new) or _objects(latest) != _objects(new):
        return None
    old, chart = latest.document.get("chart") or {}, wanted.rendered.chart
    chart = old if chart | {_WHEN: ""} == old | {_WHEN: ""} else chart
    noted = latest.document | {"config": wanted.values, "chart": chart}
    return ReleaseRecord(noted, _labels(past, wanted, latest.revision, latest.manifest))


def attempt(past: PreviousRevisions, wanted: Wanted) -> RevisionAttempt:
    """The revision that leads to what is wanted. One that failed or was interrupted on the way there is made again: a
    rollback as it was, another unless it had objects that are not wanted now, which only its record knows of."""
    latest = past.latest
    again = (
        latest is not None
        and latest.status != RevisionStatus.DEPLOYED
        and past.history[-1].head.digest == wanted.digest
    )
    if latest and again and past.history[-1].head.note:
        description = latest.document["info"]["description"].partition(_FAILED)[0]
        return RevisionAttempt(latest.turned(RevisionStatus.PENDING_ROLLBACK, description), latest.objects, known=True)
    known = latest is not None and again and _keys(latest.objects) <= _keys(wanted.rendered.objects)
    number = past.history[-1].number if known else past.next
    record = recorded(wanted, number, _pending(past.history), _first_deployed(past))
    labels = _labels(past, wanted, number, record.manifest)
    return RevisionAttempt(replace(record, labels=labels), wanted.rendered.objects, known)


def rollback(past: PreviousRevisions, target: ReleaseRecord, digest: str, note: str) -> RevisionAttempt:
    """A new revision like an earlier one, which stands for a digest that it was not made from."""
    info = target.document["info"] | {"first_deployed": _first_deployed(past) or now(), "last_deployed": now()}
    record = ReleaseRecord(target.document | {"info": info, "version": past.next, "apply_method": APPLY_METHOD})
    head = replace(past.history[-1].head, revision=past.next, digest=digest, note=note)
    labels = _others(past) | labelled(head, checksum(record.manifest))
    pending = record.turned(RevisionStatus.PENDING_ROLLBACK, f"Rollback to {target.revision}")
    return RevisionAttempt(replace(pending, labels=labels), target.objects)


def checksum(manifest: str) -> str:
    """As addon-operator has it (§6.3)."""
    return hashlib.md5(manifest.encode(), usedforsecurity=False).hexdigest()


def _labels(past: PreviousRevisions, wanted: Wanted, number: int, manifest: str) -> dict[str, str]:
    head = Head(wanted.name, wanted.namespace, number, "", wanted.digest, True, wanted.terms.unmanaged)
    return _others(past) | labelled(head, checksum(manifest))


def _others(past: PreviousRevisions) -> dict[str, str]:
    """Labels that a person put on the release stay, as with Helm."""
    labels = past.history[-1].labels if past.history else {}
    return {key: value for key, value in labels.items() if key not in OURS}


def _first_deployed(past: PreviousRevisions) -> str:
    """Since when there has been the release, "" if it is new or nobody knows."""
    return str(past.records[-1].document["info"].get("first_deployed", "")) if past.records else ""


def _pending(history: Sequence[Revision]) -> RevisionStatus:
    """An upgrade needs something to have been there, and not to have been uninstalled since."""
    there = any(revision.status in (RevisionStatus.DEPLOYED, RevisionStatus.SUPERSEDED) for revision in history)
    gone = bool(history) and history[-1].status in (RevisionStatus.UNINSTALLING, RevisionStatus.UNINSTALLED)
    return RevisionStatus.PENDING_UPGRADE if there and not gone else RevisionStatus.PENDING_INSTALL


def _keys(objects: Iterable[JSON]) -> set[tuple[str, ...]]:
    return {
        (obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"].get("name", ""))
        for obj in objects
    }


def _objects(record: ReleaseRecord) -> list[bytes]:
    """Whatever their order."""
    return sorted(orjson.dumps(obj, option=orjson.OPT_SORT_KEYS) for obj in record.objects)


def _hooks(record: ReleaseRecord) -> list[tuple[JSON, ...]]:
    """What makes hooks differ: not when they ran."""
    stored = record.document.get("hooks") or ()
    return [(hook["manifest"], hook.get("events"), hook.get("weight", 0)) for hook in stored]


_SMALL = 8 * 1024
"""Characters of a manifest that are read in a millisecond."""


@dataclass(frozen=True, slots=True)
class RolloutTools:
    """What changes one cluster. Everything raises KubeError, or ReleaseFailed with what to do."""

    applying: ManifestApplier
    hooks: HelmHooks
    readiness: Readiness


@dataclass(slots=True)
class ReleaseRollout:
    """One attempt. `written` counts the objects that were written or deleted, `runs` tells of its Helm hooks."""

    tools: RolloutTools
    attempt: RevisionAttempt
    past: PreviousRevisions
    terms: Terms
    written: int = 0
    runs: list[HelmHookRun] = field(default_factory=list)

    async def carry_out(self) -> None:
        """If the last attempt was cut short, nobody knows what was written, so that every object is looked at."""
        record, objects, verb = self.attempt.record, self.attempt.objects, self.attempt.verb
        identity, hooks = identity_of(record), record.hooks
        before, wanted = await by_id(self.past.records), {object_id(obj, identity_of(record)) for obj in objects}
        await self._run(hooks, f"pre-{verb}")
        doubtful = () if self.past.tidy else wanted
        self.written += (await self.tools.applying.apply(objects, identity, before, self.terms, doubtful)).written
        self.written += len(await self.tools.applying.remove(before.keys() - wanted, identity, spare=wanted))
        if self.terms.wait:
            await self.tools.readiness.wait_ready(objects, identity.namespace, self.terms.timeout)
        await self._run(hooks, f"post-{verb}")

    def ended(self, error: str = "") -> ReleaseRecord:
        """The revision's record now that it was brought about, or not, and why."""
        runs = {(run.hook.path, run.hook.name): _told(run) for run in self.runs}
        return self.attempt.ended(error).ran(runs)

    async def _run(self, hooks: Iterable[HelmHook], event: str) -> None:
        identity = identity_of(self.attempt.record)
        async with aclosing(self.tools.hooks.run(hooks, event, identity, self.terms.timeout)) as runs:
            async for run in runs:
                self.runs.append(run)


async def repair(tools: RolloutTools, record: ReleaseRecord, objects: Sequence[JSON], terms: Terms) -> int:
    """Bring these objects of a deployed revision back to what it says; how many were written."""
    identity = identity_of(record)
    wanted = {object_id(obj, identity): obj for obj in objects}
    return (await tools.applying.apply(objects, identity, wanted, terms, wanted.keys())).written


async def take_away(tools: RolloutTools, records: Sequence[ReleaseRecord], timeout: float) -> None:
    """Remove the objects of all these revisions, of which the last has the hooks that count."""
    identity, hooks = identity_of(records[-1]), records[-1].hooks
    for event in ("pre-delete", "post-delete"):
        async with aclosing(tools.hooks.run(hooks, event, identity, timeout)) as runs:
            async for _ in runs:
                continue
        if event == "pre-delete":
            await tools.applying.remove(await by_id(records), identity)


async def forget(tools: RolloutTools, records: Sequence[ReleaseRecord], numbers: Collection[int]) -> None:
    """Remove the objects that only the revisions of these numbers have."""
    known = await by_id([record for record in records if record.revision in numbers])
    spare = await by_id([record for record in records if record.revision not in numbers])
    await tools.applying.remove(known, identity_of(records[-1]), spare=spare)


def identity_of(record: ReleaseRecord) -> Identity:
    """Whose objects its objects are."""
    return Identity(record.name, record.namespace)


async def by_id(records: Sequence[ReleaseRecord]) -> Mapping[ObjectId, JSON]:
    """All objects of these revisions, each as the last of them has it. A manifest of a megabyte takes half a second to
    read, so nobody waits for it; a small one takes less time than a thread does to begin."""

    def read() -> Mapping[ObjectId, JSON]:
        return {object_id(obj, identity_of(record)): obj for record in records for obj in record.objects}

    small = sum(len(record.manifest) for record in records) <= _SMALL
    return read() if small else await asyncio.to_thread(read)


def _told(run: HelmHookRun) -> JSON:
    """As Helm has it, which leaves out the time that there is not."""
    completed = {"completed_at": run.completed} if run.completed else {}
    return {"started_at": run.started, **completed, "phase": run.phase}
