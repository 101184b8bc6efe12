"""What causes a round, a turn or a run of a module, and what causes nothing. Level: pure."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.convergence.decisions.config_object import Contents
from hookrunner.convergence.decisions.configuration import Edit
from hookrunner.convergence.reactions import ClusterReactions, ConfigReactions, UnitRequests
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine.hook_executor import ValuesChanged
from hookrunner.engine.run_gate import MissingSnapshot
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import GLOBAL, Choice, Decision
from hookrunner.model.releases import Capabilities, ObjectDrift
from hookrunner.model.tasks import HookRun
from hookrunner.model.unit_state import UnitState
from hookrunner.waits import Notifier
from tests.convergence.planners import INSTANCE
from tests.convergence.site import NOWHERE, module

pytestmark = pytest.mark.looptime


class Rounds:
    """Remembers `round <cause>`, with `now` if it is urgent, and `wake hooks`."""

    def __init__(self, seen: list[str]) -> None:
        self.converged, self.has_decided = asyncio.Event(), True
        self._seen = seen

    def wake_hooks(self) -> None:
        self._seen.append("wake hooks")

    def request(self, cause: str, at_once: bool) -> None:
        self._seen.append(f"round {cause}{' now' * at_once}")


class GivenTurns:
    """Remembers `turn <module> <cause>`."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def give(self, states: Iterable[UnitState], cause: str) -> None:
        self._seen += [f"turn {state.name} {cause}" for state in states]


