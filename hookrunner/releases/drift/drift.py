"""Detects at once that an object of a release is missing and, on request, that another client has changed one.

    drift = Drift(client, kinds, watches, background)
    drift.track(identity, objects, "missing")          # as they were applied; also after `pause`
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
from hookrunner.model.releases import DriftFinding
from hookrunner.model.resources import JSON, Selection
from hookrunner.model.watching import Synced, WatchLost
from hookrunner.releases.drift.live_comparison import METADATA_PARTS, edited
from hookrunner.releases.drift.tracked_releases import Kind, PresentObjects, TrackedRelease, TrackedReleases
from hookrunner.releases.manifest_objects import KindResolver, ObjectId, ReleaseId
from hookrunner.releases.ownership import MANAGED_BY
from hookrunner.releases.readiness import MANAGED
from hookrunner.values import pointers

_FIRST, _FACTOR, _LONGEST = 1.0, 4.0, 3600.0
"""Seconds from the first sign of a change until the object is read, since an edit seldom comes alone; so many times
more for each time that it was found changed before."""

_QUIET = 3 * _LONGEST
"""An object that was not found changed for so many seconds begins anew."""


class DriftBackoff:
    """Remembers the objects that were found changed, and when."""

    def __init__(self) -> None:
        self._waits: dict[ObjectId, tuple[float, float]] = {}

    def wait(self, one: ObjectId, now: float) -> float:
        """Seconds until it is to be looked at. `now` is any monotonic time."""
        wait, told = self._waits.get(one, (_FIRST, now))
        return _FIRST if now - told > _QUIET else wait

    def told(self, one: ObjectId, now: float) -> None:
        """It was found changed."""
        self._waits[one] = (min(self.wait(one, now) * _FACTOR, _LONGEST), now)


class RecheckQueue:
    """For one reader. What is added again before it was taken is taken once, at the earlier of the two times."""

    def __init__(self) -> None:
        self._due: dict[ObjectId, float] = {}
        self._row: list[tuple[float, int, ObjectId]] = []
        self._turns = count()
        self._changed = asyncio.Event()

    def add(self, one: ObjectId, delay: float = 0.0) -> None:
        """Look at it in `delay` seconds."""
        due = asyncio.get_running_loop().time() + delay
        if due < self._due.get(one, float("inf")):
            self._due[one] = due
            heapq.heappush(self._row, (due, next(self._turns), one))
            self._changed.set()

    async def next(self) -> ObjectId:
        """The next one, when its time has come."""
        while True:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._row[0][0] if self._row else None):
                    await self._changed.wait()
                    continue
            due, _, one = heapq.heappop(self._row)
            if self._due.get(one) == due:
                del self._due[one]
                return one


_LOG = log.get("releases.drift")
_BEHIND = 1.0
"""Seconds that a watch may be behind our own writes."""

_AGAIN_SOON, _AGAIN_LATER = 5.0, 60.0
"""Seconds until an object is read again that could not be read: while the API is away, or for want of a right."""

_LABELS = tuple(pointers.text(("metadata", "labels", name)) for name in MANAGED_BY)


class Drift:
    """Follows the releases of one cluster. Watches run in `background`; objects are read by who reads `findings`.

    `kinds` are those with which releases are written: what has just been defined is known before discovery knows it.
    """

    def __init__(self, client: Client, kinds: KindResolver, watches: Watches, background: Background) -> None:
        self._client = client
        self._kinds = kinds
        self._watches = watches
        self._background = background
        self._followed = TrackedReleases()
        self._suspects = RecheckQueue()
        self._patience = DriftBackoff()
        self._watched: dict[Kind, tuple[PresentObjects, asyncio.Task[None]]] = {}

    def track(self, identity: ReleaseId, objects: Iterable[JSON], mode: modules.Drift) -> None:
        """Follow a release whose objects were applied so, or go on with it after `pause`. Mode `off` forgets it."""
        release = self._followed.put(identity, () if mode == "off" else objects, mode)
        self._watch()
        for one in release.objects:
            shown, _ = self._watched[one.api_version, one.kind]
            if shown.synced and not shown.has(one.namespace, one.name):
                self._suspects.add(one, _BEHIND)
            elif shown.synced and release.changes_matter:
                self._suspects.add(one, self._patience.wait(one, _now()))

    def pause(self, identity: ReleaseId) -> None:
        """Tell nothing of a release until it is followed again."""
        if release := self._followed.release(identity):
            release.paused = True

    def forget(self, identity: ReleaseId) -> None:
        """Follow a release no more."""
        self._followed.drop(identity)
        self._watch()

    def known_findings(self, identity: ReleaseId) -> tuple[DriftFinding, ...]:
        """What is known to be wrong with a release now."""
        release = self._followed.release(identity)
        return tuple(release.found.values()) if release else ()

    def mark_repaired(self, identity: ReleaseId, findings: Collection[DriftFinding]) -> None:
        """These are as they should be again."""
        if release := self._followed.release(identity):
            release.found = {one: found for one, found in release.found.items() if found not in findings}

    async def findings(self) -> AsyncGenerator[DriftFinding, None]:
        """What is found out, for ever; for one reader. A change is told once, until it is another or was undone."""
        while True:
            finding = await self._inspected(await self._suspects.next())
            if finding is not None:
                yield finding

    def _watch(self) -> None:
        """Open the watches that are needed and close the others."""
        for kind in self._watched.keys() - self._followed.kinds:
            self._watched.pop(kind)[1].cancel()
        for kind in self._followed.kinds - self._watched.keys():
            shown = PresentObjects(kind[1])
            selection = Selection(*kind, labels=MANAGED, metadata_only=True)
            task = self._background.keep(f"drift {selection}", partial(self._read, kind, selection, shown))
            self._watched[kind] = (shown, task)

    async def _read(self, kind: Kind, selection: Selection, shown: PresentObjects) -> None:
        async with aclosing(self._watches.open(selection)) as batches:
            async for reports in batches:
                for fact in shown.facts(reports):
                    self._suspect(kind, fact, shown)

    def _suspect(self, kind: Kind, fact: Fact, shown: PresentObjects) -> None:
        """Suspect the objects that a fact makes suspicious."""
        match fact:
            case Added(seen) | Modified(seen):
                for one in self._followed.named(kind, seen.key):
                    self._see(one, seen.obj["metadata"])
            case Deleted(key):
                for one in self._followed.named(kind, key):
                    self._see(one, None)
            case Synced():
                for one in self._followed.of(kind):
                    if not shown.has(one.namespace, one.name):
                        self._suspects.add(one)
            case WatchLost(brief=False):  # the kind itself may be gone
                for one in self._followed.of(kind):
                    self._suspects.add(one)

    def _see(self, one: ObjectId, metadata: JSON | None) -> None:
        """An object as a watch shows it, None if it was deleted."""
        if (release := self._followed.active(one)) is None:
            return
        if metadata is None:
            self._suspects.add(one)
        elif not release.changes_matter or not edited(release.objects[one], metadata):
            release.found.pop(one, None)
        elif release.seen.get(one) != _state(metadata):
            self._suspects.add(one, self._patience.wait(one, _now()))

    async def _inspected(self, one: ObjectId) -> DriftFinding | None:
        """What is wrong with an object that is suspected. Meanwhile its release may be paused or written anew."""
        if (release := self._followed.active(one)) is None:
            return None
        try:
            fields = await self._fields(one, release)
        except KubeError as error:
            self._suspects.add(one, _AGAIN_SOON if error.brief else _AGAIN_LATER)
            _LOG.log("debug" if error.brief else "warn", "an object cannot be looked at", object=str(one), error=error)
            return None
        finding = None if fields == () else await self._finding(one, release, fields or ())
        if self._followed.active(one) is not release or not _is_news(one, release, finding):
            return None
        if finding and not finding.missing:
            self._patience.told(one, _now())
        return finding

    async def _fields(self, one: ObjectId, release: TrackedRelease) -> tuple[str, ...] | None:
        """JSON pointers of what differs, None if the object is gone: or nearly so, since without the label nothing more
        would be heard of it (addon-operator.md §6.6)."""
        try:
            resource = await self._kinds.resolve(one.api_version, one.kind)
            if not {"get", "watch"} <= {*resource.verbs}:
                return ()
            ref = ObjectRef(resource, one.namespace, one.name)
            live = await writes.read(self._client, ref) if release.changes_matter else None
            metadata = live["metadata"] if live else await writes.read_metadata(self._client, ref)
        except (NotFound, UnknownKind):
            return None
        labelled = MANAGED_BY.items() <= (metadata.get("labels") or {}).items()
        if not release.changes_matter:
            return () if labelled else None
        release.seen[one] = _state(metadata)
        changed = edited(release.objects[one], metadata, live)
        return changed if labelled else tuple(dict.fromkeys((*_LABELS, *changed)))

    async def _finding(self, one: ObjectId, release: TrackedRelease, fields: tuple[str, ...]) -> DriftFinding:
        try:
            namespaced = (await self._kinds.resolve(one.api_version, one.kind)).namespaced
        except KubeError:
            namespaced = True
        place = one.namespace if namespaced else ""
        return DriftFinding(release.identity.name, place, one.api_version, one.kind, one.name, fields)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _state(metadata: JSON) -> bytes:
    """What differs between two states of an object of which more than the status differs. Kinds without a generation
    have no status to speak of."""
    version = metadata.get("generation") or metadata.get("resourceVersion")
    return orjson.dumps([version, *(metadata.get(part) for part in METADATA_PARTS)])


def _is_news(one: ObjectId, release: TrackedRelease, finding: DriftFinding | None) -> bool:
    """Note what was found. That an object is gone is told each time; that it is changed, once for the same fields."""
    known = release.found.pop(one, None)
    if finding is None:
        return False
    release.found[one] = finding
    return finding.missing or finding != known
