"""Says of each instance what is known about it, whenever that may have changed: the facts for its status.

    reports = StatusReports(registry, writer, health, rollouts, reported)
    await reports.follow()          # until cancelled, as the next one
    await reports.follow_health()

Facts come from the unit's state and from its planner; what an earlier process knew is read from the status itself.
The health of objects comes from `releases/health/`, and may change long after a run.
"""

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Protocol

from hookrunner import log
from hookrunner.addons.instance_build import PreparedBuild
from hookrunner.addons.status_conditions import protection_before, state_of
from hookrunner.instances.instance_registry import InstanceRegistry
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.instances.rollout_watch import RolloutWatch
from hookrunner.instances.status_writer import StatusWriter
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.model.addon_status import (
    AddonObstacle,
    AddonPhase,
    Installed,
    InstanceFacts,
    LastHealthy,
    ObjectReport,
    ProtectionState,
)
from hookrunner.model.addons import RECONCILE
from hookrunner.model.releases import PINNED, ROLLED_BACK, Head
from hookrunner.model.timestamps import rfc3339
from hookrunner.model.unit_state import UnitState
from hookrunner.releases.manifest_objects import ReleaseId
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)


class KnownHealth(Protocol):
    """`releases.health.health_tracker.HealthTracker`."""

    def reports(self, identity: ReleaseId, revision: int) -> tuple[ObjectReport, ...] | None: ...
    def changes(self) -> AsyncIterator[ReleaseId]: ...


class KnownProtection(Protocol):
    """`protection.object_protection.ObjectProtection`."""

    def state_of(self, unit: str) -> ProtectionState: ...


@dataclass(frozen=True, slots=True)
class StatusReports:
    """Reports the facts of all instances of `registry`: to `writer` for statuses, to `reported` for Events. Their
    releases are in the namespace `home`. `clock` gives epoch seconds."""

    registry: InstanceRegistry
    writer: StatusWriter
    health: KnownHealth
    home: str
    rollouts: RolloutWatch
    reported: ReportedInstances
    protection: KnownProtection
    clock: Callable[[], float] = time.time

    async def follow(self) -> None:
        """Report all instances, then each one after a change of it, until cancelled. What is the same is not written
        again."""
        async for changed in self.registry.changes():
            for live in filter(None, changed.values()):
                self._try_report(live)

    async def follow_health(self) -> None:
        """Report an instance after each change of the health of its objects, until cancelled."""
        async for identity in self.health.changes():
            if live := self.registry.get(identity.name):
                self._try_report(live)

    def _try_report(self, live: LiveUnit) -> None:
        """Report one instance. A fault that it causes must not keep others from being reported."""
        try:
            self.report(live)
        except Exception:
            _log.exception("instance is not reported: please report this", instance=live.unit)

    def report(self, live: LiveUnit) -> None:
        """Report one instance, unless a run is under way that may confirm what its status says."""
        instance = live.instance
        self.reported.count_failure(instance, live.state.failure, live.obstacle)
        if _is_undecided(live):
            return
        status = self.writer.status_of(instance.unit) or instance.status
        facts = facts_of(live, status, self.clock())
        if facts.installed:
            identity = ReleaseId(live.unit, self.home)
            facts = replace(facts, objects=self.health.reports(identity, facts.installed.revision))
        if _is_health_pending(facts, status):
            return
        if instance.fields.protect:
            facts = replace(facts, protection=_protection(self.protection.state_of(live.unit), status))
        facts = self.rollouts.judge(live, facts)
        if self.reported.take_in(instance, facts):
            self.registry.related.wake_dependents(live.addon, "Addon-Ready")
        if instance.replaces and state_of(facts).phase is AddonPhase.CURRENT:
            self.registry.related.wake_predecessors(live)
        self.writer.report(live.addon, instance, facts)


def facts_of(live: LiveUnit, status: JSON, now: float) -> InstanceFacts:
    """What is known of an instance. `status` is its present status, `now` the time (epoch seconds)."""
    instance, prepared, release = live.instance, live.planner.prepared, live.state.release
    return InstanceFacts(
        generation=instance.generation,
        fields=instance.fields,
        obstacle=_obstacle(live),
        installed=_installed(live, status, now),
        last_healthy=_last_healthy(status),
        rolled_back=_rolled_back(live, status),
        available_version=prepared.chosen.version.available if prepared else "",
        unread_channel=prepared.chosen.version.unread if prepared else "",
        unmatched_patches=release.unmatched,
        untested=prepared.untested if prepared else "",
        unknown_fields=release.unknown_fields,
        leftovers=live.planner.verdict.leftovers,
        hook_conditions=live.subject.reports.conditions,
    )


def _protection(state: ProtectionState, status: JSON) -> ProtectionState:
    """What is known of the protection of its objects; what the status says while that is about to change, or is not
    known yet after a restart."""
    return (protection_before(status) or state) if state.is_passing else state