class Runs:
    """Remembers `run <module> <cause>` and `retry <module>`."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def request(self, state: UnitState, cause: str) -> None:
        self._seen.append(f"run {state.name} {cause}")

    def retry_now(self, name: str) -> None:
        self._seen.append(f"retry {name}")


class Edited:
    def __init__(self) -> None:
        self.coming: list[Edit] = []
        self.flags_differ = False

    async def read_ahead(self) -> None:
        pass

    def adopt(self) -> Edit:
        return self.coming.pop(0)

    def has_changed_flags(self) -> bool:
        return self.flags_differ


class Decided:
    """Scripts of modules in `outdated` saw another config; they take a second. Those in `contradicted` contradict."""

    def __init__(self, configuration: Edited, seen: list[str]) -> None:
        self.configuration = configuration
        self.outdated: set[str] = set()
        self.contradicted: set[str] = set()
        self._seen = seen

    def is_outdated(self, state: UnitState) -> bool:
        return state.name in self.outdated

    async def contradicts(self, state: UnitState) -> bool:
        self._seen.append(f"script {state.name}")
        await asyncio.sleep(1)
        return state.name in self.contradicted


class Charts:
    """Modules in `reading` look at capabilities; those in `broken` have a record that cannot be read."""

    def __init__(self, seen: list[str]) -> None:
        self.reading: set[str] = set()
        self.broken: set[str] = set()
        self._seen = seen

    def prewarm(self) -> None:
        self._seen.append("prewarm")

    def needs_repair(self, state: UnitState, finding: ObjectDrift) -> bool:
        return finding.missing

    async def is_broken(self, state: UnitState) -> bool:
        return state.name in self.broken

    def may_depend(self, state: UnitState, before: Capabilities, present: Capabilities) -> bool:
        return state.name in self.reading


class Source:
    """Edits that come `every` so many seconds."""

    def __init__(self, count: int, every: float = 0.0) -> None:
        self._count, self._every = count, every

    async def states(self) -> AsyncIterator[Contents]:
        for _ in range(self._count):
            yield Contents()
            await asyncio.sleep(self._every)


class World:
    """Modules `a`, `b` and `c`, all on and in their turn; `seen` is what they cause."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.states = UnitStates([replace(module(name, 1), script=NOWHERE) for name in "abc"])
        for state in self.states.modules:
            state.decide(Decision(Choice.ON))
            state.request(0.0)
        self.edited = Edited()
        self.rounds, self.decided, self.charts = Rounds(self.seen), Decided(self.edited, self.seen), Charts(self.seen)
        self.requests = UnitRequests(self.states, self.rounds, GivenTurns(self.seen).give, Runs(self.seen))
        self.config = ConfigReactions(self.requests, self.decided, self.charts.prewarm)
        self.cluster = ClusterReactions(self.requests, self.charts)

    async def after(self, seconds: float, *following: Coroutine[Any, Any, None]) -> list[str]:
        """What was caused after so many seconds of following these."""
        tasks = [asyncio.create_task(coroutine) for coroutine in following]
        await asyncio.sleep(seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return self.seen

    async def edits(self, *edits: Edit, every: float = 0.0, seconds: float = 5.0) -> list[str]:
        self.edited.coming = list(edits)
        source = Source(len(edits), every)
        config, following = self.config, self.config.follow_config(source.states())
        return await self.after(seconds, following, config.follow_decisive_edits(), config.follow_scripts())


@pytest.fixture
def world() -> World:
    return World()


async def test_an_edit_of_a_section_gives_its_module_a_turn(world: World) -> None:
    seen = await world.edits(Edit(frozenset({"a", "b", "unknown"})))
    assert seen == ["turn a KubeConfig-Changed-Modules", "turn b KubeConfig-Changed-Modules"]


@pytest.mark.parametrize("edit", [Edit(frozenset({GLOBAL, "a"})), Edit(is_decisive=True)])
async def test_global_values_and_decisive_edits_cause_a_round_at_once(world: World, edit: Edit) -> None:
    assert await world.edits(edit) == ["round KubeConfig-Changed now"]


async def test_hooks_that_wait_for_their_values_are_woken_when_these_are_known(world: World) -> None:
    assert await world.edits(Edit(is_first=True), Edit()) == ["wake hooks"]


async def test_an_edit_that_changes_nothing_causes_nothing(world: World) -> None:
    assert await world.edits(Edit(), Edit()) == []


async def test_the_render_worker_is_started_ahead_for_an_edit_but_not_in_the_start(world: World) -> None:
    await world.edits(Edit(frozenset({"a"})))
    assert "prewarm" not in world.seen
    world.rounds.converged.set()
    await world.edits(Edit(), Edit(frozenset({"a"})))
    assert world.seen.count("prewarm") == 1


async def test_many_decisive_edits_are_gathered(world: World) -> None:
    """Three answers at once, then one each 1.5 seconds, which covers all edits until then."""
    seen = await world.edits(*[Edit(frozenset({GLOBAL}))] * 30, every=0.1, seconds=10.0)
    assert 3 < len(seen) < 10


async def test_a_script_is_asked_before_its_module_runs_and_holds_up_no_other(world: World) -> None:
    world.decided.outdated = {"a"}
    seen = await world.edits(Edit(frozenset({"a", "b"})))
    cause = "KubeConfig-Changed-Modules"
    assert seen == [f"turn b {cause}", "script a", f"turn a {cause}"]


async def test_a_script_that_says_otherwise_causes_a_round_and_no_run(world: World) -> None:
    world.decided.outdated = world.decided.contradicted = {"a"}
    assert await world.edits(Edit(frozenset({"a"}))) == ["script a", "round KubeConfig-Changed now"]


@pytest.mark.parametrize("decided", [True, False])
async def test_flags_of_global_hooks_cause_a_round_once_it_was_decided(world: World, decided: bool) -> None:
    flagged, world.rounds.has_decided, world.edited.flags_differ = Notifier(), decided, True
    following = asyncio.create_task(world.config.follow_flags(flagged))
    await asyncio.sleep(0)
    flagged.notify()
    await asyncio.sleep(0)
    world.edited.flags_differ = False
    flagged.notify()
    await asyncio.sleep(0)
    following.cancel()
    assert world.seen == ["round ReloadAll-After-GlobalHookDynamicUpdate now"] * decided


class Changes:
    """Hooks that have changed values."""

    def __init__(self, *orders: HookRun) -> None:
        self._orders = orders

    async def changes(self) -> AsyncIterator[ValuesChanged]:
        for order in self._orders:
            yield ValuesChanged(order)


def order(module: str, type: BindingType, unlocks: tuple[int, ...] = ()) -> HookRun:
    return HookRun("h", "b", type, "main", (), module=module, unlocks=unlocks)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (order("a", BindingType.SCHEDULE), ["run a Schedule-Change-ModuleValues"]),
        (order("a", BindingType.KUBERNETES), ["run a Kubernetes-Change-ModuleValues"]),
        (order("a", BindingType.MUTATING), ["run a Webhook-Change-ModuleValues"]),
        (order("a", BindingType.BEFORE_HELM), []),
        (order("a", BindingType.ON_STARTUP), []),
        (order("a", BindingType.KUBERNETES, unlocks=(1,)), []),
        (order(GLOBAL, BindingType.SCHEDULE), ["round Schedule-Change-GlobalValues"]),
        (order(GLOBAL, BindingType.BEFORE_ALL), []),
        (order("unknown", BindingType.SCHEDULE), []),
    ],
)
async def test_changed_values_run_the_module_unless_it_runs_anyway(
    world: World, run: HookRun, expected: list[str]
) -> None:
    assert await world.after(1.0, world.config.follow_values(Changes(run).changes())) == expected


async def test_changed_values_of_a_module_with_a_script_ask_it_first(world: World) -> None:
    world.decided.outdated = {"a"}
    changes = Changes(order("a", BindingType.SCHEDULE), order("a", BindingType.BEFORE_HELM))
    seen = await world.after(5.0, world.config.follow_values(changes.changes()), world.config.follow_scripts())
    assert seen == ["script a", "turn a Schedule-Change-ModuleValues"]


async def test_an_outdated_script_is_asked_without_a_run_if_the_module_runs_anyway(world: World) -> None:
    world.decided.outdated = {"a"}
    changes = Changes(order("a", BindingType.BEFORE_HELM)).changes()
    assert await world.after(5.0, world.config.follow_values(changes), world.config.follow_scripts()) == ["script a"]


