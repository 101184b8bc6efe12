"""Failures around modules that users can see and that end by themselves: storms of edits, lost definitions.

Level: sandbox."""

import asyncio
import json
import time

from hookrunner.convergence.runs.unit_tasks import AT_ONCE, EVERY
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.flows.modules.hooks import configmap, enabled, hook, patch
from tests.flows.modules.world import World
from tests.flows.waiting import until
from tests.releases.test_crds import thing_definition

A = {"templates/cm.yaml": configmap("a", "x: z")}


async def test_readyz_is_red_and_no_hook_runs_before_the_configuration_was_read(world: World, sandbox: Sandbox) -> None:
    """Then everything begins by itself, the global hooks first."""
    world.write("global-hooks/h.sh", hook(onStartup=1))
    script = enabled("echo true > $MODULE_ENABLED_RESULT")
    world.module("010-a", A | {"hooks/h.sh": hook(beforeHelm=1), "enabled": script})
    await world.configure(GLOBAL="n: 7", aEnabled="true")
    fault = sandbox.faults.add(Fault("answer", "/configmaps", status=403))
    await world.start(ready=False)
    await world.operator.not_ready("the configuration cannot be read")
    await world.operator.wait_log("watch lost")
    (task,) = world.operator.queue_list()["main"]
    reason = "the configuration cannot be read: ConfigMap default/hookrunner: "
    assert task.startswith(f"GlobalHookRun::onStartup:h.sh:waiting for values: {reason}")
    assert (world.told(), (world.operator.told / "asked").exists()) == ([], False)
    sandbox.faults.remove(fault)
    await world.operator.ready()
    await world.becomes("a", x="z")  # the start may be done before: nothing was known to be on
    assert [(each["hook"], each["values"]["global"]["n"]) for each in world.told()] == [
        ("global-hooks/h.sh", 7),
        ("modules/010-a/hooks/h.sh", 7),
    ]


async def test_readyz_is_red_while_the_configuration_is_being_read(world: World, sandbox: Sandbox) -> None:
    world.module("010-a", A)
    await world.configure(aEnabled="true")
    sandbox.faults.requests.clear()
    fault = sandbox.faults.add(Fault("stall", "/configmaps"))
    await world.start(ready=False)
    await until(lambda: any("/configmaps/" in line for line in sandbox.faults.requests), "a look at the configuration")
    await until(lambda: world.operator.get("/readyz")[0], "an answer")
    assert world.operator.get("/readyz")[0] == 503
    sandbox.faults.remove(fault)
    await world.operator.ready()


async def test_a_storm_of_edits_makes_few_revisions_and_the_last_edit_counts(world: World) -> None:
    world.module("010-a", {"templates/cm.yaml": configmap("a", "x: {{ .Values.a.x | default 0 | quote }}")})
    await world.configure(aEnabled="true")
    await world.start()
    began = time.monotonic()
    for number in range(150):
        await world.configure(a=f"x: {number}")
    await world.becomes("a", x="149")
    await world.module_is("a", ready=True)
    assert world.modules()["a"]["revision"] <= 1 + AT_ONCE + (time.monotonic() - began) / EVERY
    assert world.operator.metric("module_run_errors_total", module="a") == 0


async def test_deleted_definitions_come_back_with_their_objects(world: World) -> None:
    """At most when the cluster is seen not to serve them any more."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.x.io"
    thing = "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: mine}\n"
    world.module("010-a", {"crds/things.yaml": json.dumps(thing_definition("v1")), "templates/t.yaml": thing})
    world.module(
        "020-b",
        {"crds/others.yaml": json.dumps(thing_definition("v1", kind="Other")), "hooks/h.sh": hook(beforeHelm=1)},
    )
    await world.configure(aEnabled="true", bEnabled="true")
    await world.start()
    await world.ask("DELETE", path, None)
    await world.until(lambda: _names(world, "things"), ["mine"], "things")
    await world.ask("DELETE", path.replace("things", "others"), None)
    await world.until(lambda: _names(world, "others"), [], "others")
    await world.module_is("a", ready=True)
    assert world.operator.metric("module_run_errors_total", module="b") == 0


async def _names(world: World, plural: str) -> list[str] | None:
    found = await world.ask("GET", f"/apis/x.io/v1/{plural}", None)
    return found and [one["metadata"]["name"] for one in found["items"]]


async def test_concurrent_config_patches_of_hooks_and_a_user_are_all_kept(
    world: World,
) -> None:
    names = [f"p{number}" for number in range(6)]
    for name in names:
        world.module(f"010-{name}", {"hooks/h.sh": hook(patch(f"/{name}/x", "1", lasting=True), beforeHelm=1)})
    await world.configure(**{f"{name}Enabled": "true" for name in names}, GLOBAL="y: 0")
    await world.start(ready=False)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.operator.ready())
        for number in range(30):
            await world.configure(**{"global": f"y: 0  # {number}"})
    assert {name: (await world.configuration())[name] for name in names} == dict.fromkeys(names, "x: 1\n")
    assert world.counts() == {f"{name}/h.sh beforeHelm": 1 for name in names}
