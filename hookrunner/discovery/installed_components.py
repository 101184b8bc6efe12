"""The objects that hookrunner has installed, by addon: those of the deployed revision of each release, whether it is of
a module or of an instance of an addon.

    installed = InstalledComponents(releases, changes, watches, queue)
    await installed.follow_records(namespaces)           # until cancelled, as the next ones
    await installed.follow_facts(installed.whole)
    await installed.follow_facts(installed.metadata)
    installed.components("coredns", now)                 # None while the health of one is not known yet

The records say what there is, also of a release whose module or addon is not offered any more. They are in memory; so
to look at all of them costs no request, and whatever changes a unit is a reason to. The watches are those by which
drift and the health of addons are found (`releases/object_watches.py`): of kinds without a rule metadata alone.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import NamedTuple, Protocol, TypeAlias

from hookrunner import log
from hookrunner.convergence.unit_states import CALM, MOST_PAUSES
from hookrunner.discovery.addon_queue import AddonQueue
from hookrunner.discovery.components import Component, judge_component
from hookrunner.errors import KubeError, ReleaseFailed
from hookrunner.model.releases import DeployedRevision, Head
from hookrunner.model.resources import ObjectKey
from hookrunner.releases.drift import is_permanent
from hookrunner.releases.health.kind_health import Clock, KindHealth
from hookrunner.releases.health.object_health import has_rule
from hookrunner.releases.manifest_objects import ObjectId, ReleaseId, managed, object_id
from hookrunner.releases.object_watches import ObjectWatches, WatchReader
from hookrunner.waits import Batches

_FIRST, _RETRY, _LOOK = 1.0, 5.0, 30.0
"""Seconds until records are looked at first, and again: those that could not be read, and all of them. A release
without a unit tells of no change."""

_log = log.get(__name__)
_Kind: TypeAlias = tuple[str, str]
"""apiVersion and kind, as manifests have them."""


class InstalledReleases(Protocol):
    """`releases.releases.Releases`."""

    async def read_heads(self, namespace: str) -> Mapping[str, Head]: ...
    async def read_deployed(self, head: Head) -> DeployedRevision: ...


class _Installed(NamedTuple):
    """A release: its addon, its head, the version of its package or chart, and its objects, with a rule or without."""

    addon: str
    head: Head
    version: str = ""
    objects: dict[ObjectId, bool] = {}  # noqa: RUF012 - never changed


class InstalledComponents:
    """The objects of all releases that are ours. `whole` and `metadata` read the facts about them."""

    def __init__(
        self, releases: InstalledReleases, changes: Batches[str], watches: ObjectWatches, queue: AddonQueue
    ) -> None:
        self.is_read = False
        """Were the records listed once?"""
        self.whole = watches.reader(whole=True)
        self.metadata = watches.reader(whole=False)
        self._records = releases
        self._changes = changes
        self._queue = queue
        self._releases: dict[ReleaseId, _Installed] = {}
        self._unread: frozenset[str] = frozenset()
        """Addons with a record that cannot be read."""
        self._shown: dict[_Kind, KindHealth] = {}
        self._addons_of = defaultdict[tuple[_Kind, str], set[str]](set)
        """The addons of the objects of a kind and a name."""

    @property
    def addons(self) -> frozenset[str]:
        """The addons that are installed."""
        return frozenset(release.addon for release in self._releases.values())

    def versions(self, addon: str) -> list[str]:
        """The versions of an addon that are installed."""
        return [release.version for release in self._of(addon)]

    def components(self, addon: str, now: float) -> list[Component] | None:
        """The objects of an addon, None while the health of one is not known yet. While a new record cannot be read,
        those of the earlier one."""
        components = list[Component]()
        if addon in self._unread and addon not in self.addons:
            return None
        for target in (target for release in self._of(addon) for target in release.objects):
            shown = self._shown[target.api_version, target.kind]
            if (health := shown.health(target.namespace, target.name, now)) is None:
                return None
            key = shown.find(target.namespace, target.name) or ObjectKey(target.namespace, target.kind, target.name)
            components.append(Component(target.api_version, key, health))
        return components

    def expires_in(self, addon: str, now: float) -> Iterator[float | None]:
        """For each kind of its objects seconds after which their health is unknown, though nothing changes."""
        kinds = {(target.api_version, target.kind) for release in self._of(addon) for target in release.objects}
        return (self._shown[kind].expires_in(now) for kind in kinds)

    async def follow_records(self, namespaces: Callable[[], Iterable[str]]) -> None:
        """Keep what is installed, until cancelled. `namespaces` are those of releases. The first records are read when
        the runs of the start are over, or nothing runs: these need them as well, and sooner."""
        pause = _FIRST
        while True:
            await self._changes.next_calm_batch(CALM, MOST_PAUSES, pause)
            pause = _LOOK if await self._read_releases(namespaces()) else _RETRY

    async def follow_facts(self, reader: WatchReader) -> None:
        """Keep the health of objects, until cancelled."""
        async with aclosing(reader.facts()) as batches:
            async for selection, facts in batches:
                kind = selection.api_version, selection.kind
                if shown := self._shown.get(kind):
                    keys = shown.read(facts, Clock.now())
                    self._queue.note(self._touched(kind, keys))
                del facts  # otherwise the last objects would stay in memory until the next change

    def _of(self, addon: str) -> Iterator[_Installed]:
        return (release for release in self._releases.values() if release.addon == addon)

    def _touched(self, kind: _Kind, keys: Iterable[ObjectKey] | None) -> set[str]:
        """The addons with objects of these keys, all with objects of the kind for None."""
        if keys is None:
            return {addon for (of, _), addons in self._addons_of.items() if of == kind for addon in addons}
        return {addon for key in keys for addon in self._addons_of.get((kind, key.name), ())}

    async def _read_releases(self, namespaces: Iterable[str]) -> bool:
        """Look at all records, and read those that are new. False if some could not be read."""
        heads = dict[ReleaseId, Head]()
        try:
            for namespace in namespaces:
                for name, head in (await self._records.read_heads(namespace)).items():
                    heads |= {ReleaseId(name, namespace): head} if head.owned else {}
        except KubeError as error:
            _log.debug("release records cannot be listed", error=error)
            return False
        changed = {known.addon for identity, known in self._releases.items() if identity not in heads}
        releases = {identity: known for identity, known in self._releases.items() if identity in heads}
        unread = set[str]()
        for identity, head in heads.items():
            known = releases.get(identity)
            if known and known.head == head:
                continue
            if release := await self._try_read(identity, head):
                releases[identity] = release
                changed.add(release.addon)
            else:
                unread.add(addon_name(head))
        if changed:
            self._releases = releases  # not earlier: others look at them meanwhile, and at their watches
            self._watch()
        self.is_read, self._unread = True, frozenset(unread)
        self._queue.note(changed)
        return not unread

    async def _try_read(self, identity: ReleaseId, head: Head) -> _Installed | None:
        """What is deployed, None if it cannot be read now."""
        try:
            deployed = await self._records.read_deployed(head)
            objects = {object_id(obj, identity): has_rule(obj) for obj in deployed.objects if is_permanent(obj)}
        except (KubeError, ReleaseFailed) as error:
            _log.debug("objects of a release cannot be listed yet", release=str(identity), error=error)
            return None
        return _Installed(addon_name(head), head, deployed.version, objects)

    def _watch(self) -> None:
        """Watch the kinds of all objects and no others."""
        targets = [(release, target) for release in self._releases.values() for target in release.objects]
        kinds = {(target.api_version, target.kind) for _, target in targets}
        ruled = {(target.api_version, target.kind) for release, target in targets if release.objects[target]}
        now = asyncio.get_running_loop().time()
        self._shown = {kind: self._shown.get(kind) or KindHealth(kind[1], now, judge_component) for kind in kinds}
        self._addons_of.clear()
        for release, target in targets:
            self._addons_of[(target.api_version, target.kind), target.name].add(release.addon)
        self.whole.need({managed(*kind) for kind in ruled})
        self.metadata.need({managed(*kind) for kind in kinds - ruled})


def addon_name(head: Head) -> str:
    """What a release is listed as: the addon of an instance, or the module."""
    return head.addon.partition(".")[0] if head.addon else head.name