def _is_health_pending(facts: InstanceFacts, status: JSON) -> bool:
    """Is only the health still unknown of what the status is about? After a restart it is known soon."""
    installed, obstacle = facts.installed, facts.obstacle
    if installed is None or not facts.lacks_health:
        return False
    if obstacle and [obstacle.message] != (status.get("errors") or ())[:1]:
        return False
    return (status.get("revision"), status.get("observedGeneration")) == (installed.revision, facts.generation)


def _is_undecided(live: LiveUnit) -> bool:
    """Is a run due, or under way, for the spec that the status is about? Its end says more. In between, the status
    stays: it would change twice for each run that has nothing to do."""
    instance, status = live.instance, live.instance.status
    if _is_at_rest(live) or instance.is_deleting:
        return False
    return bool(status.get("observedGeneration") == instance.generation)


def _is_at_rest(live: LiveUnit) -> bool:
    """Has a run ended that began with the present spec? An edit asks for its run a moment later."""
    state = live.state
    has_ended = state.set_aside or state.complete
    return has_ended and live.planner.tried == live.instance.generation


def _obstacle(live: LiveUnit) -> AddonObstacle | None:
    """Why the desired state is not reached, as far as runs know it."""
    if live.instance.is_deleting:
        text = live.state.error or "it was deleted; its objects are being removed"
        return AddonObstacle(AddonPhase.TERMINATING, "Terminating", text)
    if not _is_at_rest(live):
        return AddonObstacle(AddonPhase.APPLYING, "Applying", "its run has not ended yet")
    return live.obstacle if live.state.set_aside else None


def _installed(live: LiveUnit, status: JSON, now: float) -> Installed | None:
    """What is applied: by the last run, else by an earlier one, whose record and status say so."""
    state, prepared, head, unit = live.state, live.planner.prepared, live.planner.installed, live.unit
    if prepared and state.ready and state.release.revision:
        chosen, revision, restored = prepared.chosen, state.release.revision, _restored(state)
        started, channel, serial = _started(status, revision, now), chosen.version.channel, chosen.version.serial
        if restored is None:
            version, digest = chosen.version.version, chosen.package.digest
            return Installed(version, digest, unit, revision, started, channel, serial=serial, commit=chosen.commit)
        return Installed(restored.version, "", unit, revision, started, channel, restored.note == PINNED, serial)
    if not live.planner.has_read_head:
        return _installed_before(status, unit)
    if head is None:
        return None
    known = _choice_of(head, prepared) | (status if status.get("revision") == head.revision else {})
    digest, channel, commit = (str(known.get(key) or "") for key in ("digest", "channel", "commit"))
    started, pinned, serial = _started(status, head.revision, now), head.note == PINNED, int(known.get("serial") or 0)
    return Installed(head.version, digest, unit, head.revision, started, channel, pinned, serial, commit)


def _choice_of(head: Head, prepared: PreparedBuild | None) -> JSON:
    """What led to a version, as the first status of its revision would have it: the last run has chosen it. Without the
    digest the package could not be read from the cache while its source is down."""
    if not prepared or prepared.chosen.version.version != head.version or head.note:
        return {}
    chosen = prepared.chosen
    version = chosen.version
    return {
        "digest": chosen.package.digest,
        "channel": version.channel,
        "commit": chosen.commit,
        "serial": version.serial,
    }


def _installed_before(status: JSON, unit: str) -> Installed | None:
    """What the status says, until the release itself is looked at: else a restart would lose it."""
    version, revision = str(status.get("version") or ""), int(status.get("revision") or 0)
    if not revision:
        return None
    fields, serial = ("digest", "startedAt", "channel", "commit"), int(status.get("serial") or 0)
    digest, started, channel, commit = (str(status.get(key) or "") for key in fields)
    return Installed(version, digest, unit, revision, started, channel, serial=serial, commit=commit)


def _restored(state: UnitState) -> Head | None:
    """The head of the release, if it is an earlier revision that was restored."""
    head = state.release.head
    return head if head and head.note else None


def _rolled_back(live: LiveUnit, status: JSON) -> str:
    """Why what is installed was restored in place of what is desired, empty if it was not. An earlier process has left
    the reason in the status."""
    restored, prepared = _restored(live.state), live.planner.prepared
    if restored is None or restored.note != ROLLED_BACK or not live.state.ready:
        return ""
    if reason := live.state.release.undone:
        version = prepared.chosen.version.version if prepared else ""
        failed = f"version {version} failed" if version != restored.version else "the change failed"
        hint = f"version {restored.version} is back until the spec, the package or the annotation {RECONCILE} changes"
        return f"{failed}, {hint}: {reason}"
    known = status.get("errors") if status.get("phase") == AddonPhase.ROLLED_BACK else None
    return str(known[0]) if known else "the desired version has failed"


def _started(status: JSON, revision: int, now: float) -> str:
    """When the rollout of a revision began: when it was first seen."""
    started = status.get("startedAt") if status.get("revision") == revision else None
    return str(started or rfc3339(now))


def _last_healthy(status: JSON) -> LastHealthy | None:
    known = status.get("lastHealthy")
    if not isinstance(known, dict):
        return None
    return LastHealthy(str(known.get("version", "")), int(known.get("revision") or 0), str(known.get("time", "")))
