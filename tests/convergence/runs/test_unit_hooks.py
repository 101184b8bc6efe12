"""A module's hooks that come and go with it, and are run on its behalf. Level: sandbox."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.convergence.events import Notices
from hookrunner.convergence.runs.hook_loading import CompiledHooks
from hookrunner.convergence.runs.unit_hooks import UnitHooks
from hookrunner.engine import dispatch
from hookrunner.engine.hook_executor import InlineRuns
from hookrunner.errors import BadHookConfig
from hookrunner.hooks.catalog import Catalog
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.model.bindings import ONE_BY_ONE, Hook, HookConfig, HookSettings, QueueRules
from hookrunner.model.modules import Module
from hookrunner.model.tasks import own_queue
from hookrunner.model.unit_state import ModuleState, UnitState
from hookrunner.model.units import Unit
from tests.engine.conftest import Bench
from tests.examples import several
from tests.fakes.objects import config_map

HOOK = {
    "kubernetes": [{"name": "cms", "kind": "ConfigMap", "executeHookOnSynchronization": False}],
    "schedule": [{"name": "tick", "crontab": "* * * * * *"}],
}


def hooks_of(bench: Bench, *hooks: Hook) -> UnitHooks:
    """Those of a module."""

    async def load(unit: Unit) -> Catalog:
        return Catalog(hooks)

    run = InlineRuns(bench.executor, bench.gate).run
    return UnitHooks(load, bench.engine, bench.activator, run, CompiledHooks(Notices()))


async def turn_on(hooks: UnitHooks, state: UnitState) -> None:
    await hooks.load(state)
    await hooks.synchronize(state)
    await hooks.wait_for_synchronizations(state)
    hooks.arm_schedules(state)


def stating(name: str, concurrency: int) -> Hook:
    config = HookConfig("v1", settings=HookSettings(queues={"q": QueueRules(concurrency, "object")}))
    return Hook(name, Path("/nowhere"), config, "m")


async def test_an_open_queue_goes_by_the_rules_of_a_module_while_it_is_on(bench: Bench, jq: Jq, client: Client) -> None:
    bench.hook("h.sh", {"schedule": [{"crontab": "0 0 1 1 *", "queue": "q"}]})
    await bench.start(jq, client)
    hooks, state = hooks_of(bench, stating("m/a", 3)), ModuleState(Module("m", "m", 1, Path(), Path()))
    await hooks.load(state)
    assert bench.queues.by_name["q"].rules == QueueRules(3, "object")
    hooks.forget(state)
    assert bench.queues.by_name["q"].rules == ONE_BY_ONE


async def test_hooks_that_contradict_each_other_about_a_queue_are_refused_at_each_attempt(
    bench: Bench, jq: Jq, client: Client
) -> None:
    await bench.start(jq, client)
    hooks = hooks_of(bench, stating("m/a", 3), stating("m/b", 4))
    state = ModuleState(Module("m", "m", 1, Path(), Path()))
    for _ in range(2):
        with pytest.raises(BadHookConfig, match=r"m/b.*concurrency: 4.* in m/a; state the same in both"):
            await hooks.load(state)
    assert (state.loaded, bench.engine.hooks) == (False, {})


@pytest.mark.slow
async def test_a_module_turned_on_and_off_many_times_is_registered_once(bench: Bench, jq: Jq, client: Client) -> None:
    """One watch, one run for a change, one for each tick; and nothing is left when it is off."""
    bench.hook("h.sh", HOOK)
    await bench.start(jq, client)
    hook = replace(bench.engine.hooks["h.sh"], name="m/h.sh", module="m")
    bench.engine.unregister(bench.engine.hooks["h.sh"])
    bench.engine.let_modules_tick()
    bench.engine.open(own_queue("m"))

    now = asyncio.get_running_loop().time
    hooks = hooks_of(bench, hook)
    state = ModuleState(Module("m", "m", 1, Path("/nowhere"), Path("/nowhere")))
    for _ in range(several(1000)):
        await turn_on(hooks, state)
        hooks.disarm_schedules(state)
        hooks.forget(state)
    await bench.idle()
    assert (bench.cluster.open_watches, bench.engine.hooks, bench.shown()) == (0, {}, [])
    began = now()
    await turn_on(hooks, state)
    bench.cluster.put(config_map("new"))
    runs = await bench.wait_for_runs("h.sh", 4)
    assert now() - began > 1.9
    bindings = [context["binding"] for run in runs for context in run]
    assert (bindings.count("cms"), bench.cluster.open_watches) == (1, 1)


async def test_a_rate_limit_holds_back_runs_on_behalf_of_the_module_too(bench: Bench, jq: Jq, client: Client) -> None:
    bench.hook("h.sh", {"onStartup": 1, "settings": {"executionMinInterval": "100ms", "executionBurst": 1}})
    await bench.start(jq, client)
    await bench.wait_for_runs("h.sh", 1)
    hook, now = bench.engine.hooks["h.sh"], asyncio.get_running_loop().time
    direct, began = InlineRuns(bench.executor, bench.gate), now()
    for order in dispatch.startup_runs([hook]) * 3:
        await direct.run(hook, order)
    assert now() - began >= 0.2
