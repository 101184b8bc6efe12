"""Takes over what instances have installed in an earlier process: the health of these objects is tracked from then on.

    await EarlierObjects(tracker, releases, states, registry).take_over()     # until cancelled

A run gives the objects that it writes to the tracker itself. One that finds everything in line, or does not get that
far, gives none; what is installed works, or it does not. Those records have to be read, which waits until the runs of
the start are over: statuses say already how it was.
"""

from typing import Protocol

from hookrunner import log
from hookrunner.convergence.plan import WrittenObjects
from hookrunner.convergence.runs.seams import ManifestReader
from hookrunner.convergence.unit_states import CALM, MOST_PAUSES, UnitStates
from hookrunner.errors import KubeError, ReleaseFailed
from hookrunner.instances.instance_registry import InstanceRegistry
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.model.releases import Head
from kubetypes.light_dataclasses import dataclass

_RETRY = 5.0
"""Seconds until releases that could not be read are read again."""

_log = log.get(__name__)


class TrackedRevisions(WrittenObjects, Protocol):
    """`releases.health.health_tracker.HealthTracker`, which knows what it tracks."""

    def tracks(self, head: Head) -> bool: ...


@dataclass(frozen=True, slots=True)
class EarlierObjects:
    """The objects of instances that no run of this process has written."""

    tracker: TrackedRevisions
    releases: ManifestReader
    states: UnitStates
    registry: InstanceRegistry

    async def take_over(self) -> None:
        """Track them, until cancelled. What cannot be read is tried again after a while."""
        feed = self.states.unit_changes.subscribe()
        waiting = {live.unit for live in self.registry.live}
        while True:
            missed = {unit for unit in waiting if not await self._track(unit)}
            waiting = missed | {*await feed.next_calm_batch(CALM, MOST_PAUSES, _RETRY if missed else None)}

    async def _track(self, unit: str) -> bool:
        """Track what the last run has found. False if that cannot be read yet."""
        live = self.registry.get(unit)
        head = _found(live) if live else None
        if head is None or self.tracker.tracks(head):
            return True
        try:
            objects = await self.releases.read_manifest(head)
        except (KubeError, ReleaseFailed) as error:
            _log.warn("objects of an instance cannot be watched yet", instance=unit, error=error)
            return False
        if self.registry.get(unit) is live:
            self.tracker.track(head, objects, written=False)
        return True


def _found(live: LiveUnit) -> Head | None:
    """What the last run has found installed; None while a run may change it."""
    head, has_ended = live.planner.installed, live.state.ready or live.state.set_aside
    return head if head and has_ended and head.status == "deployed" else None
