"""A module whose start fails at every step once (user-pains.md R6)."""

from hookrunner.sandbox.faults import Fault
from hookrunner.sandbox.sandbox import Sandbox
from tests.flows.modules.hooks import configmap, hook, watching
from tests.flows.modules.world import World
from tests.flows.waiting import until

ONCE = '[ -e "{0}" ] || {{ touch "{0}"; echo broken >&2; exit 1; }}\n'
EACH = 'mark="$TOLD/$(cksum < "$BINDING_CONTEXT_PATH" | tr -d " ")"\n' + ONCE.format("$mark")


async def test_what_failed_is_done_again_and_what_was_done_is_not(world: World, sandbox: Sandbox) -> None:
    """`--config`, onStartup, Synchronization, beforeHelm, an object, afterHelm. An edit hurries the next attempt."""
    script = hook(EACH, onStartup=1, kubernetes=[watching()], beforeHelm=1, afterHelm=1)
    refuses_once = script.replace("\n", "\n" + ONCE.format("$TOLD/asked-once"), 1)
    world.module("010-a", {"hooks/h.sh": refuses_once, "templates/cm.yaml": configmap("a", "x: z")})
    await world.configure(aEnabled="true")
    fault = sandbox.faults.add(Fault("answer", "POST /api/v1/namespaces/default/configmaps", status=403))
    await world.start()
    for failures in range(1, 7):
        await until(lambda count=failures: failed(world) == count, f"{failures} failures")  # type: ignore[misc]
        if failures == 5:
            sandbox.faults.remove(fault)
        await world.configure(a=f"n: {failures}")
    await world.module_is("a", ready=True, revision=2)
    assert world.history() == [
        *["a/h.sh onStartup"] * 2,
        *["a/h.sh cms Synchronization"] * 2,
        *["a/h.sh beforeHelm"] * 3,
        *["a/h.sh afterHelm", "a/h.sh beforeHelm", "a/h.sh afterHelm"],
    ]
    world.forget()
    await world.create("one", watched="y")
    await world.ran("cms Event one")
    assert world.operator.metric("binding_count", module="a", hook="hooks/h.sh") == 4


def failed(world: World) -> int:
    """So often it has."""
    return sum(record["msg"].startswith("Module failed") for record in world.operator.logs())
