"""A running program with every kind of mistake in it, a password in each: none of its reports has the password.

Level: control plane."""

import asyncio
import json
from functools import partial

from hookrunner.cli.debug import ask
from tests.flows import scripts
from tests.flows.modules.hooks import configmap, enabled, hook, patch
from tests.flows.modules.world import World
from tests.flows.waiting import until

MARKER = "hunter2"
PAGES = ("/readyz", "/readyz?output=json", "/metrics", "/metrics/hooks", "/status/converge", "/healthz")
SOCKET = (
    "/queue/list.json?showEmpty=true",
    "/queue/main.text",
    "/hook/list.json",
    "/module/list.json",
    "/config/list.json",
    "/graph",
    "/discovery",
)
SCHEMA = """
type: object
properties:
  word: {type: string, enum: [a, b]}
  pin: {type: integer, maximum: 9}
  text: {type: string, maxLength: 2, pattern: ^x}
"""
SECTION = f"word: {MARKER}\npin: 54321\ntext: {MARKER}"


def written(file: str, text: str) -> str:
    """Lines that write a text to one of a hook's files."""
    return f"cat > \"${file}\" <<'END'\n{text}\nEND\n"


def deployment(namespace: str) -> dict[str, object]:
    """One that the API server refuses for a value."""
    labels = {"app": "a"}
    pod = {"restartPolicy": MARKER, "containers": [{"name": "c", "image": "i", "imagePullPolicy": MARKER}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    metadata = {"name": "refused", "namespace": namespace, "annotations": {"bad key": MARKER}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def mistakes(namespace: str) -> dict[str, str]:
    """Hooks by name, and what each does every second."""
    target = {"kind": "ConfigMap", "namespace": namespace, "name": "watched"}
    operation = {"operation": "MergePatch", **target, "mergePatch": {"data": {"password": MARKER}}}
    files = {
        "list": json.dumps([operation]),
        "plain": f"the password is {MARKER}",
        "bare": json.dumps(MARKER),
        "yaml": f"password: *{MARKER}",
        "tag": f"password: !{MARKER} x",
        "cut": json.dumps(operation)[:-5],
        "word": json.dumps(operation | {"operation": MARKER}),
        "refused": json.dumps({"operation": "Create", "object": deployment(namespace)}),
        "typed": json.dumps({"operation": "Apply", "object": deployment(namespace) | {"spec": {"replicas": MARKER}}}),
        "program": json.dumps({"operation": "JQPatch", **target, "jqFilter": f'.data.password = "{MARKER}" oops'}),
        "raised": json.dumps({"operation": "JQPatch", **target, "jqFilter": ".data.password | error"}),
    }
    found = {name: written("KUBERNETES_PATCH_PATH", text) for name, text in files.items()}
    found["metrics"] = written("METRICS_PATH", json.dumps({"name": "m", "action": "set", "value": MARKER}))
    return found


async def broken(world: World) -> dict[str, str]:
    """Put all mistakes into the world. Returns the modules by name, with the message expected of each."""
    bad = {f"{name}.sh": body for name, body in mistakes(world.namespace).items()}
    every = {"crontab": "* * * * * *"}
    world.operator.write_hooks(
        {name: scripts.hook({"schedule": [every | {"queue": name}]}, body) for name, body in bad.items()}
    )
    watching = {
        "namespace": {"nameSelector": {"matchNames": [world.namespace]}},
        "nameSelector": {"matchNames": ["watched"]},
    }
    filters = {"kind": "ConfigMap", "apiVersion": "v1", "jqFilter": ".data.password | fromjson", **watching}
    world.operator.write_hooks({"filter.sh": scripts.hook({"kubernetes": [filters | {"queue": "filter"}]})})
    await world.create("watched", {"password": f"{MARKER} x"})

    world.module("010-section", {"openapi/config-values.yaml": SCHEMA, "templates/c.yaml": configmap("section")})
    world.module("020-fails", {"templates/c.yaml": '{{ fail (printf "bad %s" .Values.fails.password) }}'})
    world.module("030-ranges", {"templates/c.yaml": "{{ range .Values.ranges.pin }}{{ end }}"})
    world.module("040-text", {"templates/c.yaml": "{{ .Values.text.password }}"})
    world.module("050-patches", {"hooks/h.sh": hook(patch("/other/a", f'"{MARKER}"'), beforeHelm=1)})
    world.module("060-answers", {"enabled": enabled(f"echo {MARKER} > $MODULE_ENABLED_RESULT")})
    world.module("070-objects", {"templates/d.yaml": json.dumps(deployment(world.namespace))})
    names = ("section", "fails", "ranges", "text", "patches", "answers", "objects")
    flags = {f"{name}Enabled": "true" for name in names}
    sections = dict.fromkeys(("fails", "text"), f"password: {MARKER}") | {"section": SECTION, "ranges": "pin: true"}
    await world.configure(**flags, **sections, strangerEnabled=MARKER, GLOBAL=f"password: *{MARKER}")
    return {
        "section": "word must be one of a, b",
        "fails": "fails/templates/c.yaml:1:3",
        "text": "not an object but a text of 7 characters",
        "patches": "unacceptable patch operation",
        "answers": "bad enabled result: a text of 7 characters",
        "objects": "restartPolicy",
    }


async def everything(world: World) -> str:
    """All that it tells: the log, the pages, the debug socket, Events."""
    operator, directory = world.operator, world.directory
    told = [(directory / "log").read_text(), (directory / "errors").read_text()]
    told += [operator.get(page)[1] for page in PAGES]
    socket = (directory / "debug.socket",)
    told += [await asyncio.to_thread(ask, socket, page) for page in SOCKET]
    told.append(json.dumps(await world.ask("GET", world.path(resource="events"), None)))
    return "\n".join(told)


def failed(world: World, name: str) -> bool:
    """Has the log a failure of this hook?"""
    return any(record.get("hook") == name and record["level"] == "error" for record in world.operator.logs())


def says(world: World, module: str, words: str) -> bool:
    """Does the list of modules say so?"""
    return words in json.dumps(world.modules()[module])


async def is_event(world: World, reason: str) -> bool:
    """Is there an Event for this reason?"""
    return reason in json.dumps(await world.ask("GET", world.path(resource="events"), None))


async def test_no_report_of_a_mistake_shows_a_value(real: World) -> None:
    wanted = await broken(real)
    real.operator.flags = (*real.operator.flags, "--log-level=debug")
    await real.start(ready=False)
    for name in mistakes(real.namespace):
        await until(partial(failed, real, f"{name}.sh"), f"a failure of {name}\n{real.operator.story()}")
    assert "failures" in str(real.operator.queue_list())
    await real.operator.wait_log("filter failed on an object")
    await real.operator.wait_log("global: ConfigMap: global: cannot be read: not YAML: line 1: an alias")
    assert MARKER not in await everything(real)
    await real.configure(GLOBAL=None, strangerEnabled=None)
    for name, words in wanted.items():
        await until(partial(says, real, name, words), f"{words!r} of {name}\n{real.operator.story()}")
    await real.until(partial(is_event, real, "ModuleFailed"), True, "an Event")
    assert MARKER not in await everything(real)
