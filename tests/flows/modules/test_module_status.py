"""What modules show on the debug socket, `/readyz`, `/status/converge`, in metrics and Events, and that they show no
secrets.

Level: sandbox."""

import asyncio
import base64
import json
import os
import re
from typing import Any

import pytest

from hookrunner.cli.debug import ask
from tests import launcher
from tests.flows import scripts
from tests.flows.modules.hooks import configmap, hook, patch, unless, until_told, watching
from tests.flows.modules.world import World
from tests.flows.waiting import until

SCHEMA = "type: object\nproperties:\n  size: {type: integer}\n  password: {type: string, enum: [hunter2, hunter3]}\n"
SIZE = "size: {{ .Values.a.size | quote }}"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: '{{ .Values.a.password }}'}\n"


async def shown(world: World, path: str, form: dict[str, str] | None = None) -> Any:
    """An answer of the debug socket, which may ask the sandbox, and that is in our own loop."""
    text = await asyncio.to_thread(ask, (world.directory / "debug.socket",), path, form)
    return json.loads(text) if ".json" in path else text


async def events(world: World) -> dict[str, str]:
    """Messages of Events on the ConfigMap, by reason."""
    items = (await world.ask("GET", world.path(resource="events"), None))["items"]
    mine = [one for one in items if one["involvedObject"]["kind"] == "ConfigMap"]
    assert {one["involvedObject"]["name"] for one in mine} <= {"hookrunner"}
    return {one["reason"]: one["message"] for one in mine}


async def told(world: World, reason: str, words: str) -> None:
    """Wait for such an Event."""

    async def is_told() -> bool:
        return words in (await events(world)).get(reason, "")

    await world.until(is_told, True, f"an Event {reason} with {words!r}")


async def set_secret(world: World, **data: str) -> None:
    """Write the Secret with values."""
    texts = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vals"}, "data": texts}
    there = await world.ask("GET", world.path("vals", "secrets"), None)
    where = world.path("vals" if there else "", "secrets")
    await world.ask("PATCH" if there else "POST", f"{where}?story=yes", {"data": texts} if there else secret)


def conditions(world: World) -> dict[str, str]:
    """What `/readyz` says of each condition."""
    found = json.loads(world.operator.get("/readyz?output=json")[1])["conditions"]
    return {condition["name"]: condition["message"] for condition in found}


@pytest.fixture
async def prepared(world: World) -> World:
    """With a module `a` whose password is in a Secret."""
    world.operator.flags = (*world.operator.flags, "--config-secret=vals")
    world.module("010-a", {"values.yaml": "a: {size: 1}\n", "openapi/config-values.yaml": SCHEMA})
    world.module("010-a", {"templates/cm.yaml": configmap("a", SIZE), "templates/s.yaml": SECRET})
    world.module("010-a", {"hooks/h.sh": hook(patch("/a/seen", "true"), beforeHelm=1, kubernetes=[watching()])})
    await set_secret(world, a="password: hunter2")
    await world.configure(aEnabled="true", a="size: 2")
    return world


async def test_module_commands_show_values_their_sources_and_results(prepared: World) -> None:
    await prepared.create("seen", watched="y")
    await prepared.start()
    assert (await shown(prepared, "/module/list.json"))["enabledModules"] == ["a"]
    assert await shown(prepared, "/module/a/values.json") == {"password": "hunter2", "seen": True, "size": 2}
    assert await shown(prepared, "/module/a/config.json?global=true") == {
        "a": {"password": "hunter2", "size": 2},
        "global": None,
    }
    assert await shown(prepared, "/module/a/values.json?explain=true") == [
        {"path": "/a/password", "value": "*** from the Secret", "layer": "Secret"},
        {"path": "/a/seen", "value": True, "layer": "patch of a hook"},
        {"path": "/a/size", "value": 2, "layer": "ConfigMap"},
    ]
    assert (await shown(prepared, "/module/a/patches.json"))[0]["Operations"][0]["path"] == "/a/seen"
    assert (await shown(prepared, "/module/a/snapshots.json"))["hooks/h.sh"]["cms"]["snapshot"] == [
        {"filterResult": "seen"}
    ]
    assert await shown(prepared, "/module/resource-monitor.json") == {"a": ["default/ConfigMap/a", "default/Secret/s"]}
    assert 'size: "2"' in await shown(prepared, "/module/a/render")


