"""Detects at once that an object of a release is missing and, on request, that another client has changed one.

    drift = Drift(client, kinds, watches, background)
    drift.track(identity, objects, "missing")           # as they were applied; also after `pause`
    async for finding in drift.findings(): ...
    drift.pause(identity)                               # while the release is being written

One watch of metadata for each kind that any tracked release has, restricted to what Helm manages; all releases share
it. A watch event is only a hint: it may be late, or the object may have lost the label by which it is watched. So every
suspected object is read before drift is reported. Changed objects are read a moment later, so that several changes cost
one read, and objects that change again and again are read ever more rarely: without this, two controllers that disagree
on a field would overwrite each other indefinitely. `live_comparison` decides which changes count.

Never tracked: Helm hooks, which come and go; Jobs that delete themselves; certificate requests, which the cluster
deletes.
"""

import asyncio
import heapq
from collections.abc import AsyncGenerator, Collection, Iterable
from contextlib import aclosing, suppress
from functools import partial
from itertools import count

import orjson

from hookrunner import log
from hookrunner.background import Background
from hookrunner.errors import KubeError, NotFound, UnknownKind
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.informer import Added, Deleted, Fact, Modified
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import ObjectRef
from hookrunner.model import modules
from hookrunner.model.events import Synced, WatchLost
from hookrunner.model.releases import ObjectDrift
from hookrunner.model.resources import Selection
from hookrunner.releases.drift.live_comparison import METADATA_PARTS, changed_fields
from hookrunner.releases.drift.tracked_releases import Kind, PresentObjects, TrackedRelease, TrackedReleases
from hookrunner.releases.manifest_objects import MANAGED_BY, KindResolver, ObjectId, ReleaseId
from hookrunner.releases.readiness import MANAGED
from hookrunner.values import pointers
from kubetypes.json_values import JSON

_FIRST, _FACTOR, _LONGEST = 1.0, 4.0, 3600.0
"""Seconds from the first hint of a change until the object is read, because edits seldom come alone; the factor for
each time that it was found changed before; and the longest delay."""

_QUIET = 3 * _LONGEST
"""Seconds after which an object that was not found changed starts with the first delay again."""


class DriftBackoff:
    """The delays before objects that change are read: exponential for each object."""

    def __init__(self) -> None:
        self._waits: dict[ObjectId, tuple[float, float]] = {}

    def delay(self, object_id: ObjectId, now: float) -> float:
        """Seconds until the object is read. `now` is any monotonic time."""
        delay, changed_at = self._waits.get(object_id, (_FIRST, now))
        return _FIRST if now - changed_at > _QUIET else delay

    def mark_changed(self, object_id: ObjectId, now: float) -> None:
        """Note that the object was found changed."""
        self._waits[object_id] = (min(self.delay(object_id, now) * _FACTOR, _LONGEST), now)


class RecheckQueue:
    """Objects to read again, each once, the earliest first; for one reader. An object that is added twice before it was
    taken is taken once, at the earlier time."""

    def __init__(self) -> None:
        self._due: dict[ObjectId, float] = {}
        self._heap: list[tuple[float, int, ObjectId]] = []
        self._sequence = count()
        self._changed = asyncio.Event()

    def add(self, object_id: ObjectId, delay: float = 0.0) -> None:
        """Read the object in `delay` seconds."""
        due = asyncio.get_running_loop().time() + delay
        if due < self._due.get(object_id, float("inf")):
            self._due[object_id] = due
            heapq.heappush(self._heap, (due, next(self._sequence), object_id))
            self._changed.set()

    async def next(self) -> ObjectId:
        """Wait until the next object is due, and remove it."""
        while True:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._heap[0][0] if self._heap else None):
                    await self._changed.wait()
                    continue
            due, _, object_id = heapq.heappop(self._heap)
            if self._due.get(object_id) == due:
                del self._due[object_id]
                return object_id


