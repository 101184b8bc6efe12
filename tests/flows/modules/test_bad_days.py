"""What goes wrong around modules, shows where users look, and heals by itself."""

from hookrunner.sandbox.faults import Fault
from hookrunner.sandbox.sandbox import Sandbox
from tests.flows.modules.hooks import configmap
from tests.flows.modules.world import World

A = {"templates/cm.yaml": configmap("a", "x: z")}


async def test_nobody_is_ready_before_the_configuration_was_read(world: World, sandbox: Sandbox) -> None:
    world.module("010-a", A)
    await world.configure(aEnabled="true")
    fault = sandbox.faults.add(Fault("answer", "/configmaps", status=403))
    await world.start(ready=False)
    await world.operator.not_ready("the configuration cannot be read")
    await world.operator.wait_log("watch is lost")
    await world.module_is("a", state="undecided")
    sandbox.faults.remove(fault)
    await world.operator.ready()
    assert await world.maps() == {"a": {"x": "z"}}


async def test_a_storm_of_edits_fails_nobody_and_the_last_one_counts(world: World) -> None:
    world.module("010-a", {"templates/cm.yaml": configmap("a", "x: {{ .Values.a.x | default 0 | quote }}")})
    await world.configure(aEnabled="true")
    await world.start()
    for number in range(150):
        await world.configure(a=f"x: {number}")
    await world.becomes("a", x="149")
    await world.module_is("a", ready=True)
    assert world.operator.metric("module_run_errors_total", module="a") == 0
