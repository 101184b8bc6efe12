"""A module's hooks come and go a thousand times. Level: sandbox."""

import asyncio
from dataclasses import replace

import pytest

from hookrunner.convergence.events import Notices
from hookrunner.convergence.runs.hook_loading import CompiledHooks
from hookrunner.convergence.runs.unit_hooks import UnitHooks
from hookrunner.engine.hook_executor import InlineRuns
from hookrunner.hooks.catalog import Catalog
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.model.bindings import Hook
from hookrunner.model.modules import Module
from hookrunner.model.tasks import own_queue
from hookrunner.model.unit_state import ModuleState
from hookrunner.model.units import Unit
from tests.convergence.runs.test_unit_hooks import turn_on
from tests.engine.conftest import Bench, bench, client, jq  # noqa: F401
from tests.examples import several
from tests.fakes.cluster import settle, until
from tests.fakes.objects import config_map

QUIET = {"name": "cms", "kind": "ConfigMap", "executeHookOnSynchronization": False}
CONFIG = {"kubernetes": [QUIET, {**QUIET, "name": "more", "queue": "other"}], "schedule": [{"crontab": "* * * * * *"}]}


@pytest.fixture
async def hooks(bench: Bench, jq: Jq, client: Client) -> UnitHooks:  # noqa: F811
    """Those of a module `m` with one hook, which runs for events and ticks only."""
    bench.hook("h.sh", CONFIG)
    await bench.start(jq, client)
    plain = bench.engine.hooks["h.sh"]
    bench.engine.unregister(plain)
    await bench.idle()
    hook: Hook = replace(plain, name="m/h.sh", module="m")
    bench.engine.open(own_queue("m"))
    bench.engine.let_modules_tick()

    async def load(unit: Unit) -> Catalog:
        return Catalog((hook,), ())

    return UnitHooks(
        load,
        bench.engine,
        bench.activator,
        InlineRuns(bench.executor, bench.gate).run,
        CompiledHooks(Notices()),
    )


@pytest.mark.slow
async def test_many_cycles_leave_no_task_watch_or_duplicate(
    bench: Bench,  # noqa: F811
    hooks: UnitHooks,
) -> None:
    state = ModuleState(Module("m", "m", 1, bench.directory, bench.directory))
    await turn_on(hooks, state)
    await settle()
    tasks = len(asyncio.all_tasks())
    for _ in range(several(1000)):
        hooks.disarm_schedules(state)
        hooks.forget(state)
        await turn_on(hooks, state)
    await until(lambda: len(asyncio.all_tasks()) <= tasks)  # the run of a tick may have to end
    assert (len(list(bench.monitors)), bench.cluster.open_watches) == (2, 1)
    before = len(bench.runs("h.sh"))
    bench.cluster.put(config_map("new"))
    began = asyncio.get_running_loop().time()

    def types() -> list[str]:
        return [context["type"] for run in bench.runs("h.sh")[before:] for context in run]

    await until(lambda: len(types()) >= 4 and types().count("Event") >= 2)
    assert types().count("Event") == 2, "one for each binding"
    assert types().count("Schedule") <= 2 + asyncio.get_running_loop().time() - began
    hooks.forget(state)
    await bench.idle()
    assert (bench.engine.hooks, list(bench.monitors), bench.cluster.open_watches) == ({}, [], 0)
