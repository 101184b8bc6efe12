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
