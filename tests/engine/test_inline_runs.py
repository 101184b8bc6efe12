"""Runs that go into no queue: what they wait for themselves. What they do: `tests/convergence/runs`."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hookrunner.engine.hook_executor import PATIENCE, InlineRuns
from hookrunner.engine.run_gate import MissingSnapshot, RunGate
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType, Hook, HookConfig
from hookrunner.model.contexts import Context, ContextType
from hookrunner.model.tasks import HookRun
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
