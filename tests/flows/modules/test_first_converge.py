"""The first converge: global hooks, modules and their hooks run in the order of addon-operator. Level: sandbox."""

from tests.flows.modules.hooks import at, enabled, hook, patch, watching
from tests.flows.modules.world import World

TICK = [{"name": "tick", "crontab": "* * * * * *"}]


async def test_the_first_converge_runs_hooks_in_the_order_of_addon_operator(world: World) -> None:
    """As `startup_tasks` and `converge__main_queue_only` have it."""
    cms = [watching()]
    world.write("global-hooks/hook01.sh", hook(onStartup=20, beforeAll=10, kubernetes=cms))
    world.write("global-hooks/hook02.sh", hook(onStartup=1, beforeAll=1))
    world.write("global-hooks/hook03.sh", hook(onStartup=10, afterAll=5, kubernetes=cms))
    world.module("000-alpha", {"hooks/hook01.sh": hook(onStartup=1, kubernetes=cms, beforeHelm=2, afterHelm=1)})
    world.module("001-beta", {"hooks/hook01.sh": hook(onStartup=1)})
    await world.configure(alphaEnabled="true", betaEnabled="false")
    await world.create("one", watched="y")
    await world.start()
    assert world.history() == [
        "global/hook02.sh onStartup",
        "global/hook03.sh onStartup",
        "global/hook01.sh onStartup",
        "global/hook01.sh cms Synchronization",
        "global/hook03.sh cms Synchronization",
        "global/hook02.sh beforeAll",
        "global/hook01.sh beforeAll",
        "alpha/hook01.sh onStartup",
        "alpha/hook01.sh cms Synchronization",
        "alpha/hook01.sh beforeHelm",
        "alpha/hook01.sh afterHelm",
        "global/hook03.sh afterAll",
    ]
    before = next(run for run in world.told() if run["contexts"][0]["binding"] == "beforeHelm")
    assert before["contexts"] == [{"binding": "beforeHelm", "snapshots": {"cms": [{"filterResult": "one"}]}}]
    assert before["values"]["global"]["enabledModules"] == ["alpha"]


async def test_schedules_start_after_the_first_converge(world: World) -> None:
    world.write("global-hooks/g.sh", hook(schedule=TICK))
    body = at("beforeHelm", "sleep 1.2")
    world.module("010-a", {"hooks/h.sh": hook(body, schedule=TICK, beforeHelm=1, afterHelm=1)})
    await world.configure(aEnabled="true")
    await world.start()
    await world.ran("a/h.sh tick")
    assert world.history("a/")[:2] == ["a/h.sh beforeHelm", "a/h.sh afterHelm"]
    await world.ran("global/g.sh tick")


async def test_a_module_that_a_global_hook_turns_on_at_the_start_runs_once(world: World) -> None:
    """Its `enabled` script runs once and sees what global hooks have set."""
    world.write("global-hooks/g.sh", hook(patch("/aEnabled", "true") + patch("/global/seen", '"yes"'), onStartup=1))
    script = enabled('grep -q seen "$VALUES_PATH" && echo true > "$MODULE_ENABLED_RESULT"')
    world.module("010-a", {"enabled": script, "hooks/h.sh": hook(onStartup=1, beforeHelm=1)})
    await world.start()
    assert world.history("a/") == ["a/h.sh onStartup", "a/h.sh beforeHelm"]
    assert len((world.directory / "told" / "asked").read_text().splitlines()) == 1
