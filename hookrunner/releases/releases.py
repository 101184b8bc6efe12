"""A module's objects in the cluster as a Helm release: installs, upgrades, rolls back and repairs.

    releases = Releases(client, discovery, watches, RecordSettings("secret", keep=10, home="addons"))
    heads = await releases.list_heads("kube-system")
    result = await releases.reconcile(desired)

A revision is recorded with its whole manifest before the first of its objects is written, and counts as deployed after
the last: whenever the process dies, the next one knows what may be in the cluster. The labels of records are kept in
memory, so a release that is in sync costs no request.

Only this process writes the records of its releases while it runs, so a revision that is pending or uninstalling when
we look was left by a process that has died: it is taken up again. (A `helm` that runs at the very same time would be
overtaken; another `helm` would do the same to it.)
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from hookrunner.errors import KubeError, ReleaseFailed
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.model.releases import (
    PINNED,
    ROLLED_BACK,
    DeployedRevision,
    DesiredRelease,
    Head,
    ObjectDrift,
    ReleaseOptions,
    ReleaseResult,
    WriteNotes,
)
from hookrunner.process.pure_calls import SizeBounds, call_by_size
from hookrunner.releases import rollout
from hookrunner.releases.manifest_objects import KindResolver, ReleaseId
from hookrunner.releases.readiness import Readiness
from hookrunner.releases.records.record import (
    JSON_IS_QUICKER,
    PENDING,
    QUICK_TO_PARSE,
    ReleaseRecord,
    ReleaseRevision,
    RevisionStatus,
    live_revisions,
    version_of,
)
from hookrunner.releases.records.record_storage import OTHER, Driver, RecordStorage
from hookrunner.releases.records.release_store import ReleaseHistory, ReleaseStore, naming_release
from hookrunner.releases.release_removal import ReleaseRemoval
from hookrunner.releases.release_tools import ReleaseTools
from hookrunner.releases.rollout import ReleaseRollout
from kubetypes import json_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_NO_OPTIONS = ReleaseOptions()
_UNFINISHED = frozenset({RevisionStatus.DEPLOYED, RevisionStatus.UNINSTALLING, *PENDING})
_OBJECT_BY_OBJECT = SizeBounds(in_place=QUICK_TO_PARSE, in_thread=sys.maxsize)
"""For functions that handle the objects of manifests one by one, by their work (`ReleaseRecord.work`): in place if that
takes less time than to start a thread."""


@dataclass(frozen=True, slots=True)
class RecordSettings:
    """How releases are recorded: the kind of the records, how many are kept (0 is all), and the operator's namespace,
    which records in other namespaces name."""

    driver: Driver
    keep: int
    home: str


class Releases:
    """The releases of one cluster. `kinds` resolves the kinds of their objects; the installer of CRDs adds to it.
    `removal` removes them.

    Every method raises ReleaseFailed, which names the release, or KubeError if the records themselves cannot be read
    or written. Calls that change the same release wait for each other.
    """

    def __init__(self, client: Client, discovery: Discovery, watches: Watches, records: RecordSettings) -> None:
        readiness = Readiness(discovery, watches)
        self.kinds = KindResolver(discovery)
        self._tools = ReleaseTools(client, self.kinds, discovery, readiness)
        ours, others = (
            RecordStorage(client, driver, records.home) for driver in (records.driver, OTHER[records.driver])
        )
        self._store = ReleaseStore(ours, others, watches)
        self.removal = ReleaseRemoval(self._store, self._tools)
        self._keep = records.keep

    async def list_heads(self, namespace: str) -> dict[str, Head]:
        """Read the latest revision of each release there, by name: one request, of metadata only, and the first time
        another one, which looks for records of the other kind."""
        return await self._store.list_heads(namespace)

    async def list_strays(self) -> dict[str, Head]:
        """Read the latest revision of each of our releases in another namespace than the operator's, by name: one
        request, of metadata only. Raises Denied without the right to list all records."""
        return await self._store.list_strays()

    async def read_head(self, name: str, namespace: str) -> Head | None:
        """The latest revision of one release, from memory if the records were listed before."""
        return (await self._store.get_for_reading(name, namespace)).head

    async def read_heads(self, namespace: str) -> Mapping[str, Head]:
        """The latest revision of each release there with records of either kind, by name, from memory if the records
        were listed before."""
        return await self._store.read_heads(namespace)

    async def read_history(self, name: str, namespace: str) -> tuple[Head, ...]:
        """All revisions of one release, the latest last, from memory if the records were listed before."""
        history = (await self._store.get_for_reading(name, namespace)).history
        return tuple(revision.head for revision in history)

    async def reconcile(self, desired: DesiredRelease) -> ReleaseResult:
        """Install or upgrade the release, or do nothing if it is in sync.

        With `rollback_on_failure` a failure restores the last deployed revision and is raised nevertheless; the failed
        revision is not tried again, and the head's note is `rolled-back`. An API server that is unavailable, or a right
        that is missing, shows nothing about a revision: it is tried again.
        """
        async with self._store.hold(desired.name, desired.namespace) as release:
            changed = 0
            if release.broken or not _is_in_sync(release.history, desired):
                changed = await self._upgrade(release, desired)
            await self._clean_history(release, desired.options)
            return ReleaseResult(_head(release), changed, desired.rendered.objects)

    def take_notes(self, name: str, namespace: str) -> WriteNotes:
        """What was written of a release since the last call."""
        return self._tools.shared.notes.pop(ReleaseId(name, namespace), WriteNotes())

    async def rollback(
        self, name: str, namespace: str, revision: int | None, digest: str, options: ReleaseOptions = _NO_OPTIONS
    ) -> ReleaseResult:
        """Restore an earlier revision, or the last deployed one before the head, as a new one that is pinned: it stands
        for `digest`, that of the desired release, until the desired release changes."""
        async with self._store.hold(name, namespace) as release:
            target = await release.read(_find_earlier(release.history, name, revision))
            return await self._restore(release, target, digest, PINNED, options)

    async def restore_healthy(
        self, name: str, namespace: str, revision: int, digest: str, options: ReleaseOptions
    ) -> ReleaseResult:
        """Restore an earlier revision as a new one that stands for `digest`, that of a desired release which does not
        work: its note says `rolled-back`. For an addon, of which that may turn out later."""
        async with self._store.hold(name, namespace) as release:
            target = await release.read(_find_earlier(release.history, name, revision))
            return await self._restore(release, target, digest, ROLLED_BACK, options)

    async def _restore(
        self, release: ReleaseHistory, target: ReleaseRecord, digest: str, note: str, options: ReleaseOptions
    ) -> ReleaseResult:
        previous, tools = await release.read_previous(), self._tools.of(options)
        with naming_release(release):
            await rollout.check_rights(tools, previous, _identity(release), target.objects, target.hooks)
        attempt = await call_by_size(
            target.work, _OBJECT_BY_OBJECT, rollout.rollback_attempt, previous, target, digest, note, options.account
        )
        changed = await self._roll_out(release, ReleaseRollout(tools, attempt, previous, options))
        await self._clean_history(release, options)
        return ReleaseResult(_head(release), changed, attempt.objects)

    async def repair(
        self, name: str, namespace: str, findings: Collection[ObjectDrift], options: ReleaseOptions
    ) -> int:
        """Restore objects that are missing or changed to the deployed revision, without a new revision; how many were
        written."""
        async with self._store.hold(name, namespace) as release:
            record = (await release.read_previous()).deployed
            if record is None:
                raise ReleaseFailed(f"release {namespace}/{name}: no revision of it is deployed")
            missing = {(finding.kind, finding.namespace, finding.name) for finding in findings}
            everything = (await rollout.by_id([record])).values()
            objects = [obj for obj in everything if _key(obj, namespace) in missing or _key(obj, "") in missing]
            with naming_release(release):
                return await rollout.repair(self._tools.of(options), record, objects, options)

    async def read_manifest(self, head: Head) -> tuple[JSON, ...]:
        """Read the objects of the deployed revision; empty without one."""
        deployed = (await (await self._store.get_for_reading(head.name, head.namespace)).read_previous()).deployed
        return tuple((await rollout.by_id([deployed])).values()) if deployed else ()

    async def read_deployed(self, head: Head) -> DeployedRevision:
        """Read the objects of the deployed revision, and its version; nothing without one."""
        deployed = (await (await self._store.get_for_reading(head.name, head.namespace)).read_previous()).deployed
        if deployed is None:
            return DeployedRevision()
        chart = (deployed.document.get("chart") or {}).get("metadata") or {}
        version = version_of(deployed.labels) or str(chart.get("version") or "")
        return DeployedRevision(tuple((await rollout.by_id([deployed])).values()), version)

    async def read_values(self, head: Head) -> JSON:
        """Read the values of the deployed revision; None without a deployed revision whose record can be read."""
        deployed = (await (await self._store.get_for_reading(head.name, head.namespace)).read_previous()).deployed
        return deployed.document.get("config") if deployed else None

    async def read_chart(self, head: Head) -> JSON:
        """Read the metadata of the chart of the latest revision, as `Chart.yaml` has it; empty if no record can be
        read."""
        records = (await (await self._store.get_for_reading(head.name, head.namespace)).read_previous()).records
        return ((records[-1].document.get("chart") or {}).get("metadata") or {}) if records else {}

    def watch_changes(self, namespace: str) -> AsyncGenerator[str, None]:
        """Yield names of releases whose latest revision another client has changed (`helm rollback`), when the change
        has ended. Close it with `aclosing`."""
        return self._store.watch_changes(namespace)

    def problems(self, name: str, namespace: str) -> list[str]:
        """The known problems of the records of a release, for a person."""
        return self._store.get_cached(name, namespace).problems

    def is_broken(self, head: Head) -> bool:
        """Is it known that the record of a head cannot be read? Then it is unknown what was applied, and `reconcile`
        applies everything as a new revision."""
        return self._store.get_cached(head.name, head.namespace).broken

    def watch_unreadable(self) -> AsyncIterator[tuple[str, str]]:
        """Yield the name of a release and the problem of a record whenever one is found; for one reader."""
        return self._store.unreadable.watch()

    async def _upgrade(self, release: ReleaseHistory, desired: DesiredRelease) -> int:
        previous = await release.read_previous()
        work = sum(record.work for record in previous.records) + len(desired.rendered.manifest) // JSON_IS_QUICKER
        tools, rendered = self._tools.of(desired.options), desired.rendered
        with naming_release(release):
            await rollout.check_rights(tools, previous, _identity(release), rendered.objects, rendered.hooks)
        if noted := await call_by_size(work, _OBJECT_BY_OBJECT, rollout.with_desired_noted, previous, desired):
            # If the cluster serves other kinds than before and the result is the same, nothing is written. An addon's
            # digest is the whole comparison, so it is always noted, and so is that what was rolled back to is desired.
            head = previous.history[-1].head
            ours = previous.latest if head.digest and not head.note and not desired.addon else None
            if ours is None or not json_values.equal(noted.document, ours.document):
                with naming_release(release):
                    await release.update(noted)
            return 0
        attempt = await call_by_size(work, _OBJECT_BY_OBJECT, rollout.next_attempt, previous, desired)
        running = ReleaseRollout(tools, attempt, previous, desired.options)
        if desired.options.dry_run:
            with naming_release(release):
                await running.try_out()
        try:
            return await self._roll_out(release, running)
        except ReleaseFailed as error:
            is_undone = desired.options.rollback_on_failure and attempt.verb == "upgrade"
            if not is_undone or error.brief or error.lacks_rights:
                raise
            raise ReleaseFailed(f"{error}; {await self._roll_back(release, desired)}") from error

    async def _roll_out(self, release: ReleaseHistory, running: ReleaseRollout) -> int:
        """Roll out a revision, or record why that failed."""
        attempt = running.attempt
        with naming_release(release):
            await (release.update if attempt.known else release.create)(attempt.record)
            try:
                await running.carry_out()
            except (KubeError, ReleaseFailed) as error:
                with suppress(KubeError, ReleaseFailed):
                    await release.update(running.ended(str(error)))
                    await self._prune_history(release, running.options)
                raise
            # It is marked deployed and older ones are corrected, all at once: each state in which the process may die
            # is valid.
            older = _unfinished(release.history, attempt.record.revision)
            corrections = [self._correct_record(release, revision) for revision in older]
            await _all([release.update(running.ended()), *corrections])
        return running.written

    async def _roll_back(self, release: ReleaseHistory, desired: DesiredRelease) -> str:
        """Roll back after a failure; what was done, for a person."""
        previous = await release.read_previous()
        if previous.deployed is None:
            return "there is no deployed revision to go back to"
        await self._restore(release, previous.deployed, desired.digest, ROLLED_BACK, desired.options)
        return f"rolled back to revision {previous.deployed.revision}, until the desired release changes"

    async def _clean_history(self, release: ReleaseHistory, options: ReleaseOptions) -> None:
        """Leave only the head marked deployed, and keep no more revisions than configured."""
        await _all([self._correct_record(release, revision) for revision in _leftovers(release.history)])
        await self._prune_history(release, options)

    async def _correct_record(self, release: ReleaseHistory, revision: ReleaseRevision) -> None:
        if record := await release.read_or_report(revision):
            await release.update(_corrected(record))

    async def _prune_history(self, release: ReleaseHistory, options: ReleaseOptions) -> None:
        """Delete the oldest records, and before that the objects that only they name."""
        old = _surplus(release.history, self._keep, options.kept_revision)
        doubtful = [revision for revision in old if revision in live_revisions(release.history)]
        if doubtful and (previous := await release.read_previous()).records:
            await rollout.delete_exclusive(
                self._tools.of(options), previous.records, {revision.number for revision in doubtful}, options
            )
        await _all(map(release.delete, old))


async def _all(writes: Iterable[Awaitable[None]]) -> None:
    """Run the writes concurrently. An error is raised after all of them have ended."""
    for result in await asyncio.gather(*writes, return_exceptions=True):
        if result:
            raise result


def _head(release: ReleaseHistory) -> Head:
    head = release.head
    assert head is not None, "it has just been written"
    return head


def _identity(release: ReleaseHistory) -> ReleaseId:
    return ReleaseId(release.name, release.namespace)


def _key(obj: JSON, namespace: str) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", namespace), obj["metadata"]["name"]


def _is_in_sync(history: Sequence[ReleaseRevision], desired: DesiredRelease) -> bool:
    """Is the head in sync with the desired release? An unmanaged release that stays unmanaged always is."""
    if not history or history[-1].status != RevisionStatus.DEPLOYED:
        return False
    head, unmanaged = history[-1].head, desired.options.unmanaged
    return head.unmanaged == unmanaged and (unmanaged or head.digest == desired.digest)


def _leftovers(history: Sequence[ReleaseRevision]) -> list[ReleaseRevision]:
    """Revisions before a deployed head whose records say that they are deployed, pending or uninstalling."""
    deployed = history and history[-1].status == RevisionStatus.DEPLOYED
    return _unfinished(history, history[-1].number) if deployed else []


def _unfinished(history: Sequence[ReleaseRevision], head: int) -> list[ReleaseRevision]:
    """Older revisions still marked deployed, pending or uninstalling although a later one is deployed."""
    return [revision for revision in history if revision.number < head and revision.status in _UNFINISHED]


def _corrected(record: ReleaseRecord) -> ReleaseRecord:
    """The corrected record of a leftover."""
    if record.status == RevisionStatus.DEPLOYED:
        return record.with_status(RevisionStatus.SUPERSEDED, record.document["info"].get("description", ""))
    return record.with_status(RevisionStatus.FAILED, f"Interrupted while {record.status}")


def _surplus(history: Sequence[ReleaseRevision], keep: int, needed: int = 0) -> list[ReleaseRevision]:
    """The revisions to delete if `keep` (0 is all) should stay: the oldest, but never the last deployed, the head nor
    the one of number `needed`."""
    kept = {needed, *(revision.number for revision in (*live_revisions(history)[:1], *history[-1:]))}
    spare = [revision for revision in history if revision.number not in kept]
    return spare[: max(0, len(history) - keep)] if keep else []


def _find_earlier(history: Sequence[ReleaseRevision], name: str, number: int | None) -> ReleaseRevision:
    """The revision of a number, or the last one before the head that was deployed. Raises ReleaseFailed."""
    deployed = (RevisionStatus.DEPLOYED, RevisionStatus.SUPERSEDED)
    for revision in reversed(history):
        if revision.number == number or (number is None and revision in history[:-1] and revision.status in deployed):
            return revision
    existing = ", ".join(f"{revision.number} ({revision.status})" for revision in history) or "none"
    desired = f"revision {number}" if number else "earlier revision that was deployed"
    raise ReleaseFailed(f"release {name} has no {desired}; it has: {existing}")
