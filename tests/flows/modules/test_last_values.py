"""A module keeps what it last ran with until its deletion has ended: its delete hooks see the user's values, whatever
the edit that turns it off takes away.

Level: sandbox."""

import base64
from typing import Any

import pytest

from tests.flows.modules.hooks import at, configmap, hook, patch, until_told
from tests.flows.modules.world import World

SCHEMA = "type: object\nproperties:\n  size: {type: integer}\n"
CLEANS: dict[str, Any] = {"beforeDeleteHelm": 1, "afterDeleteHelm": 1}


@pytest.fixture
async def prepared(world: World) -> World:
    """With a module `a` that is on, has values of a user, and cleans up when it goes."""
    world.module("010-a", {"openapi/config-values.yaml": SCHEMA, "templates/cm.yaml": configmap("a")})
    world.module("010-a", {"hooks/h.sh": hook(**CLEANS)})
    await world.configure(aEnabled="true", a="size: 2", GLOBAL="domain: here")
    return world


async def cleaned(world: World) -> list[tuple[Any, Any]]:
    """The values and the config that its delete hooks have seen, `global` first, once it is gone."""
    await world.ran("a/h.sh afterDeleteHelm")
    await world.until(world.releases, [], "releases")
    runs = [run for run in world.told() if "DeleteHelm" in run["contexts"][0]["binding"]]
    assert [run["contexts"][0]["binding"] for run in runs] == [*CLEANS]
    shared = [{k: v for k, v in run["values"]["global"].items() if k != "enabledModules"} for run in runs]
    return [(seen, run["values"]["a"]) for seen, run in zip(shared, runs, strict=True)]


LAST = [({"domain": "here"}, {"size": 2})] * 2


async def test_delete_hooks_see_values_removed_together_with_the_flag(prepared: World) -> None:
    await prepared.start()
    await prepared.configure(aEnabled="false", a=None, GLOBAL=None)
    assert await cleaned(prepared) == LAST
    assert prepared.told()[-1]["config"] == {"a": {"size": 2}, "global": {"domain": "here"}}
    prepared.forget()
    await prepared.configure(aEnabled="true", a="size: 3")
    await prepared.module_is("a", ready=True)
    await prepared.configure(aEnabled=None)
    assert await cleaned(prepared) == [({}, {"size": 3})] * 2


async def test_delete_hooks_see_values_of_a_secret_removed_with_the_module(prepared: World) -> None:
    prepared.operator.flags = (*prepared.operator.flags, "--config-secret=private")
    texts = {key: base64.b64encode(text.encode()).decode() for key, text in (("a", "size: 7"), ("aEnabled", "true"))}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "private"}, "data": texts}
    await prepared.ask("POST", prepared.path(resource="secrets") + "?story=yes", secret)
    await prepared.configure(aEnabled=None)
    await prepared.start()
    await prepared.ask(
        "PATCH", prepared.path("private", "secrets") + "?story=yes", {"data": {"a": None, "aEnabled": None}}
    )
    assert await cleaned(prepared) == [({"domain": "here"}, {"size": 7})] * 2


async def test_after_a_restart_delete_hooks_see_the_values_of_the_release(prepared: World) -> None:
    """Turned off while the program was down, and when the deletion is broken off."""
    waits = at("beforeDeleteHelm", until_told("go"))
    prepared.module("010-a", {"hooks/h.sh": hook(waits + patch("/a/patched", "1"), beforeHelm=1, **CLEANS)})
    await prepared.start()
    await prepared.stop()
    await prepared.configure(aEnabled=None, a=None, GLOBAL=None)
    prepared.operator.flags = (*prepared.operator.flags, "--shutdown-grace=0s")
    await prepared.start(ready=False)
    await prepared.ran("a/h.sh beforeDeleteHelm")
    await prepared.operator.stop()
    prepared.forget()
    prepared.operator.tell("go")
    await prepared.start()
    assert await cleaned(prepared) == [({"domain": "here"}, {"size": 2, "patched": 1})] * 2
