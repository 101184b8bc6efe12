"""What hooks of a live instance are given, and what becomes of the conditions that they report. Level: sandbox."""

import json
from typing import Any

import pytest

from tests.flows.modules.test_addon_instances import ADDON, MANIFEST, SPEC, THINGS, channel, put, reaches, start, status
from tests.flows.modules.world import World

HOOK = """\
#!/bin/sh
if [ "$1" = --config ]; then
  echo '{{"configVersion": "v1", {bindings}}}'
  exit 0
fi
{body}
"""
LOOK = """\
cp "$ADDON_OBJECT_PATH" "{told}/object.json"
cat "$ADDON_PACKAGE_DIR/objects.yaml" > "{told}/package"
"""
REPORT = """\
if grep -q '"text":"bad"' "$ADDON_OBJECT_PATH"; then
  echo '{"type": "ConflictsWith", "status": "True", "message": "something else runs", "healthy": false}' \
    >> "$CONDITIONS_PATH"
fi
"""
BROKEN = 'echo \'{"type": "Ready", "status": "True"}\' >> "$CONDITIONS_PATH"\n'
MAPS = (
    '"kubernetes": [{"name": "maps", "kind": "ConfigMap", "nameSelector": {"matchNames": ["trouble"]}, '
    '"executeHookOnSynchronization": false}]'
)
WATCH = """\
if grep -q '"watchEvent":"Added"' "$BINDING_CONTEXT_PATH"; then
  echo '{"type": "Troubled", "status": "True", "reason": "Map", "healthy": false}' >> "$CONDITIONS_PATH"
fi
"""


@pytest.fixture
def things(world: World) -> World:
    """An addon whose instances have hooks."""
    for path, text in (("addon.yaml", ADDON), ("openapi/spec.yaml", SPEC), ("channels/stable", channel("1.0.0"))):
        world.write(f"addons/thing/{path}", text)
    package = "addons/thing/channels/packages/thing/1.0.0"
    world.write(f"{package}/package.yaml", "description: a ConfigMap\n")
    world.write(f"{package}/objects.yaml", MANIFEST.format(version="1.0.0"))
    world.operator.flags += (f"--addons-dir={world.directory / 'addons'}",)
    return world


def write_hook(world: World, name: str, bindings: str, body: str) -> None:
    world.write(f"addons/thing/hooks/{name}", HOOK.format(bindings=bindings, body=body))


def condition(shown: Any, kind: str) -> Any:
    return next((entry for entry in shown.get("conditions", ()) if entry["type"] == kind), None)


async def generation_seen(world: World) -> int:
    return int((await status(world))["observedGeneration"])


async def test_hook_is_given_its_instance_and_its_package(things: World) -> None:
    told = things.directory / "told"
    write_hook(things, "look", '"beforeHelm": 1', LOOK.format(told=told))
    await start(things)
    await put(things, text="seen")
    await things.becomes("of-thing", text="seen", version="1.0.0")
    given = json.loads((told / "object.json").read_text())
    assert (given["kind"], given["metadata"]["name"], given["spec"]["text"]) == ("Thing", "x", "seen")
    assert (told / "package").read_text() == MANIFEST.format(version="1.0.0")


async def test_condition_stands_in_the_status_until_the_hook_runs_again(things: World) -> None:
    write_hook(things, "report", '"beforeHelm": 1', REPORT)
    await start(things)
    await put(things, text="bad")
    shown = await reaches(things, "InProgress", "HookReport")
    reported = condition(shown, "ConflictsWith")
    assert (reported["status"], reported["reason"]) == ("True", "ConflictsWith")
    assert shown["errors"] == ["ConflictsWith: something else runs"]
    await put(things, text="good")
    shown = await reaches(things, "Current", "Current")
    assert condition(shown, "ConflictsWith") is None


async def test_hook_that_runs_between_runs_of_its_instance_reports_too(things: World) -> None:
    write_hook(things, "watch", MAPS, WATCH)
    await start(things)
    await put(things)
    await reaches(things, "Current", "Current")
    await things.create("trouble")
    shown = await reaches(things, "InProgress", "HookReport")
    assert condition(shown, "Troubled")["reason"] == "Map"
    await things.stop()
    await start(things)  # the hook waits for the next map, and what it has reported still stands
    await put(things, text="later")
    await things.until(lambda: generation_seen(things), 2, "the generation of the status")
    await reaches(things, "InProgress", "HookReport")
    await things.delete("trouble")
    await reaches(things, "Current", "Current")


async def test_conditions_go_with_their_instance(things: World) -> None:
    write_hook(things, "report", '"beforeHelm": 1', REPORT)
    await start(things)
    await put(things, text="bad")
    await reaches(things, "InProgress", "HookReport")
    await things.ask("DELETE", f"{THINGS}/x", None)
    await things.until(lambda: things.ask("GET", f"{THINGS}/x", None), None, "the object")
    await put(things, text="good")
    shown = await reaches(things, "Current", "Current")
    assert condition(shown, "ConflictsWith") is None


async def test_condition_that_only_hookrunner_may_report_fails_the_run(things: World) -> None:
    write_hook(things, "report", '"beforeHelm": 1', BROKEN)
    await start(things)
    await put(things)
    shown = await reaches(things, "RenderFailed", "HookFailed")
    assert "CONDITIONS_PATH" in shown["errors"][0]
    assert await things.maps() == {}
    assert (await status(things))["healthy"] is False
