"""The health of what instances have installed: tells the tracker which objects to look at, and others when it changed.

    health = InstanceHealth(tracker, releases, home)
    await health.keep(states, registry)       # until cancelled
    health.reports(unit, revision)            # None while it is not known

A run never waits for readiness. When it has ended with another revision than before, the objects of that revision are
read from its record, which is in memory after a rollout, and tracked from then on. After a restart that is what an
earlier process has applied, also where the run could not get that far: what is installed works, or it does not.
"""

from collections.abc import Sequence

from hookrunner import log
from hookrunner.convergence.state import ModuleStates
from hookrunner.errors import KubeError, ReleaseFailed
from hookrunner.instances.instance_registry import InstanceRegistry, LiveUnit
from hookrunner.model.addon_status import ObjectReport
from hookrunner.releases.health.health_tracker import HealthTracker
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.releases.releases import Releases
from kubetypes.json_values import JSON

_RETRY = 5.0
"""Seconds until releases that could not be read are read again."""

_log = log.get("addons.health")


class InstanceHealth:
    """The health of all instances; their releases are in the namespace `home`."""

    def __init__(self, tracker: HealthTracker, releases: Releases, home: str) -> None:
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

    async def keep(self, states: ModuleStates, registry: InstanceRegistry) -> None:
        """Track what runs have applied, until cancelled. What cannot be read is tried again after a while."""
        feed, waiting = states.unit_changes.subscribe(), {live.unit for live in registry.live}
        while True:
            missed = {unit for unit in waiting if not await self._track(unit, registry)}
            waiting = missed | {*await feed.next_batch(_RETRY if missed else None)}

    async def tell(self, states: ModuleStates) -> None:
        """Say which units have another health, until cancelled."""
        async for identity in self._tracker.changes():
            states.unit_changes.note(identity.name)

    async def _track(self, unit: str, registry: InstanceRegistry) -> bool:
        """Track what its last run has applied. False if that cannot be read yet."""
        live = registry.get(unit)
        if live is None or not self._is_behind(live):
            return True
        try:
            present = await self._releases.read_head(live.unit, self._home)
            objects = await self._releases.read_manifest(present) if present else ()
        except (KubeError, ReleaseFailed) as error:
            _log.warn("objects of an instance cannot be watched yet", instance=live.unit, error=str(error))
            return False
        if present and present.revision == _applied_revision(live) and registry.get(unit) is live:
            self._begin(live, present.revision, objects)
        return True

    def _is_behind(self, live: LiveUnit) -> bool:
        """Is another revision applied than is tracked?"""
        revision = _applied_revision(live)
        return revision > 0 and self._revisions.get(live.unit) != revision

    def _begin(self, live: LiveUnit, revision: int, objects: Sequence[JSON]) -> None:
        head = live.blueprint.installed
        self._revisions[live.unit] = revision
        was_written = head is None or head.revision != revision
        self._tracker.track(ReleaseId(live.unit, self._home), objects, was_written)


def _applied_revision(live: LiveUnit) -> int:
    """The revision of its last run, or of an earlier one if that did not reach the objects; 0 while a run may change
    it."""
    state, head = live.state, live.blueprint.installed
    if state.ready:
        return state.revision
    return head.revision if head and state.set_aside and head.status == "deployed" else 0
