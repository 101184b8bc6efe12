"""Detects at once that an object of a release is missing and, on request, that another client has changed one.

    drift = Drift(client, kinds, object_watches, background)
    drift.track(identity, objects, "missing")           # as they were applied; also after `pause`
    async for finding in drift.findings(): ...
    drift.pause(identity)                               # while the release is being written

One watch of metadata for each kind that any tracked release has, restricted to what Helm manages; all releases share
it, and health does (`object_watches`). Live objects are kept by name only. A watch event is only a hint: it may be
late, or the object may have lost the label by which it is watched. So every suspected object is read before drift is
reported. Changed objects are read a moment later, so that several changes cost one read; `drift_checks` says when, and
which changes count.

Never tracked: Helm hooks, which come and go; Jobs that delete themselves; certificate requests, which the cluster
deletes.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import field
from typing import TypeAlias

from hookrunner import log
from hookrunner.background import Background
from hookrunner.errors import KubeError, NotFound, UnknownKind
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.impersonation import acting_as
from hookrunner.kube.informer import Added, Deleted, Fact, Modified
from hookrunner.kube.writes import ObjectRef, WriteOptions
from hookrunner.model import units
from hookrunner.model.events import ObjectSeen, Synced, WatchLost
from hookrunner.model.releases import ObjectDrift, ReleaseOptions
from hookrunner.model.resources import ObjectKey
from hookrunner.releases.drift_checks import DriftBackoff, RecheckQueue, changed_fields, state_of
from hookrunner.releases.manifest_objects import (
    MANAGED_BY,
    MANAGER,
    KindResolver,
    ObjectId,
    ReleaseId,
    managed,
    object_id,
    owned,
)
from hookrunner.releases.object_watches import ObjectWatches, PresentObjects
from hookrunner.releases.objects.apply_refusals import without_faults
from hookrunner.releases.objects.object_marks import (
    as_adopted,
    as_taken,
    is_adopted,
    is_ignored,
    is_lent,
    origin_of,
    with_marks,
)
from hookrunner.releases.objects.tolerant_writes import find_faults
from hookrunner.values import pointers
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

Kind: TypeAlias = tuple[str, str]
"""apiVersion and kind, as manifests have them."""

_HOOK = "helm.sh/hook"
_OPTIONS = ReleaseOptions()
_DELETED_BY_CLUSTER = ("certificates.k8s.io", "CertificateSigningRequest")


@dataclass(slots=True)
class TrackedRelease:
    """Objects as they were applied. `findings` are their known drift; while `paused`, none is detected. `seen` is the
    state in which each object was read last. Objects that their users have ignored do not drift if `options` say so.
    """

    identity: ReleaseId
    objects: dict[ObjectId, JSON]
    mode: units.Drift
    options: ReleaseOptions = _OPTIONS
    paused: bool = False
    findings: dict[ObjectId, ObjectDrift] = field(default_factory=dict)
    seen: dict[ObjectId, bytes] = field(default_factory=dict)

    @property
    def changes_matter(self) -> bool:
        """Do changes count as drift, or only missing objects?"""
        return self.mode in ("warn", "repair")

    def forget(self, tracked_id: ObjectId) -> None:
        """Forget the drift of an object, and its state: the same change may come again."""
        self.findings.pop(tracked_id, None)
        self.seen.pop(tracked_id, None)

    def sent(self, tracked_id: ObjectId, metadata: JSON) -> JSON:
        """The object as it was written on the live one with this metadata."""
        marked = with_marks(self.objects[tracked_id], self.options.marks)
        if origin := origin_of(metadata):
            return as_taken(marked, metadata, origin, self.identity, self.options.marks)
        is_ours = not is_adopted(metadata, self.identity)
        return marked if is_ours else as_adopted(marked, self.identity, self.options.marks)


class TrackedReleases:
    """All tracked releases, and their objects by kind and name. An object that several have, because one of them takes
    the place of another one, is that of the one that was tracked last, and of the others again when that has ended."""

    def __init__(self) -> None:
        self._releases: dict[ReleaseId, TrackedRelease] = {}
        self._by_kind: dict[Kind, dict[str, dict[ObjectId, list[TrackedRelease]]]] = {}

    def put(
        self,
        identity: ReleaseId,
        objects: Iterable[JSON],
        mode: units.Drift,
        options: ReleaseOptions = _OPTIONS,
    ) -> TrackedRelease:
        """Track these objects of a release, and none of its earlier ones."""
        self.drop(identity)
        permanent = {object_id(obj, identity): obj for obj in objects if is_permanent(obj)}
        release = TrackedRelease(identity, permanent, mode, options)
        self._releases[identity] = release
        for tracked_id in release.objects:
            names = self._by_kind.setdefault((tracked_id.api_version, tracked_id.kind), {})
            names.setdefault(tracked_id.name, {}).setdefault(tracked_id, []).append(release)
        return release

    def drop(self, identity: ReleaseId) -> None:
        """Stop tracking a release."""
        release = self._releases.pop(identity, None)
        for tracked_id in release.objects if release else ():
            names = self._by_kind[tracked_id.api_version, tracked_id.kind]
            ids = names[tracked_id.name]
            ids[tracked_id] = [other for other in ids[tracked_id] if other is not release]
            if not ids[tracked_id]:
                del ids[tracked_id]
            if not ids:
                del names[tracked_id.name]
            if not names:
                del self._by_kind[tracked_id.api_version, tracked_id.kind]

    def ids(self, identity: ReleaseId) -> list[ObjectId]:
        """The tracked objects of a release that no other one was tracked with since."""
        release = self._releases.get(identity)
        return [tracked_id for tracked_id in release.objects if self._owner(tracked_id) is release] if release else []

    def release(self, identity: ReleaseId) -> TrackedRelease | None:
        """The tracked release, None if it is not tracked."""
        return self._releases.get(identity)

    def active(self, tracked_id: ObjectId) -> TrackedRelease | None:
        """The release of an object, None while it is paused."""
        release = self._owner(tracked_id)
        return None if release is None or release.paused else release

    def _owner(self, tracked_id: ObjectId) -> TrackedRelease | None:
        names = self._by_kind.get((tracked_id.api_version, tracked_id.kind), {})
        releases = names.get(tracked_id.name, {}).get(tracked_id)
        return releases[-1] if releases else None

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of all tracked objects."""
        return frozenset(self._by_kind)

    def of(self, kind: Kind) -> Iterator[ObjectId]:
        """All tracked objects of a kind."""
        return (tracked_id for ids in list(self._by_kind.get(kind, {}).values()) for tracked_id in list(ids))

    def named(self, kind: Kind, key: ObjectKey) -> list[ObjectId]:
        """The tracked objects with this key of a watch; keys of kinds without namespaces have no namespace."""
        ids = self._by_kind.get(kind, {}).get(key.name, {})
        return [tracked_id for tracked_id in ids if key.namespace in ("", tracked_id.namespace)]


