"""From values to a release: when nothing is done, when something is rendered, and when it is rolled out."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from hookrunner.charts.renderer import Renderer
from hookrunner.convergence.plan import Plan, Planners
from hookrunner.convergence.runs.module_planner import ModulePlanner
from hookrunner.convergence.runs.release_reconciler import Helm, ReleaseReconciler
from hookrunner.errors import ReleaseFailed
from hookrunner.kube.discovery import ClusterCapabilities
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Choice, Decision, Module, Traits
from hookrunner.model.operations import ValuesOperation
from hookrunner.model.releases import (
    Adoption,
    Capabilities,
    DesiredRelease,
    Head,
    KeptObject,
    ObjectDrift,
    ReleaseResult,
    RenderedChart,
    RenderRequest,
)
from hookrunner.model.unit_state import ModuleState, UnitState
from hookrunner.releases.drift import Drift
from hookrunner.releases.releases import Releases
from hookrunner.settings import ModulesSettings
from hookrunner.values.section_store import SectionStore
from tests.convergence.planners import INSTANCE, FakeBuild, FakePlanner
from tests.convergence.site import NO_SCHEMAS

pytestmark = pytest.mark.looptime

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
GONE = ObjectDrift("a", "default", "v1", "ConfigMap", "a")
CHANGED = replace(GONE, fields=("/data/k",))
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
        self.adopted: tuple[Adoption, ...] = ()
        self.kept: tuple[KeptObject, ...] = ()
        self.faults: dict[str, str] = {}
        self.takes, self.fails = 0.0, ""
        self.error: ReleaseFailed | None = None
        self.restored: list[int] = []
        self.at_once = self.most_at_once = 0

    async def list_heads(self, namespace: str) -> dict[str, Head]:
        return {name: head for name, head in self.latest.items() if head.namespace == namespace}

    async def list_strays(self) -> dict[str, Head]:
        return {name: head for name, head in self.latest.items() if head.namespace != "default"}

    async def read_head(self, name: str, namespace: str) -> Head | None:
        return (await self.list_heads(namespace)).get(name)

    async def reconcile(self, wanted: DesiredRelease) -> ReleaseResult:
        self.wanted.append(wanted)
        self.adopted += (ADOPTION,)
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
        return ReleaseResult(head, 1)

    async def rollback(self, name: str, namespace: str, revision: int | None, digest: str, options: Any = None) -> Head:
        self.latest[name] = replace(self.latest[name], revision=9, digest=digest, note="pinned")
        return self.latest[name]

    async def restore_healthy(self, name: str, namespace: str, revision: int, digest: str, options: Any) -> Head:
        self.restored.append(revision)
        head = self.latest[name]
        self.latest[name] = replace(head, revision=head.revision + 1, digest=digest, note="rolled-back")
        return self.latest[name]

    def take_adoptions(self, name: str, namespace: str) -> tuple[Adoption, ...]:
        adopted, self.adopted = self.adopted, ()
        return adopted

    def take_kept(self, name: str, namespace: str) -> tuple[KeptObject, ...]:
        kept, self.kept = self.kept, ()
        return kept

    def take_faults(self, name: str, namespace: str) -> dict[str, str]:
        faults, self.faults = self.faults, {}
        return faults

    def is_broken(self, head: Head) -> bool:
        return head.revision in self.unreadable_ones

    async def repair(self, name: str, namespace: str, findings: Collection[ObjectDrift], terms: Any) -> int:
        self.repaired += findings
        return len(findings)

    async def uninstall(self, name: str, namespace: str, timeout: float = 0) -> bool:
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
        self.releases = ReleaseReconciler(self._helm, self.planners, self.store, self.metrics, 2)
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


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_the_same_digest_renders_nothing(world: World) -> None:
    state = world.module()
    assert await world.reconcile(state) == (1, 1)
    assert await world.reconcile(state) == (0, 0)
    world.set(1)
    assert await world.reconcile(state) == (1, 1)
    assert (state.release.revision, state.release.adopted) == (2, (ADOPTION, ADOPTION))
    assert [order.install for order in world.renders.orders] == [True, False]


async def test_what_a_rollback_leaves_behind_is_known_though_nothing_is_rolled_out(world: World) -> None:
    state = world.module()
    await world.reconcile(state)
    world.records.kept = (KeptObject("default/ConfigMap/a", "it was taken over"),)
    assert await world.reconcile(state) == (0, 0)
    assert [kept.object for kept in state.release.kept] == ["default/ConfigMap/a"]


async def test_fields_that_the_server_ignores_are_known_until_their_objects_are_written_again(world: World) -> None:
    state = world.module()
    world.records.faults = {"default/ConfigMap/a": ".datta", "ClusterRole/left": ".rule"}
    world.renders.objects = ({"kind": "ConfigMap", "metadata": {"name": "a"}},)
    await world.reconcile(state)
    assert state.release.unknown_fields == ("default/ConfigMap/a: .datta",)
    await world.reconcile(state)
    assert state.release.unknown_fields == ("default/ConfigMap/a: .datta",)
    world.records.faults = {"default/ConfigMap/a": ""}
    world.set(1)
    await world.reconcile(state)
    assert not state.release.unknown_fields


async def test_the_digest_is_that_of_the_record_also_in_another_process(world: World, tmp_path: Path) -> None:
    await world.reconcile(world.module())
    later = World(tmp_path, records=world.records)
    assert await later.reconcile(later.module()) == (0, 0)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda world: world.module(template="other: {{ .Values.a }}"), (1, 1)),
        (lambda world: world.served.serve("v1", "apps/v1"), (0, 0)),
        (lambda world: world.records.unreadable_ones.add(1), (1, 1)),
    ],
    ids=["template", "capabilities that no template reads", "record that cannot be read"],
)
async def test_what_else_is_a_reason_for_a_rollout(
    world: World, change: Callable[[World], object], expected: tuple[int, int]
) -> None:
    state = world.module()
    await world.reconcile(state)
    change(world)
    assert await world.reconcile(state) == expected


async def test_a_template_that_reads_capabilities_is_rendered_when_these_change(world: World) -> None:
    state = world.module(template="{{ .Capabilities.APIVersions }}")
    await world.reconcile(state)
    assert world.releases.reads_capabilities(state)
    world.served.serve("v1", "apps/v1")
    assert await world.reconcile(state) == (1, 1)


async def test_a_template_that_looks_into_the_cluster_is_rendered_each_time(world: World) -> None:
    """Only the result tells whether there is something to roll out."""
    state = world.module(template='{{ lookup "v1" "Secret" "a" "b" }}')
    assert await world.reconcile(state) == (1, 1)
    assert await world.reconcile(state) == (1, 0)
    world.renders.counts = True
    assert await world.reconcile(state) == (1, 1)


async def test_a_maintained_release_is_labelled_once_and_then_left_alone(world: World) -> None:
    state = world.module()
    await world.reconcile(state)
    world.maintained.add("a")
    assert await world.reconcile(state) == (1, 1)
    assert "maintenance.deckhouse.io/no-resource-reconciliation" in world.renders.orders[-1].labels
    world.set(1)
    assert await world.reconcile(state) == (0, 0)
    assert not world.releases.tracker.tracks(state.unit)
    world.maintained.clear()
    assert await world.reconcile(state) == (1, 1)


async def test_a_release_does_not_move_to_another_namespace(world: World) -> None:
    await world.reconcile(world.module())
    with pytest.raises(ReleaseFailed, match="installed in default, and objects do not move along"):
        await world.run(world.module(namespace="elsewhere"))


async def test_a_release_that_was_rolled_back_fails_until_something_changes(world: World) -> None:
    state = world.module()
    await world.reconcile(state)
    world.records.latest["a"] = replace(world.records.latest["a"], note="rolled-back")
    with pytest.raises(ReleaseFailed, match="the last upgrade failed and was rolled back"):
        await world.run(state)
    world.set(1)
    assert await world.reconcile(state) == (1, 1)


@pytest.mark.parametrize(("mode", "repaired"), [("missing", [GONE]), ("repair", [GONE, CHANGED])])
async def test_objects_that_drifted_are_repaired_without_a_rollout(
    world: World, mode: str, repaired: list[ObjectDrift]
) -> None:
    state = world.module(drift=mode)
    await world.reconcile(state)
    world.drift.findings_ = (GONE, CHANGED)
    assert await world.reconcile(state) == (0, 0)
    assert world.records.repaired == repaired
    assert await world.reconcile(state) == (0, 0)
    assert world.records.repaired == repaired


async def test_what_a_rollout_took_over_is_known_though_it_fails(world: World) -> None:
    state = world.module()
    world.records.fails = "no"
    with pytest.raises(ReleaseFailed):
        await world.run(state)
    assert (state.release.adopted, state.release.revision) == ((ADOPTION,), 0)
    world.records.fails = ""
    assert await world.reconcile(state) == (1, 1)


async def test_only_so_many_are_rolled_out_at_once_as_the_settings_allow(world: World) -> None:
    world.records.takes = 10.0
    await asyncio.gather(*(world.run(world.module(name)) for name in "abc"))
    assert (world.records.most_at_once, asyncio.get_running_loop().time()) == (2, 20)


async def test_the_render_worker_is_started_ahead_only_if_no_release_is_ours(world: World) -> None:
    await world.releases.prewarm_if_new()
    assert (world.renders.prewarmed, await world.releases.has_releases()) == (1, False)
    await world.reconcile(world.module())
    await world.releases.prewarm_if_new()
    assert (world.renders.prewarmed, await world.releases.has_releases()) == (1, True)


@pytest.mark.parametrize(
    ("mode", "finding", "needed"),
    [("missing", GONE, True), ("missing", CHANGED, False), ("repair", CHANGED, True), ("warn", CHANGED, False)],
)
def test_drift_is_counted_and_repaired_as_the_module_wants(
    world: World, mode: str, finding: ObjectDrift, needed: bool
) -> None:
    state = world.module(drift=mode)
    assert not world.releases.needs_repair(state, finding), "it is not on"
    state.decide(Decision(Choice.ON))
    assert world.releases.needs_repair(state, finding) is needed
    counted = 'modules_absent_resources_total{module="a",resource="default/ConfigMap/a"} 2'
    assert (counted in world.metrics.exposition().decode()) is finding.missing


async def test_a_release_is_uninstalled_where_it_is(world: World) -> None:
    state = world.module(namespace="elsewhere")
    await world.reconcile(state)
    await world.releases.uninstall(state)
    assert world.records.latest == {}
    await world.releases.uninstall(state)


async def test_rollback_waits_for_a_run_that_is_under_way_and_stays(world: World) -> None:
    gate, begun = asyncio.Event(), asyncio.Event()

    class Slow(FakeBuild):
        """Renders when it may."""

        async def render(self, is_first: bool) -> RenderedChart:
            begun.set()
            await gate.wait()
            return await super().render(is_first)

    world.store.add(INSTANCE.section, INSTANCE.key, NO_SCHEMAS)
    state = world.instance(FakePlanner(Slow()))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.run(state))
        await begun.wait()
        rollback = tasks.create_task(world.releases.rollback(state, 1))
        await asyncio.sleep(0)
        assert not rollback.done()
        gate.set()
    assert (state.release.revision, state.release.is_pinned, (await world.reconcile(state))[1]) == (9, True, 0)