async def test_render_diff_names_fields_and_hides_secrets(prepared: World) -> None:
    await prepared.start()
    assert await shown(prepared, "/module/a/render?diff=true") == "No diff found\n"
    await prepared.ask("PATCH", prepared.path("a") + "?story=yes", {"data": {"size": "9"}})
    await prepared.ask("PATCH", prepared.path("s", "secrets") + "?story=yes", {"data": {"p": "eA=="}})
    before = prepared.writes()
    text = await shown(prepared, "/module/a/render?diff=true")
    assert "--- live/default/ConfigMap/a\n+++ wanted/default/ConfigMap/a\n" in text
    assert "-  size: '9'\n+  size: '2'\n" in text
    assert "-  p: '*** 4 bytes'\n+  p: '*** 12 bytes (changed)'\n" in text
    assert (before, prepared.writes()) == (before, [])


async def test_a_refused_edit_is_reported_without_secrets_until_it_is_corrected(prepared: World) -> None:
    await prepared.start()
    await prepared.configure(a="size: big")
    await told(prepared, "ConfigRejected", "a: size must be of type integer")
    assert prepared.operator.metric("config_values_refused", section="a") == 1
    assert prepared.operator.metric("config_values_errors_total") >= 1
    status, text = prepared.operator.get("/readyz?output=json")
    assert (status, "a: size must be of type integer" in text) == (200, True)
    await prepared.module_is("a", ready=True, refused="a: size must be of type integer")
    await set_secret(prepared, a="password: swordfish", aEnabled="swordfish")
    await prepared.operator.wait_log("must be 'true' or 'false', not a text of 9 characters")
    await set_secret(prepared, a="password: swordfish", aEnabled="true")
    await prepared.operator.wait_log("password must be one of")
    await set_secret(prepared, a="password: hunter3")
    await prepared.configure(a="size: 3")
    await told(prepared, "ConfigAccepted", "a: ")
    await prepared.module_is("a", ready=True, refused="")
    assert prepared.operator.metric("config_values_refused", section="a") == 0
    told_ = f"{prepared.operator.logs()} {await events(prepared)} {prepared.operator.get('/readyz?output=json')[1]}"
    assert "swordfish" not in told_


async def test_a_second_bad_edit_at_the_start_is_reported_with_its_own_errors(prepared: World) -> None:
    await prepared.configure(a="size: big")
    await prepared.start()
    await told(prepared, "ModuleUndecided", "a: size must be of type integer")
    await told(prepared, "ConfigRejected", "until it is corrected, nothing is run or removed")
    assert (await prepared.operator.wait_log("module is undecided"))["module"] == "a"
    await prepared.configure(a="size: 2\nlast: 7")
    await prepared.module_is("a", state="undecided", reason="last is a forbidden property")
    assert "last is a forbidden property" in conditions(prepared)["modules"]
    await prepared.configure(a="size: 2")
    await prepared.becomes("a", size="2")
    await prepared.configure(a="size: huge")
    await prepared.operator.wait_log("the last good values stay in use")


async def test_a_failing_template_does_not_reveal_a_secret(prepared: World) -> None:
    prepared.module("010-a", {"templates/bad.yaml": '{{ fail (printf "no good: %s" .Values.a.password) }}'})
    await prepared.start()
    await told(prepared, "ModuleFailed", "no good: ***")
    await prepared.module_is("a", reason="no good: ***")
    assert (
        "hunter2"
        not in f"{prepared.operator.logs()} {await events(prepared)} {prepared.operator.get('/readyz?output=json')[1]}"
    )


