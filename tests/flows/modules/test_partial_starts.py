"""A module whose start fails once at every step. Level: sandbox."""

from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.flows.modules.hooks import configmap, hook, watching
from tests.flows.modules.world import World
from tests.flows.waiting import until

ONCE = '[ -e "{0}" ] || {{ touch "{0}"; echo broken >&2; exit 1; }}\n'
EACH = 'mark="$TOLD/$(cksum < "$BINDING_CONTEXT_PATH" | tr -d " ")"\n' + ONCE.format("$mark")


async def test_a_retry_repeats_the_failed_step_and_no_earlier_one(world: World, sandbox: Sandbox) -> None:
    """`--config`, onStartup, Synchronization, beforeHelm, an object, afterHelm. An edit hurries the next attempt."""
    script = hook(EACH, onStartup=1, kubernetes=[watching()], beforeHelm=1, afterHelm=1)
    refuses_once = script.replace("\n", "\n" + ONCE.format("$TOLD/asked-once"), 1)
    world.module("010-a", {"hooks/h.sh": refuses_once, "templates/cm.yaml": configmap("a", "x: z")})
    await world.configure(aEnabled="true")
    sandbox.faults.add(Fault("answer", "POST /api/v1/namespaces/default/configmaps", status=403, times=1))
    await world.start()
    failures = 0
    while failures < 6:  # one edit for what has failed since the last one, should it have tried again by itself
        failures = await until(lambda before=failures: failed(world, before), "a failure")  # type: ignore[misc]
        await world.configure(a=f"n: {failures}")
    await world.module_is("a", ready=True, revision=2)
    history = world.history()
    assert history[:10] == [
        *["a/h.sh onStartup"] * 2,
        *["a/h.sh cms Synchronization"] * 2,
        *["a/h.sh beforeHelm"] * 3,
        *["a/h.sh afterHelm", "a/h.sh beforeHelm", "a/h.sh afterHelm"],
    ]
    more = {*history[10:]}  # one more run follows if it tried again by itself just before an edit
    assert more <= {"a/h.sh beforeHelm", "a/h.sh afterHelm"}
    world.forget()
    await world.create("one", watched="y")
    await world.ran("cms Event one")
    assert world.operator.metric("binding_count", module="a", hook="hooks/h.sh") == 4


def failed(world: World, before: int) -> int:
    """So often it has, 0 if not more often than before."""
    count = sum(record["msg"].startswith("unit failed") for record in world.operator.logs())
    return count if count > before else 0
