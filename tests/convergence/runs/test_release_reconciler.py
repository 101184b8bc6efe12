"""From values to a release: when nothing is done, when something is rendered, and when it is rolled out.

Level: pure."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.model.modules import Choice, Decision
from hookrunner.model.releases import (
    Head,
    KeptObject,
    ObjectDrift,
    RenderedChart,
)
from tests.convergence.planners import INSTANCE, OBJECT, FakeBuild, FakePlanner, Written
from tests.convergence.runs.release_world import ADOPTION, CHANGED, GONE, RESTORED, World
from tests.convergence.site import NO_SCHEMAS

pytestmark = pytest.mark.looptime


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
    world.records.notes.kept = [KeptObject("default/ConfigMap/a", "it was taken over")]
    assert await world.reconcile(state) == (0, 0)
    assert [kept.object for kept in state.release.kept] == ["default/ConfigMap/a"]


async def test_fields_that_the_server_ignores_are_known_until_their_objects_are_written_again(world: World) -> None:
    state = world.module()
    world.records.notes.faults = {"default/ConfigMap/a": ".datta", "ClusterRole/left": ".rule"}
    world.renders.objects = ({"kind": "ConfigMap", "metadata": {"name": "a"}},)
    await world.reconcile(state)
    assert state.release.unknown_fields == ("default/ConfigMap/a: .datta",)
    await world.reconcile(state)
    assert state.release.unknown_fields == ("default/ConfigMap/a: .datta",)
    world.records.notes.faults = {"default/ConfigMap/a": ""}
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
    before = await world.served.get()
    world.served.serve("v1", "apps/v1")
    assert world.releases.may_depend(state, before, await world.served.get())
    assert await world.reconcile(state) == (1, 1)


async def test_a_template_that_asks_for_a_kind_is_rendered_when_it_comes(world: World) -> None:
    """And not when the cluster serves something else."""
    state = world.module(template='{{ .Capabilities.APIVersions.Has "a/v1/B" }}')
    await world.reconcile(state)
    before = await world.served.get()
    world.served.serve("v1", "apps/v1")
    assert not world.releases.may_depend(state, before, await world.served.get())
    assert await world.reconcile(state) == (0, 0)
    world.served.serve("v1", "a/v1/B")
    assert world.releases.may_depend(state, before, await world.served.get())
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


async def test_delete_hooks_run_only_where_modules_are(world: World) -> None:
    """Elsewhere anyone who may create Secrets may have written a record that names this hookrunner."""
    for name, namespace in (("a", "default"), ("b", "elsewhere"), ("c", "third")):
        world.records.latest[name] = Head(name, namespace, 1, "deployed", owned=True)
    for name, namespace in (("a", ""), ("b", "elsewhere"), ("c", "moved")):
        await world.releases.uninstall(world.module(name, namespace=namespace))
    assert world.records.uninstalled == ["a with its hooks", "b with its hooks", "c"]


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


async def test_objects_that_a_run_writes_are_given_to_what_watches_their_health(world: World) -> None:
    """Those of a rollback too; a run that finds everything in line has none."""
    world.store.add(INSTANCE.section, INSTANCE.key, NO_SCHEMAS)
    health = Written()
    planner = FakePlanner(target=1, health=health)
    state = world.instance(planner)
    await world.run(state)
    await world.run(state)
    assert health.tracked == [(1, (OBJECT,), True)]
    await world.releases.rollback(state, 1)
    planner.late = 9
    await world.run(state)
    assert health.tracked[1:] == [(9, RESTORED, True), (10, RESTORED, True)]


async def test_objects_of_a_failed_rollout_are_not_watched_but_those_that_are_restored(world: World) -> None:
    world.store.add(INSTANCE.section, INSTANCE.key, NO_SCHEMAS)
    health = Written()
    planner = FakePlanner(target=1, health=health)
    state = world.instance(planner)
    await world.run(state)
    world.records.error, planner.build.digest = ReleaseFailed("it is refused"), "2"
    await world.run(state)
    assert health.tracked == [(1, (OBJECT,), True), (2, RESTORED, True)]