async def test_events_report_failures_and_repairs_of_modules(world: World) -> None:
    world.module("010-a", {"values.yaml": "a: {size: 1}\n", "templates/cm.yaml": configmap("a", SIZE)})
    world.module("010-a", {"hooks/h.sh": hook(unless("mended"), beforeHelm=1)})
    world.module("020-b", {"templates/cm.yaml": configmap("b")})
    await world.configure(aEnabled="true", bEnabled="true")
    await world.start()
    await told(world, "ModuleFailed", "broken")
    world.operator.tell("mended")
    await world.configure(a="size: 1")
    await told(world, "ModuleHealed", "a works again")
    await world.delete("b")
    await told(world, "ModuleDrifted", "default/ConfigMap/b is gone")
    await world.configure(a="size: 2")
    await world.becomes("a", size="2")
    assert await shown(world, "/module/a/rollback?revision=1", {}) == (
        "a is at revision 3 now, until its values or its chart change\n"
    )
    assert await world.map("a") == {"size": "1"}
    await world.module_is("a", reason="revision 3 is an earlier one")
    assert "a: revision 3 is an earlier one" in conditions(world)["modules"]
    await told(world, "ModuleRolledBack", "a is at revision 3")
    world.without("modules/020-b")
    await world.again()
    await world.module_is("a", reason="revision 3 is an earlier one")
    await told(world, "ReleasePurged", "no module is called b")
    await world.configure(a="size: 3")
    await until(lambda: conditions(world)["modules"] == "", "values that count again")


async def test_a_failing_event_hook_is_reported_with_its_module(world: World) -> None:
    tick = [{"name": "tick", "crontab": "* * * * * *"}]
    world.module("010-a", {"hooks/h.sh": hook("echo broken >&2; exit 1", schedule=tick)})
    await world.configure(aEnabled="true")
    await world.start()
    await world.module_is("a", reason="a/hooks/h.sh has failed", ready=True)
    assert "for tick: broken" in conditions(world)["modules"]


async def test_writes_to_the_cluster_are_logged(world: World) -> None:
    world.operator.flags = (*world.operator.flags, "--config-grace=0s")
    world.module("010-a", {"values.yaml": "a: {size: 1}\n", "templates/cm.yaml": configmap("a", SIZE)})
    await world.configure(aEnabled="true")
    await world.start()
    await world.configure(a="size: 2")
    await world.becomes("a", size="2")
    await world.delete("a")
    assert (await world.operator.wait_log("objects repaired"))["objects"] == "default/ConfigMap/a"
    await shown(world, "/module/a/rollback", {})
    assert (await world.operator.wait_log("rolled back on request"))["revision"] == 3
    await world.delete("hookrunner")
    assert (await world.operator.wait_log("release deleted"))["module"] == "a"
    assert (await world.operator.wait_log("is deleted"))["msg"].startswith(
        "ConfigMap default/hookrunner is deleted, what"
    )


async def test_a_waiting_module_is_shown_and_does_not_affect_readiness(world: World) -> None:
    missing = {"name": "none", "apiVersion": "example.com/v1", "kind": "Missing"}
    world.module("010-a", {"hooks/h.sh": hook(kubernetes=[missing])})
    world.module("020-b", {"templates/cm.yaml": configmap("b")})
    world.module("030-Bad_Name")
    world.module("040-c")
    await world.configure(aEnabled="true", bEnabled="true", cEnabled="true", c="{")
    await world.start()
    assert world.operator.get("/readyz") == (200, "Startup converge done.\n")
    await until(lambda: conditions(world)["purge"].startswith("nothing was purged: "), "the end of the start")
    await until(lambda: "a/h.sh: none: " in conditions(world)["watches"].replace("hooks/", ""), "what a waits for")
    messages = conditions(world)
    assert all(word in messages["modules"] for word in ("a: ", "Missing", "Bad_Name"))
    assert world.modules()["Bad_Name"]["state"] == "rejected"
    metrics = world.operator.get("/metrics")[1]
    assert 'module_phase{module="c",phase="Startup",reason="undecided"} 1' in metrics
    assert "modules_discover_errors_total 1\n" in metrics
    assert await world.map("b") == {}


