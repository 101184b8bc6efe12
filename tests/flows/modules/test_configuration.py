"""The ConfigMap and the Secret: what users do with them, and what modules make of it (docs/modules.md).

Level: sandbox."""

import base64

import pytest

from tests.flows.modules.hooks import at, configmap, hook, patch, watching
from tests.flows.modules.world import World
from tests.flows.waiting import stays

SIZE = "size: {{ .Values.a.size | quote }}"
SCHEMA = "type: object\nproperties:\n  size: {type: integer}\n  last: {type: string}\n"


@pytest.fixture
def prepared(world: World) -> World:
    """With a module `a` and a hook that says when it is run."""
    world.module("010-a", {"values.yaml": "a: {size: 1}\n", "templates/cm.yaml": configmap("a", SIZE)})
    world.module("010-a", {"openapi/config-values.yaml": SCHEMA, "hooks/h.sh": hook(beforeHelm=1)})
    return world


async def test_modules_follow_the_creation_edits_and_deletion_of_the_configmap(prepared: World) -> None:
    """Created, edited, a section removed, the switch toggled by itself, all deleted. Under addon-operator's name it
    does not count, and a warning says so."""
    prepared.operator.flags = (*prepared.operator.flags, "--config-grace=0s")
    await prepared.configure("addon-operator", aEnabled="true")
    await prepared.start()
    assert "--config-map addon-operator" in (await prepared.operator.wait_log("default/addon-operator does"))["hint"]
    assert prepared.history() == []
    await prepared.configure(aEnabled="true")
    await prepared.becomes("a", size="1")
    await prepared.configure(a="size: 2")
    await prepared.becomes("a", size="2")
    await prepared.configure(a=None)
    await prepared.becomes("a", size="1")
    assert prepared.history() == ["a/h.sh beforeHelm"] * 3
    await prepared.configure(aEnabled="false")
    await prepared.becomes("a")
    await prepared.configure(aEnabled="true", a="size: 3")
    await prepared.becomes("a", size="3")
    await prepared.delete("hookrunner")
    await prepared.becomes("a")
    await prepared.until(prepared.releases, [], "the release's records")


async def test_a_bad_edit_is_rejected_for_its_section_alone_and_heals(prepared: World) -> None:
    prepared.module(
        "020-b", {"values.yaml": "b: {}\n", "templates/cm.yaml": configmap("b", "size: {{ .Values.b.size | quote }}")}
    )
    await prepared.configure(aEnabled="true", bEnabled="true", a="size: 2", b="size: 1")
    await prepared.start()
    await prepared.configure(a="size: big", b="size: 2")
    await prepared.becomes("b", size="2")
    assert await prepared.map("a") == {"size": "2"}
    shown = (await prepared.operator.wait_log("section of the configuration refused"))["error"]
    assert "size" in shown
    assert "size" in prepared.operator.get("/readyz?output=json")[1]
    await prepared.configure(a="size: 3")
    await prepared.becomes("a", size="3")


async def test_a_section_in_binary_data_is_refused(prepared: World) -> None:
    """kubectl puts a file that is not in UTF-8 into `binaryData` of a ConfigMap."""
    await prepared.configure(aEnabled="true", a="size: 2")
    await prepared.start()
    edit = {"data": {"a": None}, "binaryData": {"a": base64.b64encode("size: 3 # für".encode("latin-1")).decode()}}
    await prepared.ask("PATCH", prepared.path("hookrunner") + "?story=yes", edit)
    await prepared.module_is("a", ready=True, refused="a: ConfigMap: a: is not text in UTF-8; save it as UTF-8")
    assert await prepared.map("a") == {"size": "2"}


async def test_a_config_patch_of_a_hook_leads_to_exactly_one_run(prepared: World) -> None:
    """The other sections stay byte for byte."""
    write = at("Event", patch("/a/last", '"$RANDOM-$RANDOM"', lasting=True))
    prepared.module("010-a", {"hooks/k.sh": hook(write, kubernetes=[watching()])})
    await prepared.configure(aEnabled="true", a="size: 2  # mine", b="# as it is\n")
    await prepared.start()
    prepared.forget()
    for number in range(3):
        await prepared.create(f"e{number}", watched="y")
        await prepared.ran("beforeHelm", number + 1)
    await stays(lambda: len(prepared.history("beforeHelm")) == 3, "each once", 0.7)
    data = await prepared.configuration()
    assert (data["b"], "size: 2" in data["a"], "last:" in data["a"]) == ("# as it is\n", True, True)


async def test_values_in_the_secret_win_and_edits_are_followed(prepared: World) -> None:
    prepared.operator.flags = (*prepared.operator.flags, "--config-secret=private", "--config-grace=0s")
    await prepared.configure(aEnabled="true", a="size: 2")
    await prepared.start()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "private"}, "data": {"a": _coded("size: 7")}}
    await prepared.ask("POST", prepared.path(resource="secrets") + "?story=yes", secret)
    await prepared.becomes("a", size="7")
    await prepared.ask("PATCH", prepared.path("private", "secrets") + "?story=yes", {"data": {"a": _coded("size: 8")}})
    await prepared.becomes("a", size="8")
    await prepared.delete("private", "secrets")
    await prepared.becomes("a", size="2")


async def test_a_global_value_runs_every_hook_and_writes_only_what_it_changes(prepared: World) -> None:
    prepared.write("global-hooks/g.sh", hook(beforeAll=1, afterAll=1))
    every = hook(beforeHelm=1, afterHelm=1, onStartup=1)
    prepared.module(
        "020-b", {"templates/cm.yaml": configmap("b", "color: {{ .Values.global.color }}"), "hooks/h.sh": every}
    )
    prepared.module("030-c", {"templates/cm.yaml": configmap("c", "x: z"), "hooks/h.sh": every})
    await prepared.configure(aEnabled="true", bEnabled="true", cEnabled="true", GLOBAL="color: red")
    await prepared.start()
    prepared.forget()
    prepared.writes()
    await prepared.configure(GLOBAL="color: blue")
    await prepared.ran("afterAll")
    assert await prepared.map("b") == {"color": "blue"}
    runs = "a/h.sh beforeHelm, b/h.sh afterHelm, b/h.sh beforeHelm, c/h.sh afterHelm, c/h.sh beforeHelm"
    first, *between, last = prepared.history()  # modules that have been ready run side by side
    assert (first, sorted(between), last) == ("global/g.sh beforeAll", runs.split(", "), "global/g.sh afterAll")
    assert {line for line in prepared.writes() if "secrets" not in line} == {"PATCH configmaps/b"}


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_an_invalid_flag_uninstalls_nothing(prepared: World) -> None:
    await prepared.configure(aEnabled="true", a="size: 2")
    await prepared.start()
    await prepared.configure(aEnabled="True", a="size: 3")
    await prepared.module_is("a", state="undecided", reason="aEnabled: must be 'true' or 'false'")
    assert await prepared.map("a") == {"size": "2"}
    await prepared.configure(aEnabled="true")
    await prepared.becomes("a", size="3")
    assert len(await prepared.releases()) == 2, "of one history"
