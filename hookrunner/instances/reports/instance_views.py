"""What the debug endpoint shows of instances besides what it shows of any unit, and when it shows less.

An instance whose gate was closed all the time has no values yet, and one that its user has suspended is not written to,
on request neither.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from hookrunner.addons.offer.addon_offer import AddonOffer
from hookrunner.addons.offered_versions import Offer
from hookrunner.errors import RenderFailed
from hookrunner.instances.reports.instance_news import ReportedState
from hookrunner.instances.reports.reported_instances import ReportedInstance, ReportedInstances
from hookrunner.instances.reports.sight import Sight
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.model.addon_status import AddonPhase
from hookrunner.model.addons import Addon, Instance, RejectedAddon
from hookrunner.model.status import InstanceDump, ObjectDump
from hookrunner.web.views.pages import View
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_GATES = frozenset(
    {
        AddonPhase.PENDING,
        AddonPhase.CONFLICT,
        AddonPhase.VERSION_MISMATCH,
        AddonPhase.PACKAGE_ERROR,
        AddonPhase.SUSPENDED,
    }
)
"""Phases in which the present spec has not led to a package, so that nothing of it can be rendered."""
_OWNED = "Owned"
"""Only what was rendered can belong to others."""


class LiveUnits(Protocol):
    """The units of instances, as `instance_registry.InstanceRegistry` keeps them."""

    @property
    def live(self) -> Sequence[LiveUnit]: ...

    def get(self, unit: str) -> LiveUnit | None: ...


@dataclass(frozen=True, slots=True)
class InstanceViews:
    """The endpoint's `web.views.pages.AddonPages`, and where it looks. `read_offer` asks the source of an addon, for
    some channels besides its own, and for installed versions. `sight` has what is out of date."""

    registry: LiveUnits
    reported: ReportedInstances
    offer: AddonOffer
    read_offer: Callable[[Addon, Sequence[str], Sequence[str]], Awaitable[Offer]]
    sight: Sight

    def addons(self) -> Sequence[Addon]:
        """The addons that are offered."""
        return self.offer.addons

    def rejected(self) -> Sequence[RejectedAddon]:
        """Directories that cannot be offered."""
        return self.offer.rejected

    def rows(self) -> Sequence[InstanceDump]:
        """All instances, by addon, namespace and name."""
        reported = {known.instance.unit: known for known in self.reported}
        lives = sorted(self.registry.live, key=lambda live: live.instance.labels)
        rows = ((live.addon, _row(live, reported.get(live.unit))) for live in lives)
        return [replace(row, unseen_since=self.sight.lost_since(addon.name)) for addon, row in rows]

    def units(self, addon: str, name: str) -> Mapping[str, str]:
        """The units of the instances with this name, by namespace."""
        instances = (live.instance for live in self.registry.live if live.addon.name == addon)
        return {instance.namespace: instance.unit for instance in instances if instance.name == name}

    def objection(self, unit: str, view: View) -> str:
        """Why there is no such view of an instance at the moment; empty if there is."""
        live = self.registry.get(unit)
        if live is None:
            return f"{unit} is gone"
        return _OBJECTIONS[view](live) if view in _OBJECTIONS else ""

    async def objects(self, unit: str) -> Sequence[ObjectDump]:
        """The objects of what is installed, in the order of its manifest. Raises RenderFailed while their health is not
        known."""
        known = self.reported.find(unit)
        if known is None or known.facts is None or known.facts.objects is None:
            why = known.state.message if known and not known.state.revision else "hookrunner has not seen them yet"
            live = self.registry.get(unit)
            raise RenderFailed(f"{_name(live.instance) if live else unit} has no known objects: {why}")
        return [ObjectDump(report.name, report.status, report.message) for report in known.facts.objects]

    async def versions(self, addon: str, channels: Sequence[str]) -> JSON:
        """What the source of an addon that is offered has for this cluster. Raises PackageError, KubeError."""
        offered = {each.name: each for each in self.offer.addons}[addon]
        rows = [row for row in self.rows() if row.addon == addon]
        channels = [*channels, *(row.channel for row in rows if row.channel)]
        installed = [row.version for row in rows if row.version]
        return (await self.read_offer(offered, channels, installed)).as_json()


def _objection_to_values(live: LiveUnit) -> str:
    if live.planner.prepared is not None:
        return ""
    why = live.obstacle.message if live.obstacle else "its first run has not begun"
    return f"{_name(live.instance)} has no values yet: {why}"


def _objection_to_rendering(live: LiveUnit) -> str:
    obstacle = live.obstacle
    if live.planner.prepared is None or obstacle is None:
        return _objection_to_values(live)
    is_closed = obstacle.phase in _GATES and obstacle.reason != _OWNED
    return f"{_name(live.instance)}: {obstacle.phase} ({obstacle.reason}): {obstacle.message}" if is_closed else ""


def _objection_to_rollback(live: LiveUnit) -> str:
    instance = live.instance
    if not (instance.is_deleting or instance.fields.suspend):
        return ""
    why = "it is being deleted" if instance.is_deleting else "it is suspended; set spec.suspend to false first"
    return f"{_name(instance)} is not rolled back: {why}"


_OBJECTIONS: Mapping[View, Callable[[LiveUnit], str]] = {
    "values": _objection_to_values,
    "config": _objection_to_values,
    "render": _objection_to_rendering,
    "rollback": _objection_to_rollback,
}


def _name(instance: Instance) -> str:
    """As commands name it."""
    return f"{instance.addon}/{instance.name}"


def _row(live: LiveUnit, known: ReportedInstance | None) -> InstanceDump:
    """`known` is None for an instance that was seen just now."""
    instance = live.instance
    state = known.state if known else ReportedState()
    return InstanceDump(
        addon=instance.addon,
        namespace=instance.namespace,
        name=instance.name,
        kind=live.addon.object.kind,
        unit=live.unit,
        version=state.version,
        channel=state.channel,
        phase=state.phase.value if state.phase else "",
        reason=state.reason,
        message=state.message,
        healthy=state.is_current,
        available=state.available,
        revision=state.revision,
        pinned=live.state.release.is_pinned,
        created=_created(instance),
        objects={str(status): number for status, number in known.objects.items()} if known else {},
    )


def _created(instance: Instance) -> float:
    """Epoch seconds; Kubernetes writes RFC 3339."""
    stamp = instance.document["metadata"].get("creationTimestamp")
    return datetime.fromisoformat(stamp).timestamp() if stamp else 0.0
