"""Releases of units between runs: where they are, whether their objects drift, and what an earlier process has
left."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple

from hookrunner import log
from hookrunner.convergence.events import Notice
from hookrunner.convergence.runs.seams import DriftWatches, KnownReleases, ManifestReader
from hookrunner.convergence.unit_states import CALM, MOST_PAUSES, UnitStates
from hookrunner.errors import Denied, HookrunnerError, KubeError, ReleaseFailed
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.model.modules import Choice
from hookrunner.model.releases import Head, ObjectDrift, Predecessor, ReleaseOptions, ServiceAccount
from hookrunner.model.units import Unit
from hookrunner.modules.retired_modules import advise, find_successor
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.settings import Settings
from hookrunner.waits import Batches, Pauses
from kubetypes.json_values import JSON

_log = log.get(__name__)


class ReleaseLocator:
    """Where releases of units are: in our namespace (`usual`), in the one that `module.yaml` names, or in one that it
    named before. Every method that looks into the cluster raises KubeError, or ReleaseFailed for a release with records
    of another `--helm-driver`."""

    def __init__(self, releases: KnownReleases, usual: str) -> None:
        self._releases = releases
        self._usual = usual
        self._strays: Mapping[str, Head] | None = None
        self._listing = asyncio.Lock()

    def identity(self, unit: Unit) -> ReleaseId:
        """The identity of a unit's release, where it should be."""
        return ReleaseId(unit.name, unit.namespace or self._usual)

    async def heads(self) -> dict[str, Head]:
        """The latest revision of each release in our namespace, and of each that we own elsewhere, by name."""
        strays, heads = await asyncio.gather(self._list_strays(), self._releases.list_heads(self._usual))
        return {**strays, **heads}

    async def find_successor(self, head: Head) -> str:
        """The kind of the addon that follows the module of a release; empty for any but those that no longer ship."""
        try:
            return find_successor(await self._releases.read_chart(head))
        except ReleaseFailed:
            return ""  # the purge reports what is wrong with the record

    async def head(self, unit: Unit) -> Head | None:
        """The latest revision of a unit's release, from memory if it is known, wherever it is."""
        return await self._releases.read_head(*self.identity(unit)) or await self._find_elsewhere(unit)

    async def _find_elsewhere(self, unit: Unit) -> Head | None:
        """One that is known is looked up again: it may have been deleted. Units that start together share one list."""
        async with self._listing:
            if self._strays is None or unit.name in self._strays:
                self._strays = await self._list_strays()
            stray = self._strays.get(unit.name)
        head = stray or await self._releases.read_head(unit.name, self._usual)
        return head if head and head.owned and head.namespace != self.identity(unit).namespace else None

    async def _list_strays(self) -> Mapping[str, Head]:
        """Our releases in other namespaces; none without the right to list all records."""
        try:
            with tolerated_refusals():
                return await self._releases.list_strays()
        except Denied as error:
            _log.debug("releases in other namespaces cannot be listed", error=error)
            return {}


_RETRIES = Pauses(1.0, 60.0)
"""Seconds until a record that could not be read is read again."""


class _Terms(NamedTuple):
    """With what a release at rest is watched. Its predecessor and its account may be others without another revision:
    they say which changes of its objects are drift, and who reads them."""

    head: Head
    predecessor: Predecessor | None
    account: ServiceAccount | None


class _Settled(NamedTuple):
    """A release at rest, with its objects unless they have to be read, and the options with which it was written."""

    unit: Unit
    terms: _Terms
    objects: tuple[JSON, ...] | None
    options: ReleaseOptions