async def test_a_cause_is_used_for_one_turn(world: World) -> None:
    """Values that change in a later run of the module ask its script again, and cause no other turn."""
    world.decided.outdated = {"a"}
    first, later = (Changes(order("a", type)) for type in (BindingType.SCHEDULE, BindingType.BEFORE_HELM))
    await world.after(5.0, world.config.follow_values(first.changes()), world.config.follow_scripts())
    seen = await world.after(5.0, world.config.follow_values(later.changes()), world.config.follow_scripts())
    assert seen == ["script a", "turn a Schedule-Change-ModuleValues", "script a"]


def finding(name: str, *fields: str) -> ObjectDrift:
    return ObjectDrift(name, "default", "v1", "ConfigMap", "x", fields)


async def test_objects_that_drifted_run_their_module_if_that_repairs_them(world: World) -> None:
    async def findings() -> AsyncIterator[ObjectDrift]:
        for drift in (finding("a"), finding("b", "/data/k"), finding("unknown")):
            yield drift

    assert await world.after(1.0, world.cluster.follow_drift(findings())) == ["run a AbsentHelmResourcesDetected"]
    notices = [notice.message for notice in await world.states.notices.next_batch()]
    assert notices == [
        "default/ConfigMap/x is gone",
        "default/ConfigMap/x was changed: /data/k",
        "default/ConfigMap/x is gone",
    ]


class Records:
    """Other clients have written about `names`; their records cannot be read."""

    def __init__(self, *names: str) -> None:
        self._names = names

    async def watch_changes(self, namespace: str) -> Any:
        for name in self._names:
            yield name

    async def watch_unreadable(self) -> AsyncIterator[tuple[str, str]]:
        for name in self._names:
            yield name, f"{name}: cannot be read"


async def test_records_of_other_clients_run_modules_that_are_on(world: World) -> None:
    world.states.module("b").decide(Decision(Choice.OFF))
    following = world.cluster.follow_records(Records("a", "b", "unknown").watch_changes("default"))
    assert await world.after(1.0, following) == ["run a HelmReleaseUnexpectedStatus"]
    assert [notice.subject for notice in await world.states.notices.next_batch()] == ["a"]


async def test_a_deployed_record_that_cannot_be_read_runs_its_module(world: World) -> None:
    world.charts.broken = {"a"}
    following = world.cluster.follow_unreadable(Records("a", "b").watch_unreadable())
    assert await world.after(1.0, following) == ["run a HelmReleaseUnreadable"]
    assert [notice.subject for notice in await world.states.notices.next_batch()] == ["a", "b"]


class Served:
    """The cluster, which had this version, serves something new, once."""

    def __init__(self, before: str = "v1.35.0") -> None:
        self._before = before

    async def get(self) -> Capabilities:
        return Capabilities("v1.35.0", ("v1", "a/v1/Kept"))

    async def changes(self) -> AsyncIterator[Capabilities]:
        yield Capabilities(self._before, ("v1",))


async def test_what_the_cluster_serves_concerns_those_that_depend_on_it(world: World) -> None:
    """`a` has lost a definition, `b` has failed, `c` reads capabilities."""
    world.states["a"].set_definitions(["a/v1/Kept", "a/v1/Lost"])
    world.states["b"].fail("no")
    world.charts.reading = {"a", "b", "c"}
    seen = await world.after(1.0, world.cluster.follow_capabilities(Served()))
    assert seen == ["run a Definitions-Gone", "retry b", "run c Capabilities-Changed"]
    assert not world.states["a"].has_definitions


@pytest.mark.parametrize(("before", "seen"), [("v1.34.0", ["run dns.default.x Capabilities-Changed"]), ("v1.35.0", [])])
async def test_upgrade_of_the_cluster_concerns_all_instances(world: World, before: str, seen: list[str]) -> None:
    """Their channels may lead to another version, whatever their templates read."""
    state = world.states.add(INSTANCE)
    state.choose(Choice.ON)
    state.request(0.0)
    assert await world.after(1.0, world.cluster.follow_capabilities(Served(before))) == seen


async def test_only_modules_that_lack_a_snapshot_are_tried_again_when_one_may_have_come(world: World) -> None:
    progress = Notifier()
    world.states["a"].fail("waiting for the snapshot of cms", MissingSnapshot("cms"))
    world.states["b"].fail("waiting for the snapshot of cms")
    following = asyncio.create_task(world.cluster.follow_snapshots(progress))
    await asyncio.sleep(0)
    progress.notify()
    await asyncio.sleep(0)
    following.cancel()
    assert world.seen == ["retry a"]


async def test_instance_tells_what_it_repairs_unless_its_runs_are_set_aside(world: World) -> None:
    async def findings() -> AsyncIterator[ObjectDrift]:
        yield finding(INSTANCE.name)
        state.fail("suspended")
        yield finding(INSTANCE.name)

    state = world.states.add(INSTANCE)
    await world.after(1.0, world.cluster.follow_drift(findings()))
    gone = "default/ConfigMap/x is gone"
    assert [(notice.reason, notice.message) for notice in await world.states.notices.next_batch()] == [
        ("Repaired", f"{gone}; it is applied again"),
        ("Drifted", gone),
    ]
