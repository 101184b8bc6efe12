"""What commands show of the instances of a running hookrunner, and a rollback on request, which is pinned until its
user asks for something else.

Level: sandbox."""

import orjson

from kubetypes.json_values import JSON
from tests.flows.modules.test_addon_instances import THINGS, put, reaches, start, status, things
from tests.flows.modules.world import World

__all__ = ["things"]

BAD = ("y", "", "PackageError", False)


async def rows(world: World) -> list[JSON]:
    listed = orjson.loads(await world.debug("/addon/list.json"))["instances"]
    return [(row["name"], row["version"], row["phase"], row["pinned"]) for row in listed]


async def installed(world: World) -> tuple[str, int]:
    shown = await status(world)
    return shown["version"], shown["revision"]


async def test_instance_is_shown_and_rolled_back_on_request(things: World) -> None:
    await start(things)
    await put(things, text="a")
    await put(things, "y", version="9.9.9")
    await reaches(things, "PackageError", "NotFound", "y")
    await reaches(things, "Current", "Current")
    assert await rows(things) == [("x", "1.0.0", "Current", False), BAD]
    values = orjson.loads(await things.debug("/addon/thing/x/values.json?namespace=default"))
    assert (values["text"], values["addon"]["version"]) == ("a", "1.0.0")
    explained = orjson.loads(await things.debug("/addon/thing/x/values.json?explain=true"))
    assert {"path": "/thing/text", "value": "a", "layer": "spec"} in explained
    assert orjson.loads(await things.debug("/addon/thing/x/config.json")) == {"text": "a"}
    assert await things.debug("/addon/thing/x/render?diff=true") == "No diff found\n"
    assert "text: a" in await things.debug("/addon/thing/x/render")
    offer = orjson.loads(await things.debug("/addon/thing/versions.json"))
    assert (offer["channels"], len(offer["versions"])) == ({"stable": "1.0.0"}, 2)

    await put(things, version="2.0.0")
    await things.until(lambda: rows(things), [("x", "2.0.0", "Current", False), BAD], "the upgrade")
    await things.debug("/addon/thing/x/rollback", {})
    await things.becomes("of-thing", text="a", version="1.0.0")
    await things.until(lambda: rows(things), [("x", "1.0.0", "Current", True), BAD], "the rollback")
    await things.until(lambda: installed(things), ("1.0.0", 3), "the status")
    await things.ask("PATCH", f"{THINGS}/x", {"metadata": {"annotations": {"hookrunner.io/reconcile": "now"}}})
    await things.becomes("of-thing", text="a", version="2.0.0")
