"""A module whose chart is rendered by a fake, and whose records are in memory: what a reconciler works on."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hookrunner.charts.renderer import Renderer
from hookrunner.convergence.plan import Plan, Planners
from hookrunner.convergence.runs.module_planner import ModulePlanner
from hookrunner.convergence.runs.release_reconciler import Helm, ReleaseReconciler
from hookrunner.errors import ReleaseFailed
from hookrunner.kube.discovery import ClusterCapabilities
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Module, Traits
from hookrunner.model.operations import ValuesOperation
from hookrunner.model.releases import (
    Adoption,
    Capabilities,
    DesiredRelease,
    Head,
    ObjectDrift,
    ReleaseResult,
    RenderedChart,
    RenderRequest,
    WriteNotes,
)
from hookrunner.model.unit_state import ModuleState, UnitState
from hookrunner.releases.drift import Drift
from hookrunner.releases.releases import Releases
from hookrunner.settings import ModulesSettings
from hookrunner.values.section_store import SectionStore
from tests.convergence.planners import INSTANCE, FakePlanner
from tests.convergence.site import NO_SCHEMAS

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
GONE = ObjectDrift("a", "default", "v1", "ConfigMap", "a")
CHANGED = replace(GONE, fields=("/data/k",))
RESTORED = (CONFIG | {"data": {"k": "before"}},)
ADOPTION = Adoption("default/ConfigMap/a")


class Renders(Renderer):
    """Remembers what was rendered; the manifest is the number of the render if `counts`."""

    def __init__(self) -> None:
        self.orders: list[RenderRequest] = []
        self.prewarmed = 0
        self.counts = False
        self.objects: tuple[Any, ...] = (CONFIG,)

    async def render(self, order: RenderRequest) -> RenderedChart:
        self.orders.append(order)
        return RenderedChart(f"# {len(self.orders) if self.counts else 0}", self.objects, (), "", {})

    def prewarm(self) -> None:
        self.prewarmed += 1


class Records(Releases):
    """The release `a`: each rollout is a new revision. It takes `takes` seconds, and fails with `fails`."""

    def __init__(self) -> None:
        self.latest: dict[str, Head] = {}
        self.wanted: list[DesiredRelease] = []
        self.repaired: list[ObjectDrift] = []
        self.unreadable_ones: set[int] = set()
        self.removal: Any = self
        self.notes = WriteNotes()
        self.takes, self.fails = 0.0, ""
        self.error: ReleaseFailed | None = None
        self.restored: list[int] = []
        self.uninstalled: list[str] = []
        self.at_once = self.most_at_once = 0

    async def list_heads(self, namespace: str) -> dict[str, Head]:
        return {name: head for name, head in self.latest.items() if head.namespace == namespace}

    async def list_strays(self) -> dict[str, Head]:
        return {name: head for name, head in self.latest.items() if head.namespace != "default"}

    async def read_head(self, name: str, namespace: str) -> Head | None:
        return (await self.list_heads(namespace)).get(name)

    async def reconcile(self, wanted: DesiredRelease) -> ReleaseResult:
        self.wanted.append(wanted)
        self.notes.adopted.append(ADOPTION)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self.takes)
        self.at_once -= 1
        if error := self.error or (ReleaseFailed(self.fails) if self.fails else None):
            raise error
        revision = self.latest[wanted.name].revision + 1 if wanted.name in self.latest else 1
        unmanaged = wanted.options.unmanaged
        head = Head(wanted.name, wanted.namespace, revision, "deployed", wanted.digest, True, unmanaged)
        self.latest[wanted.name] = head
        return ReleaseResult(head, 1, wanted.rendered.objects)

    async def rollback(
        self, name: str, namespace: str, revision: int | None, digest: str, options: Any = None
    ) -> ReleaseResult:
        self.latest[name] = replace(self.latest[name], revision=9, digest=digest, note="pinned")
        return ReleaseResult(self.latest[name], 1, RESTORED)

    async def restore_healthy(
        self, name: str, namespace: str, revision: int, digest: str, options: Any
    ) -> ReleaseResult:
        self.restored.append(revision)
        head = self.latest[name]
        self.latest[name] = replace(head, revision=head.revision + 1, digest=digest, note="rolled-back")
        return ReleaseResult(self.latest[name], 1, RESTORED)

    def take_notes(self, name: str, namespace: str) -> WriteNotes:
        notes, self.notes = self.notes, WriteNotes()
        return notes

    def is_broken(self, head: Head) -> bool:
        return head.revision in self.unreadable_ones

    async def repair(self, name: str, namespace: str, findings: Collection[ObjectDrift], terms: Any) -> int:
        self.repaired += findings
        return len(findings)

    async def uninstall(self, name: str, namespace: str, timeout: float = 0, hooks: bool = True) -> bool:
        self.uninstalled.append(f"{name} with its hooks" if hooks else name)
        return self.latest.pop(name, None) is not None


class Drifts(Drift):
    """What has drifted."""

    def __init__(self) -> None:
        self.findings_: tuple[ObjectDrift, ...] = ()

    def pause(self, identity: object) -> None: ...

    def forget(self, identity: object) -> None: ...

    def known_findings(self, identity: object) -> tuple[ObjectDrift, ...]:
        return self.findings_

    def mark_repaired(self, identity: object, findings: Iterable[ObjectDrift]) -> None:
        self.findings_ = tuple(one for one in self.findings_ if one not in tuple(findings))


class Served(ClusterCapabilities):
    """What the cluster serves."""

    def __init__(self) -> None:
        self.api_versions: tuple[str, ...] = ("v1",)

    def serve(self, *api_versions: str) -> None:
        self.api_versions = api_versions

    async def get(self) -> Capabilities:
        return Capabilities("v1.35.0", self.api_versions)


@dataclass(eq=False)
class World:
    """The module `a`, whose chart has one template."""

    directory: Path
    renders: Renders = field(default_factory=Renders)
    records: Records = field(default_factory=Records)
    drift: Drifts = field(default_factory=Drifts)
    served: Served = field(default_factory=Served)
    maintained: set[str] = field(default_factory=set)
    store: SectionStore = field(
        default_factory=lambda: SectionStore({}, {name: NO_SCHEMAS for name in ("a", "b", "c")})
    )
    metrics: Metrics = field(default_factory=lambda: Metrics(""))

    def __post_init__(self) -> None:
        self._helm = Helm(self.renders, self.records, self.drift, self.served, "default")
        self._settings = ModulesSettings(concurrency=2)
        self.planners = Planners(self)
        self.releases = ReleaseReconciler(self._helm, self.planners, self.metrics, 2)
        self._modules: dict[str, Module] = {}

    async def plan(self, state: UnitState) -> Plan:
        return self.present(state)

    def present(self, state: UnitState) -> Plan:
        return self._planner.present(state)

    async def uninstall(self, state: UnitState, head: Head) -> None:
        await self._planner.uninstall(state, head)

    @property
    def _planner(self) -> ModulePlanner:
        modules, is_maintained = self._modules.values(), self.maintained.__contains__
        return ModulePlanner(modules, self._settings, self._helm, self.store, is_maintained)

    def instance(self, planner: FakePlanner) -> UnitState:
        self.planners.add(INSTANCE.name, planner)
        return UnitState(INSTANCE)

    def module(self, name: str = "a", template: str = "{{ .Values.a }}", **traits: Any) -> ModuleState:
        templates = self.directory / name / "templates"
        templates.mkdir(parents=True, exist_ok=True)
        (templates / "a.yaml").write_text(template)
        described = Module(name, name, 1, self.directory / name, self.directory, chart=True, traits=Traits(**traits))
        self._modules[name] = described
        return ModuleState(described)

    def set(self, value: int) -> None:
        self.store.patch("a", [ValuesOperation("add", "/a", {"n": value})])

    async def run(self, state: UnitState) -> None:
        await self.releases.reconcile(state, await self.planners.of(state).plan(state))

    async def reconcile(self, state: UnitState) -> tuple[int, int]:
        """How many renders and rollouts that took."""
        before = len(self.renders.orders), len(self.records.wanted)
        await self.run(state)
        return len(self.renders.orders) - before[0], len(self.records.wanted) - before[1]
