"""What the parts of the program show on the debug endpoint: units, modules, addons, the cloud.

`DebugPages` has those that exist so far: the endpoint answers before hooks are loaded, and each part adds its page when
it begins.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from hookrunner.model.addons import Addon, RejectedAddon
from hookrunner.model.cloud import CloudDump, OrphanDump
from hookrunner.model.releases import Adoption
from hookrunner.model.status import InstanceDump, ModuleDump, ObjectDump, RevisionDump, SnapshotDump
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

Layer: TypeAlias = Literal["values", "config"]
GraphForm: TypeAlias = Literal["text", "mermaid", "dot"]
View: TypeAlias = Literal["values", "config", "patches", "snapshots", "render", "rollback", "revisions", "objects"]
"""The last word of a path: what of a unit is asked for."""


class UnitPages(Protocol):
    """What is shown of units: modules, instances of addons, and, where values alone are shown, `global`. A unit is one
    that exists. Nothing is changed but by `rollback`. Methods raise HookrunnerError where there is nothing to show."""

    def values(self, unit: str, layer: Layer, whole: bool) -> JSON:
        """The effective values or what the user has set (None for nothing); `whole` adds the global section."""

    def explain(self, unit: str) -> JSON:
        """Which layer has set each value."""

    def patches(self, unit: str) -> JSON:
        """What hooks have patched in memory."""

    def hooks(self, unit: str) -> Sequence[str]:
        """Names of its hooks."""

    def snapshots(self, unit: str) -> Mapping[str, Sequence[SnapshotDump]]:
        """Snapshots of its hooks by their names."""

    async def render(self, unit: str, debug: bool) -> str:
        """The manifests, empty without a chart."""

    async def diff(self, unit: str) -> str:
        """The difference between the manifests and the live state."""

    async def revisions(self, unit: str) -> Sequence[RevisionDump]:
        """The revisions of its release, the latest last."""

    async def rollback(self, unit: str, revision: int | None) -> str:
        """Roll back to an earlier revision; the outcome in words."""


class ModulePages(Protocol):
    """What is shown of modules alone. Nothing is changed but by `adopt`."""

    def knows(self, module: str) -> bool:
        """Is there such a module?"""

    def rows(self) -> Sequence[ModuleDump]:
        """All modules in their order, then directories that are rejected."""

    def enabled(self) -> Sequence[str]:
        """Names of modules that are on."""

    def graph(self, form: GraphForm) -> str:
        """The graph of dependencies."""

    async def resources(self) -> JSON:
        """The watched objects, by module."""

    async def adopt(self, module: str) -> Sequence[Adoption]:
        """Have the module run, once with the right to take over objects; which these were. Raises HookrunnerError."""


class AddonPages(Protocol):
    """What is shown of addons and instances alone."""

    def addons(self) -> Sequence[Addon]:
        """The addons that are offered."""

    def rejected(self) -> Sequence[RejectedAddon]:
        """Directories that cannot be offered."""

    def rows(self) -> Sequence[InstanceDump]:
        """All instances, by addon, namespace and name."""

    def units(self, addon: str, name: str) -> Mapping[str, str]:
        """The units of the instances with this name, by namespace."""

    def objection(self, unit: str, view: View) -> str:
        """Why there is no such view of an instance at the moment; empty if there is."""

    async def objects(self, unit: str) -> Sequence[ObjectDump]:
        """The objects of its release with their health. Raises HookrunnerError while that is not known."""

    async def versions(self, addon: str, channels: Sequence[str]) -> JSON:
        """What an addon's source offers this cluster: versions, and where its usual channels and these lead. Raises
        HookrunnerError."""


class CloudPages(Protocol):
    """What is shown of the cloud. Nothing is changed but by `release`."""

    def dump(self) -> CloudDump:
        """The present state."""

    def release(self) -> Sequence[str]:
        """Let deletions go on that are held at the moment; the names of their Nodes."""

    async def find_orphans(self) -> Sequence[OrphanDump]:
        """Load balancers of the cloud without a Service. Raises HookrunnerError."""


@dataclass(slots=True)
class DebugPages:
    """The pages that exist so far, None for the others."""

    units: UnitPages | None = None
    modules: ModulePages | None = None
    addons: AddonPages | None = None
    cloud: CloudPages | None = None
