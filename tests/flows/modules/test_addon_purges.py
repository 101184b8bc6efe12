"""What is removed at a start because it belongs to nothing any more: releases of modules, never those of addons.

Level: sandbox."""

from collections.abc import Callable

import pytest

from tests.flows.modules.hooks import configmap
from tests.flows.modules.test_addon_instances import put, reaches, start, things
from tests.flows.modules.test_module_status import conditions
from tests.flows.modules.world import World
from tests.flows.waiting import until

__all__ = ["things"]

Change = Callable[[World], None]
INSTALLED = {"text": "hi", "version": "1.0.0"}


@pytest.fixture
async def installed(things: World) -> World:
    """Stopped, with releases of an instance and of the module `kept`; the module `gone` has no directory any more."""
    for name in ("010-kept", "020-gone"):
        things.module(name, {"templates/cm.yaml": configmap(name[4:])})
    await things.configure(keptEnabled="true", goneEnabled="true")
    await start(things)
    await put(things)
    await reaches(things, "Current", "Current")
    await things.stop()
    things.without("modules/020-gone")
    things.writes()
    return things


def leave_out_the_flag(world: World) -> None:
    world.operator.flags = world.operator.flags[:-1]


def empty_the_directory(world: World) -> None:
    world.without("addons/thing")


def offer_others(world: World) -> None:
    world.write("addons/other/addon.yaml", "object: {kind: Other}\n")
    world.write("addons/other/openapi/spec.yaml", "type: object\n")
    world.operator.flags += ("--addons=other",)


def spoil_the_addon(world: World) -> None:
    world.write("addons/thing/addon.yaml", "object: []\n")


@pytest.mark.parametrize("change", [leave_out_the_flag, empty_the_directory, offer_others, spoil_the_addon])
async def test_releases_of_addons_that_are_not_offered_stay(installed: World, change: Change) -> None:
    """While a release of a module is purged."""
    change(installed)
    await installed.start()
    await installed.until(installed.releases, ["kept.v1 deployed", "thing.default.x.v1 deployed"], "the purge")
    await installed.stop()
    deleted = [line for line in installed.writes() if line.startswith("DELETE")]
    assert [line for line in deleted if "gone" not in line] == []
    assert await installed.map("of-thing") == INSTALLED


async def test_releases_of_modules_stay_where_only_addons_are_offered(installed: World) -> None:
    """And those of addons are left as they are."""
    installed.without("modules/010-kept")
    await installed.start()
    await put(installed, "y", version="9.9.9")
    await reaches(installed, "PackageError", "NotFound", "y")
    await until(lambda: conditions(installed)["purge"] != "not yet", "the purge, which follows the start")
    await installed.stop()
    assert [line for line in installed.writes() if line.startswith("DELETE")] == []
    assert await installed.releases() == ["gone.v1 deployed", "kept.v1 deployed", "thing.default.x.v1 deployed"]
