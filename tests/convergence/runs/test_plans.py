"""A unit that brings its planner: its release is made from that one's plans. Level: pure."""

from contextlib import suppress
from pathlib import Path

import pytest

from hookrunner.errors import ReleaseFailed, RunBlocked
from hookrunner.model.releases import Head
from kubetypes.json_values import JSON
from tests.convergence.planners import INSTANCE, OBJECT, FakeBuild, FakePlanner
from tests.convergence.runs.release_world import CONFIG, World
from tests.convergence.site import NO_SCHEMAS

pytestmark = pytest.mark.looptime


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.store.add(INSTANCE.name, INSTANCE.key, NO_SCHEMAS)
    return world


async def test_release_is_made_from_the_plan_of_the_unit(world: World) -> None:
    planner = FakePlanner()
    state = world.instance(planner)
    planner.build.values = {"global": {}, "dns": {"n": 1}}
    await world.run(state)
    (desired,) = world.records.wanted
    assert (desired.name, desired.digest, desired.rendered.objects) == ("dns.default.x", "1", (OBJECT,))
    assert (desired.values, desired.options.timeout) == ({"global": {}, "dns": {"n": 1}}, 5.0)
    assert world.renders.orders == [], "the chart of a module is not looked at"


async def test_digest_of_the_plan_says_whether_there_is_anything_to_do(world: World) -> None:
    planner = FakePlanner()
    state = world.instance(planner)
    for digest, rollouts in (("1", 1), ("1", 1), ("2", 2)):
        planner.build.digest = digest
        await world.run(state)
        assert len(world.records.wanted) == planner.build.rendered == rollouts


async def test_records_of_an_instance_name_its_unit_and_version(world: World) -> None:
    await world.run(world.instance(FakePlanner(version="1.14.2")))
    await world.run(world.module())
    assert [(desired.addon, desired.version) for desired in world.records.wanted] == [
        (INSTANCE.name, "1.14.2"),
        ("", ""),
    ]


async def test_installed_addons_say_nothing_about_installed_modules(world: World) -> None:
    """That a ConfigMap is missing counts as a deletion only if modules were installed."""
    world.records.latest["dns"] = Head("dns", "default", 1, "deployed", owned=True, addon="dns")
    assert not await world.releases.has_releases()
    await world.reconcile(world.module())
    assert await world.releases.has_releases()


async def test_unit_uninstalls_its_release_in_its_own_way(world: World) -> None:
    planner = FakePlanner()
    state = world.instance(planner)
    await world.releases.uninstall(state)
    assert planner.uninstalled == [], "nothing is installed"
    await world.run(state)
    await world.releases.uninstall(state)
    assert (planner.uninstalled, [*world.records.latest]) == ([INSTANCE.name], [INSTANCE.name])


INVALID = ReleaseFailed("no", invalid=["default/ConfigMap/a"])
PATCHED = {("", "ConfigMap", "default", "a"): CONFIG}


@pytest.mark.parametrize("patched", [PATCHED, {}])
async def test_refused_content_of_a_patched_object_blocks_the_unit_and_restores_nothing(
    world: World, patched: dict[tuple[str, ...], JSON]
) -> None:
    """Its author corrects the patch; all else is tried again, or rolled back."""
    planner = FakePlanner(FakeBuild(unpatched=patched), target=1)
    state = world.instance(planner)
    await world.run(state)
    planner.build.digest, world.records.error = "2", INVALID
    if patched:
        with pytest.raises(RunBlocked, match="no") as blocked:
            await world.run(state)
        assert blocked.value.__cause__ is INVALID
        assert world.records.restored == []
    else:
        await world.run(state)
        assert (world.records.restored, state.release.undone) == ([1], "no")
    assert [*world.records.wanted[-1].options.unpatched] == [*patched]


async def test_reason_why_a_revision_was_restored_is_kept_while_it_is_the_head(world: World) -> None:
    planner = FakePlanner(target=7, late=1)
    state = world.instance(planner)
    await world.run(state)
    assert (state.release.undone, world.records.restored) == ("", [])
    await world.run(state)
    await world.run(state)
    assert (state.release.undone, world.records.restored) == ("it is late", [7])
    planner.build.digest = "2"
    await world.run(state)
    assert state.release.undone == ""


async def test_unmatched_patches_are_those_of_the_last_attempt_that_rendered_or_of_what_is_installed(
    world: World,
) -> None:
    """Going back to the inputs that are installed renders nothing."""
    planner = FakePlanner(FakeBuild(unmatched=("no such object",)))
    state = world.instance(planner)

    async def attempt() -> tuple[str, ...]:
        state.begin(0.0, "")
        with suppress(ReleaseFailed):
            await world.run(state)
        return state.release.unmatched

    assert await attempt() == ("no such object",)
    planner.build.digest, planner.build.unmatched, world.records.fails = "2", ("another",), "no"
    assert await attempt() == ("another",)
    planner.build.digest = "1"
    assert await attempt() == ("no such object",)
