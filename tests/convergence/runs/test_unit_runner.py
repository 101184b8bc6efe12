"""The steps of a run and of a deletion: their order, that each is done once, and that a retry continues where the last
attempt failed.

Level: pure."""

from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.convergence.events import Notices
from hookrunner.convergence.plan import Plan, Planners
from hookrunner.convergence.runs.hook_loading import CompiledHooks
from hookrunner.convergence.runs.unit_remover import UnitRemover
from hookrunner.convergence.runs.unit_runner import MOST_REPEATS, UnitDefinitions, UnitParts, UnitRunner
from hookrunner.engine.run_gate import MissingSnapshot
from hookrunner.errors import BadHookConfig, BadModule, BadValues, HookFailed, ReleaseFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import (
    Admission,
    BindingType,
    ConversionBinding,
    Hook,
    HookConfig,
    Kubernetes,
    ReviewKind,
)
from hookrunner.model.modules import Phase
from hookrunner.model.operations import ValuesOperation
from hookrunner.model.releases import Head
from hookrunner.model.unit_state import ModuleState, UnitState
from hookrunner.values.section import LayerSchemas
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from tests.convergence.planners import FakePlanner
from tests.convergence.site import NO_SCHEMAS, NOWHERE, module
from tests.tables import each


class Steps:
    """Remembers steps; one that is in `fails` fails once."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.fails: dict[str, Exception] = {}

    def do(self, step: str) -> None:
        self.seen.append(step)
        if error := self.fails.pop(step, None):
            raise error

    def take(self) -> list[str]:
        seen, self.seen = self.seen, []
        return seen


class Hooks:
    """One hook. `changes` is how many times its afterHelm run still changes the module's values."""

    def __init__(self, steps: Steps, store: SectionStore, config: HookConfig) -> None:
        self.compiled = CompiledHooks(Notices())
        self.changes, self.config = 0, config
        self._steps, self._store = steps, store

    async def load(self, state: UnitState) -> None:
        self._steps.do("load")
        state.load_hooks([Hook("m/h", NOWHERE, self.config, "m")])

    async def run(self, state: UnitState, type: BindingType) -> None:
        self._steps.do(type)
        if type is BindingType.AFTER_HELM and self.changes:
            self.changes -= 1
            self._store.patch("m", [ValuesOperation("add", "/m", {"n": self.changes})])

    async def run_once(self, state: UnitState, type: BindingType) -> None:
        self._steps.do(type)

    async def synchronize(self, state: UnitState) -> None:
        self._steps.do("synchronize")

    async def wait_for_synchronizations(self, state: UnitState) -> None:
        self._steps.do("wait")

    async def listen(self, state: UnitState, *types: BindingType) -> None:
        self._steps.do("listen")

    def arm_schedules(self, state: UnitState) -> None:
        self._steps.do("arm")

    def disarm_schedules(self, state: UnitState) -> None:
        self._steps.do("disarm")

    def forget(self, state: UnitState) -> None:
        self._steps.do("forget")


class Webhooks:
    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    async def register(self, state: UnitState, kind: ReviewKind) -> None:
        self._steps.do(f"register {kind}")

    async def withdraw(self, state: UnitState, kind: ReviewKind) -> None:
        self._steps.do(f"withdraw {kind}")


class Definitions:
    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    async def apply(self, state: UnitState) -> None:
        self._steps.do("define")


class Charts:
    """`installed` says that there is a release, with the values that stand there."""

    def __init__(self, steps: Steps) -> None:
        self.installed: JSON = None
        self._steps = steps

    async def head(self, state: UnitState) -> Head | None:
        return Head("m", "default", 1, "deployed", owned=True) if self.installed is not None else None

    async def reconcile(self, state: UnitState, plan: Plan) -> None:
        self._steps.do("release")

    async def last_values(self, state: UnitState) -> JSON:
        return self.installed

    async def uninstall(self, state: UnitState) -> None:
        self._steps.do("uninstall")

    def forget(self, state: UnitState) -> None: ...


class NotForTemplates:
    """The schemas of a section whose values templates must not see."""

    config = values = None

    @property
    def helm(self) -> "NotForTemplates":
        return self

    def defaults(self, value: JSON) -> JSON:
        return value

    def problems(self, value: JSON, old: JSON = None) -> list[str]:
        return ["/m: n is missing"]


class World:
    """The module `m` with a chart and a hook that watches objects."""

    def __init__(self, chart: bool = True, schemas: LayerSchemas = NO_SCHEMAS) -> None:
        self.steps, self.store = Steps(), SectionStore({}, {"m": schemas})
        self.state = ModuleState(replace(module("m", 10), chart=chart))
        watched, asked = Kubernetes("cms", "ConfigMap"), (Admission("p"),)
        converts = (ConversionBinding("c", "things.a", ()),)
        config = HookConfig("v1", kubernetes=(watched,), validating=asked, conversions=converts)
        self.hooks, webhooks = Hooks(self.steps, self.store, config), Webhooks(self.steps)
        self.charts = Charts(self.steps)
        parts, planners = UnitParts(self.hooks, webhooks, self.charts, self.store), Planners(FakePlanner())
        self.runner = UnitRunner(parts, Definitions(self.steps), planners, Metrics(""))
        self.remover = UnitRemover(parts)

    async def run(self) -> list[str]:
        """The steps of one successful attempt."""
        await self.runner.run(self.state)
        return self.steps.take()


@pytest.fixture
def world() -> World:
    return World()


async def test_values_that_templates_must_not_see_fail_the_run_before_its_release() -> None:
    world = World(schemas=NotForTemplates())
    with pytest.raises(BadValues, match="n is missing"):
        await world.run()
    assert world.steps.take()[-1] == "beforeHelm"


