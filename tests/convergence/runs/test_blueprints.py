"""A unit that brings its blueprint: its release is made from that."""

from pathlib import Path

import pytest

from hookrunner.convergence.state import ModuleState
from tests.convergence.runs.test_release_reconciler import World
from tests.convergence.site import NO_SCHEMAS
from tests.convergence.units import INSTANCE, OBJECT, FakeBlueprint

pytestmark = pytest.mark.looptime


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.store.add(INSTANCE.name, INSTANCE.key, NO_SCHEMAS)
    return world


async def test_release_is_made_from_the_blueprint_that_the_unit_brings(world: World) -> None:
    blueprint = FakeBlueprint()
    state = ModuleState(INSTANCE, blueprint=blueprint)
    world.store.describe(INSTANCE.name, {"n": 1}, None)
    await world.releases.reconcile(state)
    (desired,) = world.records.wanted
    assert (desired.name, desired.digest, desired.rendered.objects) == ("dns.default.x", "1", (OBJECT,))
    assert (desired.values, desired.options.timeout) == ({"global": {}, "dns": {"n": 1}}, 5.0)
    assert world.renders.orders == [], "the chart of a module is not looked at"


async def test_digest_of_the_blueprint_says_whether_there_is_anything_to_do(world: World) -> None:
    blueprint = FakeBlueprint()
    state = ModuleState(INSTANCE, blueprint=blueprint)
    for digest, rollouts in (("1", 1), ("1", 1), ("2", 2)):
        blueprint.digest = digest
        await world.releases.reconcile(state)
        assert len(world.records.wanted) == blueprint.rendered == rollouts
