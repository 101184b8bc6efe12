"""Runs of hooks are bounded while their module is deleted. Level: pure."""

import asyncio

import pytest

from hookrunner.engine.run_deadlines import RunDeadlines
from hookrunner.errors import HookFailed
from hookrunner.model.bindings import BindingType
from hookrunner.model.tasks import HookRun

pytestmark = pytest.mark.looptime


def order(type: BindingType = BindingType.BEFORE_HELM, module: str = "dns") -> HookRun:
    return HookRun("h", type, type, "main", (), module=module)


async def run(deadlines: RunDeadlines, order: HookRun, seconds: float) -> float:
    """When a run ends that takes so long."""
    async with deadlines.bound(order):
        await asyncio.sleep(seconds)
    return asyncio.get_running_loop().time()


async def test_run_under_way_is_ended_when_the_time_is_over() -> None:
    deadlines = RunDeadlines()
    running = asyncio.create_task(run(deadlines, order(), 600))
    await asyncio.sleep(10)
    deadlines.set("dns", 25)
    with pytest.raises(HookFailed, match="h was ended: dns is being deleted"):
        await running
    assert asyncio.get_running_loop().time() == pytest.approx(35, abs=0.1)


async def test_run_that_begins_later_has_what_is_left() -> None:
    deadlines = RunDeadlines()
    deadlines.set("dns", 25)
    await asyncio.sleep(20)
    assert await run(deadlines, order(), 4) == pytest.approx(24, abs=0.1)
    with pytest.raises(HookFailed):
        await run(deadlines, order(), 4)


async def test_hooks_of_the_deletion_and_of_other_modules_go_on() -> None:
    deadlines = RunDeadlines()
    deadlines.set("dns", 1)
    assert await run(deadlines, order(BindingType.AFTER_DELETE_HELM), 60) == pytest.approx(60, abs=0.1)
    assert await run(deadlines, order(module="other"), 60) == pytest.approx(120, abs=0.1)
    deadlines.forget("dns")
    assert await run(deadlines, order(), 60) == pytest.approx(180, abs=0.1)


async def test_timeout_of_the_run_itself_stays_one() -> None:
    with pytest.raises(TimeoutError):
        async with RunDeadlines().bound(order()):
            raise TimeoutError