START = ["load", "onStartup"]
LISTEN = ["register conversion", "synchronize", "wait", "arm"]
RELEASE = ["define", "register conversion", "register admission", "beforeHelm", "release", "afterHelm"]
DELETION = [
    "load",
    "withdraw admission",
    "listen",
    "beforeDeleteHelm",
    "uninstall",
    "afterDeleteHelm",
    "withdraw conversion",
    "forget",
]


async def test_the_first_run_has_all_steps_and_a_later_one_only_those_of_the_release(world: World) -> None:
    assert await world.run() == [*START, *LISTEN, *RELEASE]
    assert (world.state.phase, world.state.live, world.state.last_success > 0) == (Phase.READY, True, True)
    assert await world.run() == ["arm", *RELEASE]


async def test_a_module_without_chart_or_watches_leaves_these_steps_out() -> None:
    world = World(chart=False)
    world.hooks.config = HookConfig("v1")
    steps = await world.run()
    assert {"synchronize", "wait", "release"}.isdisjoint(steps)


@each("step", ["load", "synchronize", "wait", "define", "beforeHelm", "release", "afterHelm"])
async def test_a_retry_continues_with_the_phase_that_failed(step: str) -> None:
    world = World()
    whole = await World().run()
    world.steps.fails[step] = HookFailed("no")
    with pytest.raises(HookFailed):
        await world.run()
    failed = world.steps.take()
    assert failed == whole[: whole.index(step) + 1]
    first = START[0] if step in START else RELEASE[0] if step in RELEASE else step
    assert await world.run() == whole[whole.index(first) :]
    assert world.state.phase is Phase.READY


async def test_after_helm_hooks_that_change_values_bring_one_more_pass(world: World) -> None:
    await world.run()
    world.hooks.changes = 2
    assert await world.run() == ["arm", *RELEASE * 3]


async def test_after_helm_hooks_that_always_change_values_fail_their_module(world: World) -> None:
    """Also across attempts; what they change again later is counted anew."""
    await world.run()
    for _ in range(2):
        world.hooks.changes = 100
        with pytest.raises(ReleaseFailed, match=f"changed its values {MOST_REPEATS + 1} times in a row"):
            await world.run()
        assert world.steps.take().count("afterHelm") == MOST_REPEATS + 1


async def test_values_that_are_requested_to_be_looked_at_again_bring_no_pass_of_this_run(world: World) -> None:
    """The next run looks again."""
    await world.run()
    world.hooks.changes = 1
    world.state.begin(0.0, "")
    world.state.request(1.0)
    assert await world.run() == ["arm", *RELEASE]


async def test_compiled_hooks_can_keep_a_module_from_running(world: World) -> None:
    world.hooks.compiled = CompiledHooks(Notices(), ("a.go",), parks=True)
    with pytest.raises(BadModule, match="to run it without them: --on-compiled-hooks warn"):
        await world.run()
    assert world.steps.take() == []


async def test_a_deletion_has_its_steps_in_order_and_leaves_nothing(world: World) -> None:
    await world.run()
    world.charts.installed = {}
    await world.remover.run(world.state)
    assert world.steps.take() == DELETION
    assert (world.state.live, world.state.phase, world.state.last_success) == (False, Phase.STARTUP, 0.0)


async def test_a_deletion_without_a_release_has_no_steps_before_helm(world: World) -> None:
    await world.remover.run(world.state)
    assert world.steps.take() == [step for step in DELETION if step not in ("beforeDeleteHelm", "uninstall")]


async def test_a_hook_without_a_config_keeps_no_module_alive(world: World) -> None:
    world.charts.installed = {}
    world.steps.fails["load"] = BadHookConfig("m/h", ["no"])
    await world.remover.run(world.state)
    assert world.steps.take() == DELETION


async def test_delete_hooks_see_the_values_of_the_release_in_another_process(world: World) -> None:
    world.charts.installed = {"m": {"n": 7}, "global": {}}
    world.steps.fails["beforeDeleteHelm"] = HookFailed("no")
    with pytest.raises(HookFailed):
        await world.remover.run(world.state)
    assert world.store.is_held("m")
    assert b'"n":7' in world.store.files("m").values.replace(b" ", b"")


async def test_definitions_are_applied_once(world: World, tmp_path: Path) -> None:
    """And again when they were lost."""
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "thing.yaml").write_text(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.a}\n"
    )
    ensured: list[list[str]] = []

    class Ensured:
        async def ensure(self, definitions: list[JSON], labels: dict[str, str]) -> list[str]:
            ensured.append([one["metadata"]["name"] for one in definitions])
            return ["a/v1/Thing"]

    class Served:
        def forget(self) -> None: ...

    definitions = UnitDefinitions(Ensured(), Served(), {}, ())  # type: ignore[arg-type]
    state = ModuleState(replace(module("m", 10), directory=tmp_path))
    await definitions.apply(state)
    assert (ensured, set(state.kinds)) == ([["things.a"]], {"a/v1/Thing"})
    world.state.set_definitions(state.kinds)
    assert "define" not in await world.run()
    world.state.lose_definitions()
    world.state.request(0.0)
    assert "define" in await world.run()


async def test_nothing_runs_before_the_values_are_known(world: World) -> None:
    """Modules are undecided then, but instances of addons would run without the global values."""
    world.store.note_unread("ConfigMap ops/hookrunner: forbidden")
    with pytest.raises(MissingSnapshot, match=r"m: waiting for the values: ConfigMap ops/hookrunner: forbidden"):
        await world.run()
    assert world.steps.take() == []
    world.store.note_unread("")
    assert await world.run() == [*START, *LISTEN, *RELEASE]
