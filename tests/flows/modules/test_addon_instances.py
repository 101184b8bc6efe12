"""The life of an instance, from the object to what is installed and back: installed, changed, upgraded, left alone by a
restart, blocked, deleted.

Level: sandbox."""

import json
from typing import Any

import pytest

from kubetypes.json_values import JSON
from tests.fakes.objects import OPEN, definition
from tests.flows.modules.test_module_status import conditions
from tests.flows.modules.world import World
from tests.flows.waiting import until

THINGS = "/apis/addons.x-k8s.io/v1alpha1/namespaces/default/things"
ADDON = """\
object: {kind: Thing}
instances: many
text: {"{{ .Text }}": text}
"""
SPEC = "type: object\nproperties: {text: {type: string, default: hi}}\n"
MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: of-thing}}
data: {{text: "{{{{ .Text }}}}", version: "{version}"}}
"""


@pytest.fixture
def things(world: World) -> World:
    """An addon with two versions; the channel leads to the first."""
    for path, text in (("addon.yaml", ADDON), ("openapi/spec.yaml", SPEC), ("channels/stable", channel("1.0.0"))):
        world.write(f"addons/thing/{path}", text)
    for version in ("1.0.0", "2.0.0"):
        package = f"addons/thing/channels/packages/thing/{version}"
        world.write(f"{package}/package.yaml", "description: a ConfigMap\n")
        world.write(f"{package}/objects.yaml", MANIFEST.format(version=version))
    world.operator.flags += (f"--addons-dir={world.directory / 'addons'}",)
    return world


def channel(version: str) -> str:
    return f"manifests:\n- version: {version}\n"


async def put(world: World, name: str = "x", **spec: JSON) -> None:
    """Create an object or change its spec."""
    if await world.ask("GET", f"{THINGS}/{name}", None):
        await world.ask("PATCH", f"{THINGS}/{name}", {"spec": spec})
        return
    kind = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "Thing"}
    await world.ask("POST", THINGS, kind | {"metadata": {"name": name}, "spec": spec})


async def status(world: World, name: str = "x") -> Any:
    return ((await world.ask("GET", f"{THINGS}/{name}", None)) or {}).get("status") or {}


async def reaches(world: World, phase: str, reason: str, name: str = "x") -> Any:
    """Wait for a phase; the status then, which may be another one already when it is asked for again."""
    shown: Any = {}

    async def present() -> tuple[str, str]:
        nonlocal shown
        shown = await status(world, name)
        return phase_and_reason(shown)

    await world.until(present, (phase, reason), f"status of {name}")
    return shown


def phase_and_reason(shown: Any) -> tuple[str, str]:
    """What a status says of itself."""
    ready = [entry for entry in shown.get("conditions", ()) if entry["type"] == "Ready"]
    return shown.get("phase", ""), ready[0]["reason"] if ready else ""


async def served(world: World) -> bool:
    return await world.ask("GET", THINGS, None) is not None


async def start(world: World) -> None:
    await world.start()
    await world.until(lambda: served(world), True, "the kind")


async def last_release(world: World) -> str:
    return (await world.releases())[-1]


async def test_instance_is_installed_changed_upgraded_and_deleted(things: World) -> None:
    await start(things)
    await put(things)
    await things.becomes("of-thing", text="hi", version="1.0.0")
    shown = await reaches(things, "Current", "Current")
    assert (shown["version"], shown["channel"], shown["release"]) == ("1.0.0", "stable", "thing.default.x")
    assert (shown["healthy"], shown["objects"]["ready"], shown["lastHealthy"]["revision"]) == (True, "1/1", 1)
    conditions = json.loads(things.operator.get("/readyz?output=json")[1])["conditions"]
    assert [condition["ready"] for condition in conditions if condition["name"] == "addons"] == [True]
    await put(things, text="changed")
    await things.becomes("of-thing", text="changed", version="1.0.0")
    await put(things, version="2.0.0")
    await things.becomes("of-thing", text="changed", version="2.0.0")
    await things.until(lambda: last_release(things), "thing.default.x.v3 deployed", "the release")
    await things.ask("DELETE", f"{THINGS}/x", None)
    await things.until(things.maps, {}, "what is left")
    await things.until(lambda: things.ask("GET", f"{THINGS}/x", None), None, "the object")
    assert await things.releases() == []


async def test_restart_writes_nothing_and_keeps_the_status(things: World) -> None:
    await start(things)
    await put(things, text="a")
    before = await reaches(things, "Current", "Current")
    await things.becomes("of-thing", text="a", version="1.0.0")
    await things.stop()
    things.writes()
    await start(things)
    await put(things, "y", version="9.9.9")  # what comes after it is done
    await reaches(things, "PackageError", "NotFound", "y")
    assert await status(things) == before
    assert [line for line in things.writes() if "things/x" in line or "of-thing" in line or "secrets" in line] == []


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def foreign_definition(kind: str, column: str) -> Any:
    """A kind that is defined without hookrunner, by its own column."""
    schema = {"type": "object", "properties": {"spec": OPEN, "status": OPEN}}
    found = definition("addons.x-k8s.io", kind, "v1alpha1", schema=schema)
    found["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved"}
    columns = [{"name": column, "type": "string", "jsonPath": ".spec.text"}]
    found["spec"]["versions"][0] |= {"subresources": {"status": {}}, "additionalPrinterColumns": columns}
    return found


async def columns(world: World, plural: str) -> list[str]:
    """The columns of a kind, none while it is not defined."""
    found = await world.ask("GET", f"{DEFINITIONS}/{plural}.addons.x-k8s.io", None)
    return [column["name"] for column in found["spec"]["versions"][0]["additionalPrinterColumns"]] if found else []


async def test_kind_may_be_defined_by_a_file_or_by_someone_else(things: World) -> None:
    """It is then taken as it is, and one that is not there yet is waited for."""
    things.write("addons/thing/addon.yaml", ADDON.replace("Thing", "Thing, crd: external"))
    things.write("addons/widget/addon.yaml", "object: {kind: Widget, crd: file}\ninstances: many\n")
    things.write("addons/widget/crds/widgets.yaml", json.dumps(foreign_definition("Widget", "Own")))
    await things.start()
    await things.until(lambda: columns(things, "widgets"), ["Own"], "the definition in the file")
    assert await columns(things, "things") == []
    await things.ask("POST", DEFINITIONS, foreign_definition("Thing", "Foreign"))
    await things.until(lambda: served(things), True, "the kind")
    await put(things, text="a")
    await things.becomes("of-thing", text="a", version="1.0.0")
    await reaches(things, "Current", "Current")
    assert await columns(things, "things") == ["Foreign"]


PATCH = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-thing"}, "data": {"text": "patched"}}


async def test_unmatched_patch_may_be_only_reported(things: World) -> None:
    things.write(
        "addons/thing/addon.yaml", ADDON + "unmatchedPatches: warn\npatches: [{kind: ConfigMap, paths: [data]}]\n"
    )
    await start(things)
    await put(things, patches=[PATCH, PATCH | {"metadata": {"name": "other"}}])
    await things.becomes("of-thing", text="patched", version="1.0.0")
    shown = await reaches(things, "Current", "Current")
    (condition,) = [entry for entry in shown["conditions"] if entry["type"] == "PatchesApplied"]
    assert (condition["status"], condition["reason"]) == ("False", "NoMatch")
    await things.again()  # which renders nothing
    await put(things, "y", version="9.9.9")
    await reaches(things, "PackageError", "NotFound", "y")
    assert await status(things) == shown


async def test_object_that_belongs_to_another_instance_is_not_taken(things: World) -> None:
    await start(things)
    await put(things)
    await things.becomes("of-thing", text="hi", version="1.0.0")
    await put(things, "y", text="mine")
    shown = await reaches(things, "Conflict", "Owned", "y")
    assert "Thing default/x, which exists" in shown["errors"][0]
    await things.ask("DELETE", f"{THINGS}/x", None)
    await things.becomes("of-thing", text="mine", version="1.0.0")


async def test_instance_that_vanished_while_no_process_ran_is_purged(things: World) -> None:
    await start(things)
    await put(things)
    await things.becomes("of-thing", text="hi", version="1.0.0")
    await reaches(things, "Current", "Current")
    await things.stop()
    await things.ask("PATCH", f"{THINGS}/x", {"metadata": {"finalizers": None}})
    await things.ask("DELETE", f"{THINGS}/x", None)
    await start(things)
    await things.until(things.releases, [], "releases")
    assert await things.maps() == {}


MAP = "/api/v1/namespaces/default/configmaps/of-thing"


async def test_change_by_hand_is_undone_unless_the_object_is_ignored(things: World) -> None:
    await start(things)
    await put(things)
    await things.becomes("of-thing", text="hi", version="1.0.0")
    await reaches(things, "Current", "Current")
    await things.ask("PATCH", MAP, {"data": {"text": "edited"}, "metadata": {"labels": {"hookrunner.io/addon": None}}})
    await things.becomes("of-thing", text="hi", version="1.0.0")
    marks = (await things.ask("GET", MAP, None))["metadata"]
    assert (marks["labels"]["hookrunner.io/addon"], len(marks["ownerReferences"])) == ("thing.default.x", 1)
    await things.ask(
        "PATCH", MAP, {"data": {"text": "mine"}, "metadata": {"annotations": {"addons.k8s.io/ignore": ""}}}
    )
    await put(things, "y", version="9.9.9")
    await reaches(things, "PackageError", "NotFound", "y")
    assert await things.map("of-thing") == {"text": "mine", "version": "1.0.0"}


async def test_unmanaged_instance_keeps_its_objects_and_is_left_alone(things: World) -> None:
    await start(things)
    await put(things)
    await things.becomes("of-thing", text="hi", version="1.0.0")
    await reaches(things, "Current", "Current")
    await things.ask("PATCH", f"{THINGS}/x", {"metadata": {"annotations": {"hookrunner.io/unmanaged": "true"}}})
    await put(things, text="changed")
    await put(things, "y", version="9.9.9")
    await reaches(things, "PackageError", "NotFound", "y")
    assert await things.map("of-thing") == {"text": "hi", "version": "1.0.0"}


async def test_start_without_addons_deletes_nothing_of_them(things: World) -> None:
    await start(things)
    await put(things)
    await things.becomes("of-thing", text="hi", version="1.0.0")
    await things.stop()
    things.module("010-alpha", {"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: alpha}\n"})
    things.write("modules/values.yaml", "alphaEnabled: true\n")
    things.operator.flags = things.operator.flags[:-1]
    things.writes()
    await things.start()
    await until(lambda: conditions(things)["purge"] == "nothing was to be purged", "the purge, which follows the start")
    await things.stop()
    assert [line for line in things.writes() if line.startswith("DELETE")] == []
    assert await things.map("of-thing") == {"text": "hi", "version": "1.0.0"}