_LOG = log.get("releases.drift")
_WATCH_DELAY = 1.0
"""Seconds that a watch may be behind our own writes."""

_RETRY_SOON, _RETRY_LATER = 5.0, 60.0
"""Seconds until an object is read again after a failure: while the API server is unreachable, or without a right."""

_LABELS = tuple(pointers.text(("metadata", "labels", name)) for name in MANAGED_BY)


class Drift:
    """Tracks the releases of one cluster. Watches run in `background`; the reader of `findings` reads objects.

    `kinds` are those with which releases are written: they know new definitions before discovery does.
    """

    def __init__(self, client: Client, kinds: KindResolver, watches: Watches, background: Background) -> None:
        self._client = client
        self._kinds = kinds
        self._watches = watches
        self._background = background
        self._tracked = TrackedReleases()
        self._recheck = RecheckQueue()
        self._backoff = DriftBackoff()
        self._watched: dict[Kind, tuple[PresentObjects, asyncio.Task[None]]] = {}

    def track(self, identity: ReleaseId, objects: Iterable[JSON], mode: modules.Drift) -> None:
        """Track a release whose objects were applied as given, also after `pause`. Mode `off` forgets it."""
        release = self._tracked.put(identity, () if mode == "off" else objects, mode)
        self._watch()
        for object_id in release.objects:
            present, _ = self._watched[object_id.api_version, object_id.kind]
            if present.synced and not present.has(object_id.namespace, object_id.name):
                self._recheck.add(object_id, _WATCH_DELAY)
            elif present.synced and release.changes_matter:
                self._recheck.add(object_id, self._backoff.delay(object_id, _now()))

    def pause(self, identity: ReleaseId) -> None:
        """Report nothing of a release until it is tracked again."""
        if release := self._tracked.release(identity):
            release.paused = True

    def forget(self, identity: ReleaseId) -> None:
        """Stop tracking a release."""
        self._tracked.drop(identity)
        self._watch()

    def known_findings(self, identity: ReleaseId) -> tuple[ObjectDrift, ...]:
        """The known drift of a release."""
        release = self._tracked.release(identity)
        return tuple(release.found.values()) if release else ()

    def mark_repaired(self, identity: ReleaseId, findings: Collection[ObjectDrift]) -> None:
        """Note that these objects are in sync again."""
        if release := self._tracked.release(identity):
            release.found = {
                object_id: finding for object_id, finding in release.found.items() if finding not in findings
            }

    async def findings(self) -> AsyncGenerator[ObjectDrift, None]:
        """Yield drift when it is detected, until cancelled; for one reader. A change is reported once, until it differs
        or was undone."""
        while True:
            finding = await self._inspect(await self._recheck.next())
            if finding is not None:
                yield finding

    def _watch(self) -> None:
        """Open the watches that are needed and close the others."""
        for kind in self._watched.keys() - self._tracked.kinds:
            self._watched.pop(kind)[1].cancel()
        for kind in self._tracked.kinds - self._watched.keys():
            present = PresentObjects(kind[1])
            selection = Selection(*kind, labels=MANAGED, metadata_only=True)
            task = self._background.keep(f"drift {selection}", partial(self._read, kind, selection, present))
            self._watched[kind] = (present, task)

    async def _read(self, kind: Kind, selection: Selection, present: PresentObjects) -> None:
        async with aclosing(self._watches.open(selection)) as batches:
            async for reports in batches:
                for fact in present.facts(reports):
                    self._handle_fact(kind, fact, present)

    def _handle_fact(self, kind: Kind, fact: Fact, present: PresentObjects) -> None:
        """Add the objects to recheck because of a fact of the watch."""
        match fact:
            case Added(seen) | Modified(seen):
                for object_id in self._tracked.named(kind, seen.key):
                    self._handle_metadata(object_id, seen.obj["metadata"])
            case Deleted(key):
                for object_id in self._tracked.named(kind, key):
                    self._handle_metadata(object_id, None)
            case Synced():
                for object_id in self._tracked.of(kind):
                    if not present.has(object_id.namespace, object_id.name):
                        self._recheck.add(object_id)
            case WatchLost(brief=False):  # the kind itself may be gone
                for object_id in self._tracked.of(kind):
                    self._recheck.add(object_id)

    def _handle_metadata(self, object_id: ObjectId, metadata: JSON | None) -> None:
        """Handle an object's metadata from the watch, None if it was deleted."""
        if (release := self._tracked.active(object_id)) is None:
            return
        if metadata is None:
            self._recheck.add(object_id)
        elif not release.changes_matter or not changed_fields(release.objects[object_id], metadata):
            release.found.pop(object_id, None)
        elif release.seen.get(object_id) != _state(metadata):
            self._recheck.add(object_id, self._backoff.delay(object_id, _now()))

    async def _inspect(self, object_id: ObjectId) -> ObjectDrift | None:
        """Read an object; its drift, if there is any to report. Its release may be paused or written meanwhile."""
        if (release := self._tracked.active(object_id)) is None:
            return None
        try:
            fields = await self._read_changed_fields(object_id, release)
        except KubeError as error:
            self._recheck.add(object_id, _RETRY_SOON if error.brief else _RETRY_LATER)
            _LOG.log("debug" if error.brief else "warn", "object cannot be read", object=str(object_id), error=error)
            return None
        finding = None if fields == () else await self._to_finding(object_id, release, fields or ())
        if self._tracked.active(object_id) is not release or not _is_news(object_id, release, finding):
            return None
        if finding and not finding.missing:
            self._backoff.mark_changed(object_id, _now())
        return finding

    async def _read_changed_fields(self, object_id: ObjectId, release: TrackedRelease) -> tuple[str, ...] | None:
        """Read an object; JSON pointers of the fields that differ, None if it is missing. An object without the label
        counts as missing or changed, because the watch would report nothing more of it."""
        try:
            resource = await self._kinds.resolve(object_id.api_version, object_id.kind)
            if not {"get", "watch"} <= {*resource.verbs}:
                return ()
            ref = ObjectRef(resource, object_id.namespace, object_id.name)
            live = await writes.read(self._client, ref) if release.changes_matter else None
            metadata = live["metadata"] if live else await writes.read_metadata(self._client, ref)
        except (NotFound, UnknownKind):
            return None
        labelled = MANAGED_BY.items() <= (metadata.get("labels") or {}).items()
        if not release.changes_matter:
            return () if labelled else None
        release.seen[object_id] = _state(metadata)
        changed = changed_fields(release.objects[object_id], metadata, live)
        return changed if labelled else tuple(dict.fromkeys((*_LABELS, *changed)))

    async def _to_finding(self, object_id: ObjectId, release: TrackedRelease, fields: tuple[str, ...]) -> ObjectDrift:
        try:
            namespaced = (await self._kinds.resolve(object_id.api_version, object_id.kind)).namespaced
        except KubeError:
            namespaced = True
        namespace = object_id.namespace if namespaced else ""
        return ObjectDrift(
            release.identity.name, namespace, object_id.api_version, object_id.kind, object_id.name, fields
        )


def _now() -> float:
    return asyncio.get_running_loop().time()


def _state(metadata: JSON) -> bytes:
    """A text that differs between two states of an object if more than the status differs. Kinds without a generation
    have no relevant status."""
    version = metadata.get("generation") or metadata.get("resourceVersion")
    return orjson.dumps([version, *(metadata.get(part) for part in METADATA_PARTS)])


def _is_news(object_id: ObjectId, release: TrackedRelease, finding: ObjectDrift | None) -> bool:
    """Note the drift; should it be reported? A missing object is reported each time, a change once for the same
    fields."""
    known = release.found.pop(object_id, None)
    if finding is None:
        return False
    release.found[object_id] = finding
    return finding.missing or finding != known
