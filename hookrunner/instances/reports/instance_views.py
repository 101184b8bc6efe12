"""What the debug endpoint shows of instances, and its one action: bring an earlier revision back.

An instance is a unit of convergence, so most is shown as for a module. What differs: an instance whose gate was closed
all the time has no values yet, and one that its user has suspended is not written to, on request neither.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from hookrunner.addons.offered_versions import Offer
from hookrunner.errors import ReleaseFailed, RenderFailed
from hookrunner.instances.addon_offer import AddonOffer
from hookrunner.instances.instance_registry import LiveUnit
from hookrunner.instances.reports.instance_news import ReportedState
from hookrunner.instances.reports.reported_instances import ReportedInstance, ReportedInstances
from hookrunner.instances.reports.sight import Sight
from hookrunner.model.addon_status import AddonPhase
from hookrunner.model.addons import Addon, Instance, RejectedAddon
from hookrunner.model.status import InstanceDump, ObjectDump, RevisionDump, SnapshotDump
from hookrunner.releases.releases import Releases
from hookrunner.web.views.section_routes import Layer, Sections
from kubetypes.json_values import JSON

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
class InstanceViewSources:
    """Where the views look. `units` shows what instances have in common with modules; releases are in the namespace
    `home`; `read_offer` asks the source of an addon, for some channels besides its own, and for installed versions.
    `sight` says what is out of date."""

    registry: LiveUnits
    reported: ReportedInstances
    units: Sections
    releases: Releases
    home: str
    offer: AddonOffer
    read_offer: Callable[[Addon, Sequence[str], Sequence[str]], Awaitable[Offer]]
    sight: Sight


class InstanceViews:
    """The endpoint's `web.views.addon_routes.AddonPages`."""

    def __init__(self, sources: InstanceViewSources) -> None:
        self._sources = sources

    def addons(self) -> Sequence[Addon]:
        """The addons that are offered."""
        return [offered.addon for offered in self._sources.offer.addons.values()]

    def rejected(self) -> Sequence[RejectedAddon]:
        """Directories that cannot be offered."""
        return self._sources.offer.rejected

    def rows(self) -> Sequence[InstanceDump]:
        """All instances, by addon, namespace and name."""
        reported = {known.instance.unit: known for known in self._sources.reported}
        lives = sorted(self._sources.registry.live, key=lambda live: live.instance.labels)
        rows = ((live.addon, _row(live, reported.get(live.unit))) for live in lives)
        return [replace(row, unseen_since=self._sources.sight.lost_since(addon.name)) for addon, row in rows]

    def units(self, addon: str, name: str) -> Mapping[str, str]:
        """The units of the instances with this name, by namespace."""
        instances = (live.instance for live in self._sources.registry.live if live.addon.name == addon)
        return {instance.namespace: instance.unit for instance in instances if instance.name == name}

    async def revisions(self, section: str) -> Sequence[RevisionDump]:
        """The revisions of its release, the latest last. Raises KubeError."""
        heads = await self._sources.releases.read_history(section, self._sources.home)
        return [RevisionDump(head.revision, head.version, head.status, head.note) for head in heads]

    async def objects(self, section: str) -> Sequence[ObjectDump]:
        """The objects of what is installed, in the order of its manifest. Raises RenderFailed while their health is not
        known."""
        known = self._sources.reported.find(section)
        if known is None or known.facts is None or known.facts.objects is None:
            why = known.state.message if known and not known.state.revision else "hookrunner has not seen them yet"
            raise RenderFailed(f"{_name(self._live(section).instance)} has no known objects: {why}")
        return [ObjectDump(report.name, report.status, report.message) for report in known.facts.objects]

    async def versions(self, addon: str, channels: Sequence[str]) -> JSON:
        """What the source of an addon that is offered has for this cluster. Raises PackageError, KubeError."""
        offered = self._sources.offer.addons[addon].addon
        rows = [row for row in self.rows() if row.addon == addon]
        channels = [*channels, *(row.channel for row in rows if row.channel)]
        installed = [row.version for row in rows if row.version]
        return (await self._sources.read_offer(offered, channels, installed)).as_json()

    def values(self, section: str, layer: Layer, whole: bool) -> JSON:
        """Exactly what hooks are given. Raises RenderFailed before its first run."""
        self._require_values(section)
        return self._sources.units.values(section, layer, whole)

    def explain(self, section: str) -> JSON:
        """A row for each value. Raises RenderFailed before its first run."""
        self._require_values(section)
        return self._sources.units.explain(section)

    def patches(self, section: str) -> JSON:
        """What hooks have patched in memory."""
        return self._sources.units.patches(section)

    def snapshots(self, section: str) -> Mapping[str, Sequence[SnapshotDump]]:
        """Those of hooks that have kubernetes bindings."""
        return self._sources.units.snapshots(section)

    async def render(self, section: str, debug: bool) -> str:
        """The objects as the next run would make them. Raises RenderFailed if none can be made of the spec."""
        self._require_package(section)
        return await self._sources.units.render(section, debug)

    async def diff(self, section: str) -> str:
        """The objects as they would be, compared with those in the cluster. Raises as `render`, and KubeError."""
        self._require_package(section)
        return await self._sources.units.diff(section)

    async def rollback(self, section: str, revision: int | None) -> str:
        """Bring an earlier revision back and pin it. Raises ReleaseFailed, RenderFailed, KubeError."""
        instance = self._live(section).instance
        if instance.is_deleting or instance.fields.suspend:
            why = "it is being deleted" if instance.is_deleting else "it is suspended; set spec.suspend to false first"
            raise ReleaseFailed(f"{_name(instance)} is not rolled back: {why}")
        return await self._sources.units.rollback(section, revision)

    def _live(self, section: str) -> LiveUnit:
        live = self._sources.registry.get(section)
        if live is None:
            raise RenderFailed(f"{section} is gone")
        return live

    def _require_values(self, section: str) -> None:
        live = self._live(section)
        if live.planner.prepared is None:
            why = live.obstacle.message if live.obstacle else "its first run has not begun"
            raise RenderFailed(f"{_name(live.instance)} has no values yet: {why}")

    def _require_package(self, section: str) -> None:
        self._require_values(section)
        live = self._live(section)
        if (obstacle := live.obstacle) and obstacle.phase in _GATES and obstacle.reason != _OWNED:
            raise RenderFailed(f"{_name(live.instance)}: {obstacle.phase} ({obstacle.reason}): {obstacle.message}")


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