def is_permanent(obj: JSON) -> bool:
    """Does the object stay until a client deletes it?"""
    metadata = obj["metadata"]
    if not metadata.get("name") or _HOOK in (metadata.get("annotations") or {}):
        return False
    if obj["kind"] == "Job" and (obj.get("spec") or {}).get("ttlSecondsAfterFinished") is not None:
        return False
    return (obj["apiVersion"].rpartition("/")[0], obj["kind"]) != _DELETED_BY_CLUSTER


_log = log.get(__name__)
_WATCH_DELAY = 1.0
"""Seconds that a watch may be behind our own writes."""

_LABELS = tuple(pointers.text(("metadata", "labels", name)) for name in MANAGED_BY)


class Drift:
    """Tracks the releases of one cluster. Watches run in `background`; the reader of `findings` reads objects.

    `kinds` are those with which releases are written: they know new definitions before discovery does. Others read
    released objects from the same `watches`.
    """

    def __init__(self, client: Client, kinds: KindResolver, watches: ObjectWatches, background: Background) -> None:
        self._client = client
        self._kinds = kinds
        self.watches = watches
        self._live = watches.reader(whole=False)
        self._present: dict[Kind, PresentObjects] = {}
        self._background = background
        self._reading: asyncio.Task[None] | None = None
        self._tracked = TrackedReleases()
        self._recheck = RecheckQueue()
        self._backoff = DriftBackoff()

    def track(
        self,
        identity: ReleaseId,
        objects: Iterable[JSON],
        mode: units.Drift,
        options: ReleaseOptions = _OPTIONS,
    ) -> None:
        """Track a release whose objects were applied as given, also after `pause`. Mode `off` forgets it.
        `options` are those of the release; its marks are not in the objects yet."""
        release = self._tracked.put(identity, () if mode == "off" else objects, mode, options)
        self._watch()
        for tracked_id in release.objects:
            present = self._present[tracked_id.api_version, tracked_id.kind]
            if present.synced and not present.has(tracked_id.namespace, tracked_id.name):
                self._recheck.add_after(tracked_id, _WATCH_DELAY)
            elif present.synced and release.changes_matter:
                self._catch_up(tracked_id, present)

    def pause(self, identity: ReleaseId) -> None:
        """Report nothing of a release until it is tracked again."""
        if release := self._tracked.release(identity):
            release.paused = True

    def forget(self, identity: ReleaseId) -> None:
        """Stop tracking a release, and forget what is known of its objects."""
        ids = self._tracked.ids(identity)
        self._tracked.drop(identity)
        self._recheck.discard(ids)
        for tracked_id in ids:
            self._backoff.forget(tracked_id)
        self._watch()

    def known_findings(self, identity: ReleaseId) -> tuple[ObjectDrift, ...]:
        """The known drift of a release."""
        release = self._tracked.release(identity)
        return tuple(release.findings.values()) if release else ()

    def mark_repaired(self, identity: ReleaseId, findings: Collection[ObjectDrift]) -> None:
        """Note that these objects are in sync again. The watch need not show that: it may be interrupted while the
        same change comes again."""
        if release := self._tracked.release(identity):
            for tracked_id in [known for known, finding in release.findings.items() if finding in findings]:
                release.forget(tracked_id)

    async def findings(self) -> AsyncGenerator[ObjectDrift, None]:
        """Yield drift when it is detected, until cancelled; for one reader. A change is reported once, until it differs
        or was undone."""
        while True:
            finding = await self._inspect(await self._recheck.take())
            if finding is not None:
                yield finding

    def _watch(self) -> None:
        """Watch the kinds of tracked objects and no others."""
        if self._present.keys() != self._tracked.kinds:
            self._live.need({managed(*kind) for kind in self._tracked.kinds})
            self._present = {kind: self._live.present(managed(*kind)) for kind in self._tracked.kinds}
        if self._reading is None:
            self._reading = self._background.keep("drift", self._read_facts)

    async def _read_facts(self) -> None:
        async with aclosing(self._live.facts()) as batches:
            async for selection, facts in batches:
                kind = selection.api_version, selection.kind
                for fact in facts:
                    self._handle_fact(kind, fact, self._present[kind])
                del facts

    def _handle_fact(self, kind: Kind, fact: Fact, present: PresentObjects) -> None:
        """Add the objects to recheck because of a fact of the watch."""
        match fact:
            case Added(seen) | Modified(seen):
                self._handle_object(self._tracked.named(kind, seen.key), seen, present)
            case Deleted(key):
                for tracked_id in self._tracked.named(kind, key):
                    self._handle_metadata(tracked_id, None)
            case Synced():
                for tracked_id in self._tracked.of(kind):
                    if not present.has(tracked_id.namespace, tracked_id.name):
                        self._recheck.add(tracked_id)
            case WatchLost(brief=False):  # the kind itself may be gone
                for tracked_id in self._tracked.of(kind):
                    self._recheck.add(tracked_id)

    def _handle_object(self, ids: Sequence[ObjectId], seen: ObjectSeen, present: PresentObjects) -> None:
        """Handle an object that the watch has shown, which is tracked by these ids."""
        for tracked_id in ids:
            self._handle_metadata(tracked_id, seen.obj["metadata"])
        if not ids:
            present.remember(seen.key, seen.obj["metadata"])

    def _catch_up(self, tracked_id: ObjectId, present: PresentObjects) -> None:
        """Handle what the watch has shown of an object before it was tracked; read the object if that is not known."""
        metadata = present.recall(tracked_id.namespace, tracked_id.name)
        if metadata is None:
            self._recheck.add_after(tracked_id, self._backoff.delay(tracked_id, _now()))
        else:
            self._handle_metadata(tracked_id, metadata)

    def _handle_metadata(self, tracked_id: ObjectId, metadata: JSON | None) -> None:
        """Handle an object's metadata from the watch, None if it was deleted."""
        if (release := self._tracked.active(tracked_id)) is None:
            return
        if metadata is None:
            self._recheck.add(tracked_id)
        elif not release.changes_matter or not changed_fields(release.sent(tracked_id, metadata), metadata):
            release.forget(tracked_id)
        elif release.seen.get(tracked_id) != state_of(metadata):
            self._recheck.add_after(tracked_id, self._backoff.delay(tracked_id, _now()))

    async def _inspect(self, tracked_id: ObjectId) -> ObjectDrift | None:
        """Read an object; its drift, if there is any to report. Its release may be paused or written meanwhile."""
        if (release := self._tracked.active(tracked_id)) is None:
            return None
        try:
            fields = await self._read_changed_fields(tracked_id, release)
        except KubeError as error:
            self._recheck.retry(tracked_id, error)
            _log.log("debug" if error.brief else "warn", "object cannot be read", object=str(tracked_id), error=error)
            return None
        self._recheck.forget(tracked_id)
        finding = None if fields == () else await self._to_finding(tracked_id, release, fields or ())
        if self._tracked.active(tracked_id) is not release or not _is_news(tracked_id, release, finding):
            return None
        if finding and not finding.missing:
            self._backoff.mark_changed(tracked_id, _now())
        return finding

    async def _read_changed_fields(self, tracked_id: ObjectId, release: TrackedRelease) -> tuple[str, ...] | None:
        """Read an object; JSON pointers of the fields that differ, None if it is missing. An object without the label
        counts as missing or changed, because the watch would report nothing more of it."""
        try:
            ref = await self._kinds.resolve_ref(tracked_id)
            if not {"get", "watch"} <= {*ref.resource.verbs}:
                return ()
            client = acting_as(self._client, release.options.account)
            live = await writes.read(client, ref) if release.changes_matter else None
            metadata = live["metadata"] if live else await writes.read_metadata(client, ref)
        except (NotFound, UnknownKind):
            return None
        if is_ignored(metadata, release.options) or is_lent(metadata, release.identity, release.options):
            return ()
        labelled = MANAGED_BY.items() <= (metadata.get("labels") or {}).items()
        if not release.changes_matter:
            return () if labelled else None
        release.seen[tracked_id] = state_of(metadata)
        changed = changed_fields(release.sent(tracked_id, metadata), metadata, live)
        if changed and await self._leave_out_faults(ref, tracked_id, release):
            changed = changed_fields(release.sent(tracked_id, metadata), metadata, live)
        return changed if labelled else tuple(dict.fromkeys((*_LABELS, *changed)))

    async def _leave_out_faults(self, ref: ObjectRef, tracked_id: ObjectId, release: TrackedRelease) -> bool:
        """Track the object without the fields that the API server does not know, which are no drift: no write brings
        them there. Were there any? The server is asked, because nothing in the live object distinguishes it from one
        that another client has removed."""
        obj = release.objects[tracked_id]
        body = owned(obj, ref.resource, release.identity)
        client = acting_as(self._client, release.options.account)
        if faults := await find_faults(client, ref, body, WriteOptions(MANAGER)):
            release.objects[tracked_id] = without_faults(obj, faults)
        return bool(faults)

    async def _to_finding(self, tracked_id: ObjectId, release: TrackedRelease, fields: tuple[str, ...]) -> ObjectDrift:
        try:
            namespaced = (await self._kinds.resolve(tracked_id.api_version, tracked_id.kind)).namespaced
        except KubeError:
            namespaced = True
        namespace = tracked_id.namespace if namespaced else ""
        return ObjectDrift(
            release.identity.name, namespace, tracked_id.api_version, tracked_id.kind, tracked_id.name, fields
        )


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_news(tracked_id: ObjectId, release: TrackedRelease, finding: ObjectDrift | None) -> bool:
    """Note the drift; should it be reported? A missing object is reported each time, a change once for the same
    fields."""
    known = release.findings.pop(tracked_id, None)
    if finding is None:
        return False
    release.findings[tracked_id] = finding
    return finding.missing or finding != known
