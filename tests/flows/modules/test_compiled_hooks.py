"""Modules with hooks compiled into addon-operator run without them and name them, or are parked. Level: sandbox."""

import pytest

from tests.flows.modules.hooks import configmap, hook
from tests.flows.modules.test_module_status import conditions, told
from tests.flows.modules.world import World
from tests.hooks.test_compiled import BATCH, HOOK

LACKS = "hooks are compiled into addon-operator and never run here: hooks/discover.go; write them as executables"


@pytest.fixture
async def prepared(world: World) -> World:
    """With a module `a` of which one hook is a Go file, and one a script."""
    world.module("010-a", {"templates/cm.yaml": configmap("a"), "values.yaml": "aEnabled: true\n"})
    world.module("010-a", {"hooks/discover.go": HOOK, "hooks/discover_test.go": HOOK, "hooks/h.sh": hook(onStartup=1)})
    world.module("020-b", {"templates/cm.yaml": configmap("b"), "values.yaml": "bEnabled: true\n"})
    await world.configure()
    return world


async def test_a_module_runs_without_its_compiled_hooks_and_names_them(prepared: World) -> None:
    await prepared.start()
    await prepared.module_is("a", ready=True, reason=LACKS, lacks=["hooks/discover.go"])
    await prepared.module_is("b", ready=True, lacks=[])
    assert f"a: {LACKS}" in conditions(prepared)["modules"]
    await told(prepared, "HooksMissing", f"a: {LACKS}")
    assert prepared.history("a/h.sh")


async def test_on_compiled_hooks_park_parks_the_module(prepared: World) -> None:
    prepared.operator.flags = (*prepared.operator.flags, "--on-compiled-hooks=park")
    await prepared.start()
    await prepared.module_is("a", ready=False, reason=LACKS)
    await prepared.module_is("a", ready=False, reason="to run it without them: --on-compiled-hooks warn")
    await prepared.module_is("b", ready=True)
    assert prepared.history() == []
    assert await prepared.map("a") == {}
    assert list(await prepared.maps()) == ["b"]


@pytest.mark.parametrize("flag", ["warn", "park"])
async def test_a_compiled_global_hook_parks_all_modules(world: World, flag: str) -> None:
    world.module("020-b", {"templates/cm.yaml": configmap("b"), "values.yaml": "bEnabled: true\n"})
    world.write("global-hooks/hooks/discovery.go", HOOK)
    world.operator.flags = (*world.operator.flags, f"--on-compiled-hooks={flag}")
    await world.configure()
    await world.start()
    await told(world, "HooksMissing", "global hooks are compiled into addon-operator and never run here")
    assert "global hooks are compiled into addon-operator" in conditions(world)["modules"]
    await world.module_is("b", ready=flag == "warn")


async def test_a_parked_module_can_be_turned_off(prepared: World) -> None:
    await prepared.start()
    assert list(await prepared.maps()) == ["a", "b"]
    prepared.module("010-a", {"hooks/more.go": BATCH})
    prepared.operator.flags = (*prepared.operator.flags, "--on-compiled-hooks=park")
    await prepared.again()
    await prepared.module_is("a", ready=False, reason="hooks/more.go")
    assert list(await prepared.maps()) == ["a", "b"]
    await prepared.configure(aEnabled="false")

    async def names() -> list[str]:
        return list(await prepared.maps())

    await prepared.until(names, ["b"], "ConfigMaps")
