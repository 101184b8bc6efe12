"""Tracks the health of all objects of addons' releases, each by its kstatus.

    tracker = HealthTracker(client, kinds, object_watches, background)
    tracker.track(head, objects, written=True)          # as in the manifest; after each rollout, and after a start
    async for identity in tracker.changes(): ...        # whose health has changed
    tracker.reports(identity, revision)                 # None while it is not known yet
    tracker.forget(identity)

One watch for each kind with a rule, for all releases, shared with drift (`object_watches`); of the objects with the
addons' mark, verdicts are kept, not objects.
After a rollout each object is read once: the watch may be behind, and would show the health of the earlier state.
A health is unknown, and so never current, if its kind cannot be watched or nothing was heard for 75 s.

While a workload is in progress, its Pods are looked at (`pod_watchdog`): they know earlier than it that waiting is
pointless. Drift tells of missing objects without a rule; here they count as current.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import TypeAlias

from hookrunner.background import Background
from hookrunner.errors import KubeError, NotFound, UnknownKind
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.impersonation import acting_as
from hookrunner.kube.informer import Added, Deleted, Fact, Modified
from hookrunner.model.addon_status import ObjectReport
from hookrunner.model.releases import Head, ServiceAccount
from hookrunner.model.resources import ObjectKey, key_of
from hookrunner.releases.drift_checks import RecheckQueue
from hookrunner.releases.health.kind_health import VISIBLE_FOR, Clock, KindHealth
from hookrunner.releases.health.object_health import has_rule, health_of
from hookrunner.releases.health.object_status import CURRENT, ObjectHealth, unknown
from hookrunner.releases.health.pod_watchdog import PodWatchdog
from hookrunner.releases.manifest_objects import KindResolver, ObjectId, ReleaseId, managed, object_id
from hookrunner.releases.object_watches import ObjectWatches
from hookrunner.releases.records.record import ADDON
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_SCHEDULING = 15.0
"""Seconds after which a Pod that is not scheduled counts as failed, though nothing changes."""

_Kind: TypeAlias = tuple[str, str]
"""apiVersion and kind, as manifests have them."""


@dataclass(slots=True)
class _TrackedRelease:
    """The objects of a revision of a release by what reports call them. `unread` are those of which the watch may show
    an earlier state, with the reason why they cannot be read, empty until that was tried. They are read as `account`,
    and watched by hookrunner itself."""

    revision: int
    objects: dict[ObjectId, str]
    ruled: frozenset[ObjectId]
    unread: dict[ObjectId, str]
    account: ServiceAccount | None = None
    last: tuple[ObjectReport, ...] | None = None


@dataclass(slots=True)
class _WatchedKind:
    shown: KindHealth
    expiry: asyncio.TimerHandle


class HealthTracker:
    """The health of the releases of one cluster. `changes` has one reader."""

    def __init__(self, client: Client, kinds: KindResolver, watches: ObjectWatches, background: Background) -> None:
        self._client = client
        self._kinds = kinds
        self._live = watches.reader(whole=True)
        self._background = background
        self._releases: dict[ReleaseId, _TrackedRelease] = {}
        self._owners: defaultdict[_Kind, dict[ObjectId, tuple[ReleaseId, ...]]] = defaultdict(dict)
        """Several have an object while one of them takes the place of another one."""
        self._open: dict[_Kind, _WatchedKind] = {}
        self._reads = RecheckQueue()
        self._pods = PodWatchdog(client, kinds)
        self._changed: dict[ReleaseId, None] = {}
        self._news = asyncio.Event()
        self._readers: list[asyncio.Task[None]] = []

    def tracks(self, head: Head) -> bool:
        """Are the objects of this revision tracked, or those of a later one?"""
        release = self._releases.get(ReleaseId(head.name, head.namespace))
        return release is not None and release.revision >= head.revision

    def track(self, head: Head, objects: Iterable[JSON], written: bool) -> None:
        """Track the objects of a revision instead of those of another one. `written`: some were just written, so that
        what the watch has shown may be older."""
        identity = ReleaseId(head.name, head.namespace)
        known = self._releases.get(identity)
        if known and known.revision == head.revision:
            known.account = head.account  # another one takes over without another revision
            return
        self._drop(identity)
        named = {object_id(obj, identity): obj for obj in objects}
        ruled = frozenset(target for target, obj in named.items() if has_rule(obj))
        names = {target: _name(obj) for target, obj in named.items()}
        unread = dict.fromkeys(ruled, "") if written else {}
        self._releases[identity] = _TrackedRelease(head.revision, names, ruled, unread, head.account)
        for target in ruled:
            owners = self._owners[target.api_version, target.kind]
            owners[target] = (*owners.get(target, ()), identity)
            if written:
                self._pods.forget(target)
                self._reads.add(target)
        self._adjust_watches()
        self._start_readers()
        self._check(identity)

    def forget(self, identity: ReleaseId) -> None:
        """Stop tracking a release."""
        self._drop(identity)
        self._changed.pop(identity, None)
        self._adjust_watches()

    def reports(self, identity: ReleaseId, revision: int) -> tuple[ObjectReport, ...] | None:
        """The health of each object of a release, in the order of its manifest; None while one is not known yet, or if
        neither this revision is tracked nor a later one: a run has written that, and ends soon."""
        release = self._releases.get(identity)
        return self._compute(release) if release and release.revision >= revision else None

    async def changes(self) -> AsyncGenerator[ReleaseId, None]:
        """Yield a release when its health has changed; several changes before it is taken are one."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._changed:
                identity = next(iter(self._changed))
                del self._changed[identity]
                yield identity

    def _drop(self, identity: ReleaseId) -> None:
        release = self._releases.pop(identity, None)
        for target in release.ruled if release else ():
            kind = target.api_version, target.kind
            left = tuple(owner for owner in self._owners[kind][target] if owner != identity)
            self._owners[kind][target] = left
            if not left:
                del self._owners[kind][target]
                self._pods.forget(target)
            if not self._owners[kind]:
                del self._owners[kind]

    def _compute(self, release: _TrackedRelease) -> tuple[ObjectReport, ...] | None:
        reports = []
        for target, name in release.objects.items():
            if (health := self._health_in(release, target)) is None:
                return None
            reports.append(ObjectReport(name, health.status, health.message, health.is_running))
        return tuple(reports)

    def _health_in(self, release: _TrackedRelease, target: ObjectId) -> ObjectHealth | None:
        if target in release.unread:
            reason = release.unread[target]
            return unknown(f"it cannot be read: {reason}") if reason else None
        return self._health(target) if target in release.ruled else CURRENT

    def _health(self, target: ObjectId) -> ObjectHealth | None:
        shown = self._open[target.api_version, target.kind].shown
        health = shown.health(target.namespace, target.name, Clock.now().monotonic)
        return health and self._pods.judge(target, health)

    def _check(self, identity: ReleaseId) -> None:
        """Report the release if its health is another than when it was checked last."""
        release = self._releases.get(identity)
        if release is None or (reports := self._compute(release)) == release.last or reports is None:
            return
        release.last = reports
        self._changed[identity] = None
        self._news.set()

    def _adjust_watches(self) -> None:
        """Watch the kinds of tracked objects and no others."""
        if self._open.keys() == self._owners.keys():
            return
        for kind in self._open.keys() - self._owners.keys():
            self._open.pop(kind).expiry.cancel()
        for kind in self._owners.keys() - self._open.keys():
            self._open[kind] = _WatchedKind(KindHealth(kind[1], Clock.now().monotonic), self._expire_later(kind))
        self._live.need({managed(*kind) for kind in self._open})

    def _start_readers(self) -> None:
        if not self._readers:
            reads = (("facts", self._read_facts), ("objects", self._read_objects), ("Pods", self._look_at_pods))
            self._readers = [self._background.keep(f"health of {what}", read) for what, read in reads]

    async def _read_facts(self) -> None:
        async with aclosing(self._live.facts()) as batches:
            async for selection, facts in batches:
                kind = selection.api_version, selection.kind
                keys = self._open[kind].shown.read(_of_addons(facts), Clock.now())
                if keys is None:
                    self._open[kind].expiry.cancel()
                    self._open[kind].expiry = self._expire_later(kind)
                self._check_owners(kind, self._targets(kind, keys))
                del facts

    def _expire_later(self, kind: _Kind) -> asyncio.TimerHandle:
        """Check all objects of a kind when what is known of them may have become too old."""
        loop = asyncio.get_running_loop()
        return loop.call_later(VISIBLE_FOR + 0.1, lambda: self._check_owners(kind, self._targets(kind, None)))

    def _targets(self, kind: _Kind, keys: Iterable[ObjectKey] | None) -> list[ObjectId]:
        """The tracked objects of a kind with these keys of a watch, all with None. Keys of kinds without namespaces
        have none, and the objects of manifests have that of their release."""
        owners = self._owners.get(kind, {})
        if keys is None:
            return list(owners)
        exact = [ObjectId(*kind, key.namespace, key.name) for key in keys if key.namespace]
        names = {key.name for key in keys if not key.namespace}
        return [target for target in exact if target in owners] + [t for t in owners if names and t.name in names]

    def _check_owners(self, kind: _Kind, targets: Sequence[ObjectId]) -> None:
        for target in targets:
            health = self._health(target)
            self._pods.follow(target, health, self._account_of(target))
            if health and health.reason == "PodNotScheduled":
                self._reads.add_after(target, _SCHEDULING)
        for identity in dict.fromkeys(owner for target in targets for owner in self._owners[kind][target]):
            self._check(identity)

    async def _read_objects(self) -> None:
        """Read objects after they were written, one after another."""
        while True:
            target = await self._reads.take()
            if self._is_tracked(target):
                await self._read(target)

    def _is_tracked(self, target: ObjectId) -> bool:
        return target in self._owners.get((target.api_version, target.kind), {})

    def _account_of(self, target: ObjectId) -> ServiceAccount | None:
        return self._releases[self._owners[target.api_version, target.kind][target][-1]].account

    async def _read(self, target: ObjectId) -> None:
        """Read an object and note its health. It may be tracked no more when it was read."""
        problem = ""
        try:
            client = acting_as(self._client, self._account_of(target))
            obj = await writes.read(client, await self._kinds.resolve_ref(target))
        except (NotFound, UnknownKind):
            obj = None
        except KubeError as error:
            self._reads.retry(target, error)
            if error.brief:
                return
            problem = str(error)
        if self._is_tracked(target):
            self._note_read(target, obj if not problem else None, problem)

    def _note_read(self, target: ObjectId, obj: JSON, problem: str) -> None:
        kind = target.api_version, target.kind
        for release in map(self._releases.__getitem__, self._owners[kind][target]):
            if problem:
                release.unread[target] = problem
            else:
                release.unread.pop(target, None)
        if not problem:
            _show(self._open[kind].shown, target, obj)
        self._check_owners(kind, [target])

    async def _look_at_pods(self) -> None:
        async for target in self._pods.findings():
            kind = target.api_version, target.kind
            for identity in self._owners.get(kind, {}).get(target, ()):
                self._check(identity)


def _of_addons(facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts as a watch of the addons' mark has them: objects without it do not exist."""
    for fact in facts:
        match fact:
            case Added(seen) | Modified(seen) if ADDON not in (seen.obj["metadata"].get("labels") or {}):
                yield Deleted(seen.key)
            case _:
                yield fact


def _show(shown: KindHealth, target: ObjectId, obj: JSON) -> None:
    """Note the health of an object that was read, None if it does not exist."""
    if obj:
        shown.put(key_of(obj), str(obj["metadata"].get("resourceVersion", "")), health_of(obj, Clock.now().time))
    else:
        for namespace in (target.namespace, ""):
            shown.drop(ObjectKey(namespace, target.kind, target.name))


def _name(obj: JSON) -> str:
    """An object in reports, such as `Deployment kube-system/coredns`."""
    namespace, name = obj["metadata"].get("namespace"), obj["metadata"]["name"]
    return f"{obj['kind']} {namespace}/{name}" if namespace else f"{obj['kind']} {name}"