async def test_status_shows_a_failing_hook_and_a_failing_module_with_what_to_do(world: World) -> None:
    tick = [{"name": "tick", "crontab": "* * * * * *"}]
    world.write("hooks/bad.sh", scripts.hook({"schedule": tick}, "echo no luck >&2; exit 1\n"))
    world.module("010-a", {"templates/cm.yaml": configmap("a", 'x: {{ fail "no way" }}')})
    world.module("020-b", {"templates/cm.yaml": configmap("b")})
    await world.configure(aEnabled="true", bEnabled="true")
    await world.start()
    words = ("status", f"--debug-unix-socket={world.directory / 'debug.socket'}")

    patterns = (
        r"failing hook bad\.sh \(queue main, .*next try in [0-9]+s\): has failed .* tick: no luck",
        r"next: hookrunner queue list failing module a .*no way next: hookrunner module list",
        r"1 hook; .* 2 modules on, 1 ready",
    )

    async def unseen() -> tuple[int, str, bool, list[str]]:
        """The hook, for one, has no next try while it is tried."""
        ended = await asyncio.to_thread(launcher.run, words, cwd=world.directory, env=os.environ)
        lines, text = ended.stdout.splitlines(), " ".join(ended.stdout.split())
        missing = [pattern for pattern in patterns if not re.search(pattern, text)]
        return ended.returncode, lines[0], len(lines) < 24, missing

    await world.until(unseen, (3, "ready, 2 things need you", True, []), "both failures")


async def test_the_present_step_of_a_module_is_shown(world: World) -> None:
    world.module("010-a", {"hooks/h.sh": hook(until_told("go"), beforeHelm=1)})
    await world.start()
    before = world.modules()["a"]["since"]
    await world.configure(aEnabled="true")
    await world.ran("a/h.sh beforeHelm")
    assert world.modules()["a"]["since"] > before
    await world.module_is("a", ready=False, reason=" s: its hooks run, or its release is applied")
    world.operator.tell("go")
    await world.module_is("a", ready=True, reason="aEnabled is true")


@pytest.mark.parametrize(("flags", "unready"), [((), 503), (("--compat=addon-operator",), 500)])
async def test_status_converge_shows_the_progress_of_the_start(
    world: World, flags: tuple[str, ...], unready: int
) -> None:
    world.operator.flags = (*world.operator.flags, *flags, "--config-map=hookrunner")
    world.write("global-hooks/g.sh", hook(until_told("first"), onStartup=1))
    world.module("010-a", {"hooks/h.sh": hook(until_told("second"), beforeHelm=1)})
    await world.configure(aEnabled="true")
    await world.start(ready=False)
    get = world.operator.get
    await world.ran("global/g.sh onStartup")
    assert get("/readyz") == (unready, "Startup converge in progress\n")
    assert get("/status/converge") == (200, "STARTUP_CONVERGE_NOT_STARTED\n")
    world.operator.tell("first")
    await world.ran("a/h.sh beforeHelm")
    assert get("/readyz") == (unready, "Startup converge in progress\n")
    assert get("/status/converge") == (200, "STARTUP_CONVERGE_IN_PROGRESS: 2 tasks\n")
    world.operator.tell("second")
    await world.operator.ready()
    assert get("/readyz") == (200, "Startup converge done.\n")
    assert get("/status/converge") == (200, "STARTUP_CONVERGE_DONE\nCONVERGE_WAIT_TASK\n")
