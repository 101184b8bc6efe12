"""Kubernetes and schedule bindings of module hooks: what they hold back, their queues, and hooks of the same name.

Level: sandbox."""

from tests.flows.modules.hooks import at, configmap, hook, patch, until_told, watching
from tests.flows.modules.world import World
from tests.flows.waiting import stays, until


async def test_the_release_waits_for_synchronizations_with_wait_for_synchronization(world: World) -> None:
    """Another queue: waited for, and not; the own queue always. Events wait for their binding's Synchronization."""
    waits = [watching(queue="other"), watching("soon", executeHookOnSynchronization=False, label="soon")]
    idles = [watching(queue="third", waitForSynchronization=False)]
    world.module("010-a", {"hooks/w.sh": hook(at("Synchronization", until_told("go-w")), kubernetes=waits)})
    world.module("010-a", {"hooks/i.sh": hook(at("Synchronization", until_told("go-i")), kubernetes=idles)})
    world.module("010-a", {"hooks/h.sh": hook(beforeHelm=1)})
    await world.configure(aEnabled="true")
    await world.create("one", watched="y")
    await world.start(ready=False)
    await world.ran("Synchronization", 2)
    await world.create("two", watched="y")
    await world.create("quick", soon="y")
    await stays(lambda: len(world.history()) == 2, "the gate", 0.5)
    world.operator.tell("go-w")
    await world.operator.ready()
    assert world.history("a/h.sh") == ["a/h.sh beforeHelm"]
    await world.ran("a/w.sh cms Event two")
    await world.ran("a/w.sh soon Event quick")
    assert world.history("a/i.sh") == ["a/i.sh cms Synchronization"]
    world.operator.tell("go-i")
    await world.ran("a/i.sh cms Event two")
    assert world.history().index("a/w.sh cms Synchronization") < world.history().index("a/h.sh beforeHelm")


async def test_values_changed_by_events_and_schedules_lead_to_one_run_each(world: World) -> None:
    template = configmap("a", 'last: {{ .Values.a.last | default "none" | quote }}')
    tick = [{"name": "tick", "crontab": "* * * * * *"}]
    body = at("Event", patch("/a/last", '"event"')) + at("Schedule", patch("/a/last", '"tick"'))
    world.module("010-a", {"hooks/k.sh": hook(body, kubernetes=[watching()]), "templates/cm.yaml": template})
    world.module("010-a", {"hooks/h.sh": hook(afterHelm=1)})
    await world.configure(aEnabled="true")
    await world.start()
    await world.create("one", watched="y")
    await world.ran("a/k.sh cms Event one")
    await world.ran("a/h.sh afterHelm", 2)
    world.module("010-a", {"hooks/t.sh": hook(body, schedule=tick)})
    await world.configure(aEnabled="false")
    await world.becomes("a")
    await world.configure(aEnabled="true")
    await world.becomes("a", last="tick")
    await world.ran("a/h.sh afterHelm", 4)
    await world.ran("a/t.sh tick Schedule", len(world.history("a/t.sh tick Schedule")) + 2)
    assert len(world.history("afterHelm")) == 4, "a tick that changes nothing brings no run"


async def test_hooks_of_the_same_name_in_two_modules_are_independent(world: World) -> None:
    counted = 'echo \'{"name":"seen","action":"add","value":1.5}\' > "$METRICS_PATH"'
    k = hook(at("Event", counted), kubernetes=[watching(queue="shared")])
    world.module("010-a", {"hooks/k.sh": k})
    world.module("020-b", {"hooks/k.sh": k})
    await world.configure(aEnabled="true", bEnabled="true")
    await world.start()
    for name in ("one", "two"):
        await world.create(name, watched="y")
        await world.ran(f"a/k.sh cms Event {name}")
        await world.ran(f"b/k.sh cms Event {name}")
    for module in ("a", "b"):
        labels = {"module": module, "hook": "hooks/k.sh"}
        # The last run has told, but may not be over.
        await until(lambda m=module: succeeded(world, m) == 3, f"three runs of {module}")  # type: ignore[misc]
        assert world.operator.hook_metric("seen", **labels) == 3
        assert world.operator.metric("kube_snapshot_objects", **labels) == 2
        assert world.operator.metric("event_latency_seconds_count", stage="done", **labels) == 3
        assert world.operator.metric("task_wait_in_queue_seconds_total", **labels) > 0
    await world.configure(bEnabled="false")
    await world.module_is("b", phase="")
    await world.create("three", watched="y")
    await world.ran("a/k.sh cms Event three")
    assert world.history("b/k.sh cms Event three") == []


def succeeded(world: World, module: str) -> float:
    """How many runs of its hook have been successful."""
    return world.operator.metric("module_hook_success_total", module=module, hook="hooks/k.sh")
