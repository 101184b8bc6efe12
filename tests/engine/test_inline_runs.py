"""Runs that go into no queue: what they wait for themselves. What they do: `tests/convergence/runs`. Level: sandbox."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookrunner.engine.hook_executor import PATIENCE, InlineRuns
from hookrunner.engine.run_gate import MissingSnapshot, RunGate
from hookrunner.errors import HookFailed
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType, Hook, HookConfig
from hookrunner.model.contexts import Context, ContextType
from hookrunner.model.tasks import HookRun, own_queue
from tests.engine.conftest import Bench
from tests.fakes.clocks import awkward, run_watched


def test_a_run_gives_up_on_its_snapshot_where_the_timer_is_early() -> None:
    run_watched(without_a_snapshot(), awkward(PATIENCE))


async def without_a_snapshot() -> None:
    nothing_is_watched: Any = {}
    now = asyncio.get_running_loop().time
    no_executor: Any = None
    direct = InlineRuns(no_executor, RunGate(nothing_is_watched, now, Metrics("")))
    contexts = (Context("b", ContextType.EVENT),)
    began, order = now(), HookRun("h", "b", BindingType.KUBERNETES, "main", contexts, unlocks=(0,))
    with pytest.raises(MissingSnapshot, match="waiting for the snapshot of binding 0, which nothing watches"):
        await direct.run(Hook("h", Path("/nowhere"), HookConfig("v1")), order)
    assert now() - began == pytest.approx(PATIENCE, abs=0.01)


async def of_a_module(bench: Bench, jq: Jq, client: Client, **binding: object) -> tuple[Hook, HookRun]:
    """A hook of a module, whose process fails, and the run of its Synchronization."""
    bench.hook("h.sh", {"kubernetes": [{"name": "cms", "kind": "ConfigMap", **binding}]}, "exit 1")
    await bench.start(jq, client)
    plain = bench.engine.hooks["h.sh"]
    bench.engine.unregister(plain)
    hook = replace(plain, name="m/h.sh", module="m")
    bench.engine.open(own_queue("m"))
    bench.engine.register(hook)
    (order,) = await bench.engine.listen(hook)
    return hook, order


async def test_an_allowed_failure_ends_the_synchronization_of_a_module(bench: Bench, jq: Jq, client: Client) -> None:
    hook, order = await of_a_module(bench, jq, client, allowFailure=True)
    await InlineRuns(bench.executor, bench.gate).run(hook, order)
    async with asyncio.timeout(60):
        await bench.engine.wait_for_synchronizations([hook])
    assert len(bench.runs("h.sh")) == 1


async def test_another_failure_is_raised_and_the_events_stay_locked(bench: Bench, jq: Jq, client: Client) -> None:
    hook, order = await of_a_module(bench, jq, client)
    with pytest.raises(HookFailed):
        await InlineRuns(bench.executor, bench.gate).run(hook, order)
    assert bench.activator.is_locked(order)