class DriftTracker:
    """Watches the objects of releases at rest for drift, and so finds out whether their records can be read. Reading
    records and opening watches takes a while; the next modules do not wait for it."""

    def __init__(self, releases: ManifestReader, drift: DriftWatches) -> None:
        self._releases = releases
        self._drift = drift
        self._terms: dict[str, _Terms] = {}
        self._settled = Batches[_Settled]()

    def track(self, unit: Unit, head: Head, options: ReleaseOptions, objects: tuple[JSON, ...] | None = None) -> None:
        """A unit's release is at rest: watch it soon. `options` are those with which its objects are written."""
        if head.unmanaged:
            self.forget(unit)
            return
        terms = _Terms(head, options.predecessor, options.account)
        if self._terms.get(head.name) != terms:
            self._terms[head.name] = terms
            self._settled.put(_Settled(unit, terms, objects, options), unit.name)

    def pause(self, identity: ReleaseId) -> None:
        """It is about to be written."""
        self._drift.pause(identity)
        self._terms.pop(identity.name, None)

    def forget(self, unit: Unit) -> None:
        """Its objects do not matter any more."""
        if terms := self._terms.pop(unit.name, None):
            self._drift.forget(_identity(terms.head))

    def tracks(self, unit: Unit) -> bool:
        """Are its objects watched?"""
        return unit.name in self._terms and unit.drift != "off"

    def findings(self, identity: ReleaseId) -> tuple[ObjectDrift, ...]:
        """Objects of a release that have drifted from what was applied."""
        return self._drift.known_findings(identity)

    async def keep(self) -> None:
        """Begin with the releases that came to rest; runs until cancelled. All of a batch are tracked before a watch
        reports anything: each object that a watch has shown before it is tracked has to be read."""
        unread, failures = dict[str, _Settled](), 0
        while True:
            # The records that are read here when it is calm are those that the next change of a value needs: soon
            # after a start it finds them in memory.
            batch = await self._settled.next_calm_batch(CALM, MOST_PAUSES, _RETRIES.after(failures) or None)
            waiting, unread = unread | {settled.unit.name: settled for settled in batch}, {}
            manifests = [await self._read_objects(settled) for settled in waiting.values()]
            for (unit, settled), objects in zip(waiting.items(), manifests, strict=True):
                if objects is not None:
                    self._begin(settled, objects)
                elif self._rests(settled):
                    unread[unit] = settled
            failures = failures + 1 if unread else 0

    async def _read_objects(self, settled: _Settled) -> tuple[JSON, ...] | None:
        """What the release consists of, None if that cannot be read now."""
        if settled.objects is not None:
            return settled.objects
        try:
            return await self._releases.read_manifest(settled.terms.head)
        except (KubeError, ReleaseFailed) as error:
            _log.debug("objects cannot be watched yet", **settled.unit.fields, error=error)
            return None

    def _rests(self, settled: _Settled) -> bool:
        """Has it not been written, deleted or settled anew meanwhile?"""
        return self._terms.get(settled.unit.name) is settled.terms

    def _begin(self, settled: _Settled, objects: tuple[JSON, ...]) -> None:
        if self._rests(settled):
            self._drift.track(_identity(settled.terms.head), objects, settled.unit.drift, settled.options)


_NO_MODULES = "there is no modules directory"
_NONE_FOUND = "no modules were found"


