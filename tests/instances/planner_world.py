"""Plans of one instance: packages are read from a directory and built by the real builder; releases and the
cluster are fakes with memory."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hookrunner.addons.addon_values import AddonValues
from hookrunner.addons.build_request import BuildTerms
from hookrunner.addons.gates.gate_world import GateWorld
from hookrunner.addons.gates.gates import GateVerdict, verdict_on
from hookrunner.addons.instance_build import BuildTools
from hookrunner.addons.object_builder import ObjectBuilder
from hookrunner.charts.renderer import Renderer
from hookrunner.controllers.event_recorder import EventRecorder
from hookrunner.convergence.plan import Plan
from hookrunner.instances.instance_hooks import InstanceSubject
from hookrunner.instances.instance_planner import InstancePlanner, PlannerParts
from hookrunner.instances.removal import InstanceRemover
from hookrunner.instances.units.live_unit import LiveUnit, unit_of
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.metrics.names import Metrics
from hookrunner.model.addons import Addon, Instance, PatchRule, Placeholder
from hookrunner.model.releases import Capabilities, Head, KeptObject, ReleaseOptions
from hookrunner.model.unit_state import UnitState
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.releases.releases import Releases
from hookrunner.settings import own_environment
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from tests.controllers.event_server import EventServer
from tests.convergence.planners import Written
from tests.convergence.site import NO_SCHEMAS
from tests.instances.samples import ADDON

UNIT = "dns.default.x"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {text: __TEXT__}\n"
KEPT = KeptObject("/Namespace/dns", "it is not empty")


class Records(Releases):
    """The head of one release, and how it was removed."""

    def __init__(self) -> None:
        self.latest: Head | None = None
        self.removed: list[str] = []
        self.removal: Any = self

    async def read_head(self, name: str, namespace: str) -> Head | None:
        return self.latest

    async def read_history(self, name: str, namespace: str) -> tuple[Head, ...]:
        return (self.latest,) if self.latest else ()

    async def tear_down(
        self, name: str, namespace: str, options: Any, patience: float = 60.0
    ) -> tuple[KeptObject, ...]:
        self.removed.append(f"torn down {namespace}/{name}" + (f" as {options.account}" if options.account else ""))
        return (KEPT,)

    async def abandon(self, name: str, namespace: str, marks: Any) -> int:
        self.removed.append(f"abandoned {namespace}/{name}")
        return 1

    async def forget(self, name: str, namespace: str) -> None:
        self.removed.append(f"forgotten {namespace}/{name}")

    async def read_manifest(self, head: Head) -> tuple[JSON, ...]:
        return ()

    async def has_lost_owner(self, head: Head, objects: Any, marks: Any) -> bool:
        return False


class Served:
    """What the cluster serves."""

    def __init__(self) -> None: ...

    async def get(self) -> Capabilities:
        return Capabilities("v1.34.0", ("v1",))


@dataclass
class World:
    """The addon `dns` with the versions 1.0 and 2.0 in a directory; the channel leads to 1.0. `status` is that of the
    instance as it was written last, `marked` counts the finalizers that were set, and `while_marking` is called with
    each; a deletion with the policy Orphan needs a `client`."""

    directory: Path
    addon: Addon = field(
        default_factory=lambda: replace(
            ADDON,
            text=(Placeholder("__TEXT__", "text"),),
            component="dns",
            patches=(PatchRule("ConfigMap", ("data",)),),
        )
    )
    records: Records = field(default_factory=Records)
    store: SectionStore = field(default_factory=lambda: SectionStore({}, {}))
    metrics: Metrics = field(default_factory=lambda: Metrics(""))
    gates: GateWorld = field(default_factory=GateWorld)
    status: JSON = None
    marked: int = 0
    while_marking: Callable[[], None] = lambda: None
    reported: list[str] = field(default_factory=list)
    events: EventServer = field(default_factory=EventServer)
    client: Any = None
    schemas: Any = NO_SCHEMAS

    def put(self, version: str, **files: str) -> None:
        """A package, which the channel leads to from now on."""
        package = self.directory / "packages/dns" / version
        package.mkdir(parents=True, exist_ok=True)
        for name, text in ({"a": MAP} | files).items():
            (package / f"{name}.yaml").write_text(text)
        (self.directory / "stable").write_text(f"manifests: [{{version: '{version}'}}]\n")

    def planner(self, seen: Instance) -> InstancePlanner:
        """That of an instance which a process has just found."""
        self.store.add(seen.unit, "dns", self.schemas)
        return InstancePlanner(self.addon, AddonValues({"text": "hi"}), seen, self._parts())

    def live(self, seen: Instance) -> LiveUnit:
        """The same with its state and its hooks."""
        planner = self.planner(seen)
        return LiveUnit(
            self.addon, UnitState(unit_of(self.addon, seen)), planner, InstanceSubject(planner, self.reported.append)
        )

    def _parts(self) -> PlannerParts:
        async def mark(_addon: Addon, _instance: Instance) -> None:
            self.marked += 1
            self.while_marking()

        async def admit(seen: Instance, addon: Addon, _served: Capabilities) -> GateVerdict:
            return verdict_on(seen, addon, self.gates)

        builder = ObjectBuilder(Renderer(), ProgramRunner(Children(Patience()), self.directory), own_environment())
        return PlannerParts(
            tools=BuildTools(builder, self.store, BuildTerms(namespace="home")),
            metrics=self.metrics,
            releases=self.records,
            home="home",
            usual=ReleaseOptions(timeout=7.0),
            capabilities=Served(),
            fetcher=PackageFetcher(PackageCache(self.directory / "cache", 1), "digest", self.metrics),
            remover=InstanceRemover(self.records, self.client, EventRecorder(self.events.client).source("x")),
            mark=mark,
            admit=admit,
            open_source=lambda _addon, _kubernetes: DirectorySource(self.directory),
            status_of=lambda _unit: self.status,
            health=Written(),
        )


async def plan(live: LiveUnit) -> Plan:
    """How a run begins, and what becomes of it if it cannot."""
    live.state.begin(0.0, "")
    try:
        return await live.planner.plan(live.state)
    except Exception as error:
        live.state.fail(str(error), error)
        raise


async def run(live: LiveUnit) -> tuple[JSON, ...]:
    """A run up to the objects, as it is where something has changed."""
    planned = await plan(live)
    try:
        rendered = await planned.build.render(True)
    except Exception as error:
        live.state.fail(str(error), error)
        raise
    live.state.release.note_rendered(rendered.unmatched)
    live.state.succeed(0.0)
    return rendered.objects
