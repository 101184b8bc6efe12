"""The health of what instances have installed: tells the tracker which objects to look at, and others when it changed.

    health = InstanceHealth(tracker, releases, home)
    await health.follow_runs(states, registry)     # until cancelled, as the next one
    await health.take_over(states, registry)
    health.reports(unit, revision)                 # None while it is not known

A run never waits for readiness. When it has written another revision than before, the objects of that revision are
taken from its record, which is in memory, and tracked from then on. After a restart that is what an earlier process has
applied, also where the run could not get that far: what is installed works, or it does not. Those records have to be
read, which waits until the runs of the start are over: statuses say already how it was.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from hookrunner import log
from hookrunner.convergence.runs.seams import RecordReader
from hookrunner.convergence.unit_states import CALM, MOST_PAUSES, UnitStates
from hookrunner.errors import KubeError, ReleaseFailed
from hookrunner.instances.instance_registry import InstanceRegistry, LiveUnit
from hookrunner.model.addon_status import ObjectReport
from hookrunner.releases.manifest_objects import ReleaseId
from kubetypes.json_values import JSON

_NextBatch: TypeAlias = Callable[[float | None], Awaitable[tuple[str, ...]]]

_RETRY = 5.0
"""Seconds until releases that could not be read are read again."""

_log = log.get(__name__)


class TrackedHealth(Protocol):
    """`releases.health.health_tracker.HealthTracker`."""

    def reports(self, identity: ReleaseId) -> tuple[ObjectReport, ...] | None: ...
    def track(self, identity: ReleaseId, objects: Sequence[JSON], is_written: bool) -> None: ...
    def forget(self, identity: ReleaseId) -> None: ...
    def changes(self) -> AsyncIterator[ReleaseId]: ...


class InstanceHealth:
    """The health of all instances; their releases are in the namespace `home`."""

    def __init__(self, tracker: TrackedHealth, releases: RecordReader, home: str) -> None:
        self._tracker = tracker
        self._releases = releases
        self._home = home
        self._revisions: dict[str, int] = {}

    def reports(self, unit: str, revision: int) -> tuple[ObjectReport, ...] | None:
        """The health of each object of this revision, None while it is not known."""
        return self._tracker.reports(ReleaseId(unit, self._home)) if self._revisions.get(unit) == revision else None

    def forget(self, unit: str) -> None:
        """The instance is gone."""
        if self._revisions.pop(unit, None):
            self._tracker.forget(ReleaseId(unit, self._home))

    async def follow_runs(self, states: UnitStates, registry: InstanceRegistry) -> None:
        """Track what runs write, until cancelled."""
        await self._keep(states.unit_changes.subscribe().next_batch, registry, is_written=True)

    async def take_over(self, states: UnitStates, registry: InstanceRegistry) -> None:
        """Track what earlier runs have left, until cancelled."""
        next_calm_batch = partial(states.unit_changes.subscribe().next_calm_batch, CALM, MOST_PAUSES)
        await self._keep(next_calm_batch, registry, is_written=False)

    async def _keep(self, next_batch: _NextBatch, registry: InstanceRegistry, is_written: bool) -> None:
        """What cannot be read is tried again after a while."""
        waiting = {live.state.name for live in registry.live}
        while True:
            missed = {unit for unit in waiting if not await self._track(unit, registry, is_written)}
            waiting = missed | {*await next_batch(_RETRY if missed else None)}

    async def changes(self) -> AsyncIterator[str]:
        """Yield a unit when the health of its objects has changed."""
        async for identity in self._tracker.changes():
            yield identity.name

    async def _track(self, unit: str, registry: InstanceRegistry, is_written: bool) -> bool:
        """Track what its last run has written, or found. False if that cannot be read yet."""
        live = registry.get(unit)
        if live is None or not self._is_behind(live) or _has_written(live) != is_written:
            return True
        try:
            present = await self._releases.read_head(live.state.name, self._home)
            objects = await self._releases.read_manifest(present) if present else ()
        except (KubeError, ReleaseFailed) as error:
            _log.warn("objects of an instance cannot be watched yet", instance=live.state.name, error=error)
            return False
        if present and present.revision == _applied_revision(live) and registry.get(unit) is live:
            self._revisions[unit] = present.revision
            self._tracker.track(ReleaseId(unit, self._home), objects, is_written)
        return True

    def _is_behind(self, live: LiveUnit) -> bool:
        """Is another revision applied than is tracked?"""
        revision = _applied_revision(live)
        return revision > 0 and self._revisions.get(live.state.name) != revision


def _has_written(live: LiveUnit) -> bool:
    """Was what is applied written by the last run?"""
    head = live.planner.installed
    return head is None or head.revision != _applied_revision(live)


def _applied_revision(live: LiveUnit) -> int:
    """The revision of its last run, or of an earlier one if that did not reach the objects; 0 while a run may change
    it."""
    state, head = live.state, live.planner.installed
    if state.ready:
        return state.release.revision
    return head.revision if head and state.set_aside and head.status == "deployed" else 0