class Leftovers:
    """What an earlier process has left in the cluster: releases of modules that are off now, which are deleted as if
    they had been turned off just now, and releases without a module, which are purged (see docs/modules.md).

    `certain` means that no directory was rejected that may be a module under another name; the settings name releases
    that are left alone, as are those of modules that shipped once (`modules/retired_modules.py`). `result` shows a
    person what was purged or left alone, or why nothing was purged."""

    def __init__(
        self,
        states: UnitStates,
        locator: ReleaseLocator,
        purge: Callable[[Head], Awaitable[None]],
        certain: bool,
        settings: Settings,
    ) -> None:
        self.result = "not yet"
        self._states = states
        self._locator = locator
        self._purge = purge
        self._certain = certain
        self._ignored = settings.modules.ignored_releases
        self._expects_modules = bool(settings.modules.directories)
        self._offers_addons = settings.addons.on
        self._looked = self._cleaned = False
        self.retired = dict[str, str]()
        """What to do about each release of a module that no longer ships, by its name."""

    async def look(self) -> bool:
        """See once which modules are installed; is that known? Until it is, no deletion relies on it."""
        if self._looked:
            return True
        try:
            heads = [await self._locator.head(state.unit) for state in self._states.modules]
        except (KubeError, ReleaseFailed) as error:
            _log.error("releases of an earlier process cannot be looked up", error=error)
            return False
        self._looked = True
        for state, head in zip(self._states.modules, heads, strict=True):
            if head and head.owned:
                state.mark_live()
        return True

    async def clean_up(self) -> None:
        """Purge once the releases that are ours and have no module. As long as it is not certain which modules there
        are, nothing is purged."""
        if self._cleaned:
            return
        doubt = "; ".join(self._doubts())
        if doubt not in ("", _NONE_FOUND) and not (doubt == _NO_MODULES and self._offers_addons):
            self._put_off(doubt)
            return
        try:
            heads = await self._select_for_purge()
        except KubeError as error:
            self._put_off(f"the releases could not be listed: {error}")
            return
        if doubt:
            self._put_off("; ".join([doubt, *self.retired.values()]))
            return
        self._cleaned = True
        for head in reversed(heads):
            await self._remove(head)
        names = ", ".join(head.name for head in heads)
        purged = f"purged: {names}" if names else "nothing was to be purged"
        self.result = "; ".join([purged, *self.retired.values()])

    async def _select_for_purge(self) -> list[Head]:
        """Those without a module, by name, but for those of modules that no longer ship, which are reported. Raises
        KubeError."""
        heads = sorted((await self._locator.heads()).items())
        without = [head for _, head in heads if self._is_without_module(head)]
        kinds = [(head, await self._locator.find_successor(head)) for head in without]
        for head, kind in kinds:
            if kind and head.name not in self.retired:
                self._report_retired(head, kind)
        return [head for head, kind in kinds if not kind]

    def _report_retired(self, head: Head, kind: str) -> None:
        advice = self.retired[head.name] = advise(head.name, head.namespace, kind)
        _log.warn("release of a module that no longer ships is left alone", release=head.name, hint=advice)
        self._states.notices.publish(Notice(head.name, "ModuleRetired", advice))

    def _is_without_module(self, head: Head) -> bool:
        """Is it ours, and that of no module? Releases of addons are never looked at here, also if no addon is offered:
        their instances decide."""
        known = head.name in self._ignored or any(head.name == state.name for state in self._states.modules)
        return head.owned and not head.addon and not known

    def _doubts(self) -> Iterator[str]:
        if not self._states.modules:
            yield _NONE_FOUND if self._expects_modules else _NO_MODULES
        if not self._certain:
            yield "a directory has a name that no module can have"
        if not self._looked:
            yield "the releases could not be listed"
        if names := [state.name for state in self._states.modules if state.decision.choice is Choice.UNDECIDED]:
            yield f"undecided: {', '.join(names)}"

    def _put_off(self, doubt: str) -> None:
        before, self.result = self.result, f"nothing was purged: {doubt}"
        if self.result != before:
            level = "info" if doubt == _NO_MODULES else "warn"  # none were asked for: a good start
            _log.log(level, "nothing is purged", reason=doubt)

    async def _remove(self, head: Head) -> None:
        name, notices = head.name, self._states.notices
        _log.info("purging a release without a module", release=name)
        try:
            await self._purge(head)
            notices.publish(Notice(name, "ReleasePurged", f"no module is called {name}: removed", bad=False))
        except HookrunnerError as error:
            notices.publish(Notice(name, "PurgeFailed", str(error)))
            _log.error("a release could not be purged", release=name, error=error)


def _identity(head: Head) -> ReleaseId:
    return ReleaseId(head.name, head.namespace)
