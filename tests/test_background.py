"""Background tasks: their failures, restarts and effect on readiness. Time is virtual. Level: pure."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from hookrunner import log
from hookrunner.background import STEADY, Background
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.names import Metrics
from hookrunner.status_views import StatusViews

pytestmark = pytest.mark.looptime

WATCH = "watch ConfigMap default/hookrunner"


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    async with asyncio.TaskGroup() as group:
        background = Background(group)
        yield background
        background.stop()


def failing(times: int) -> Callable[[], Awaitable[None]]:
    """Raises so many times, then runs."""
    left = [times]

    async def run() -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise KeyError("hunter2")
        await asyncio.sleep(3600)

    return run


async def test_a_task_does_not_inherit_the_log_fields_of_its_starter() -> None:
    """A queue may be opened while some module is run; its records are not that module's."""
    found: list[dict[str, object]] = [{"none": "yet"}]

    async def look() -> None:
        found[:] = [dict(log.bound_fields())]

    async with asyncio.TaskGroup() as group:
        with log.bound(module="a"):
            Background(group).keep("look", look, ends=True)
    assert found == [{}]


async def test_a_task_that_fails_again_and_again_makes_the_program_not_ready(background: Background) -> None:
    """It is named with its reason, which quotes no value, for as long as it has not run for a while."""
    background.keep(WATCH, failing(3))
    await asyncio.sleep(0.5)
    assert background.condition() == (True, "")  # once may be bad luck
    await asyncio.sleep(3)
    ready, message = background.condition()
    assert not ready
    assert message.startswith(f"{WATCH} failed 3 times since 20")
    assert "internal error: KeyError in test_background.py line" in message
    assert "hunter2" not in message
    assert list(background.failing()) == [WATCH]
    assert background.crashes == {WATCH: 3}
    await asyncio.sleep(4 + STEADY)
    assert background.condition() == (True, "")


async def test_a_task_that_ends_unexpectedly_is_started_again_and_logged(background: Background) -> None:
    async def end() -> None:
        return

    background.keep("events", end)
    background.keep("removal", end, ends=True)
    await asyncio.sleep(2)
    assert "events failed 2 times" in background.condition()[1]
    assert background.crashes == {"events": 2}


async def test_a_failure_now_and_then_does_not_add_up(background: Background) -> None:
    async def run() -> None:
        await asyncio.sleep(STEADY + 1)
        raise OSError

    background.keep("drift", run)
    await asyncio.sleep(10 * STEADY)
    assert background.crashes["drift"] > 5
    assert background.condition() == (True, "")


async def test_a_cancelled_task_no_longer_affects_readiness(background: Background) -> None:
    task = background.keep("drift", failing(99))
    await asyncio.sleep(5)
    assert not background.condition()[0]
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert background.condition() == (True, "")


async def test_of_many_failing_tasks_some_are_named(background: Background) -> None:
    for number in range(5):
        background.keep(f"watch {number}", failing(99))
    await asyncio.sleep(5)
    message = background.condition()[1]
    assert message.count("failed") == 3
    assert message.endswith("; and 2 more; the log has more, please report it")


async def test_readyz_names_the_task_that_fails_and_says_since_when(background: Background) -> None:
    views = StatusViews(Metrics(), HookMetrics())
    views.add(lambda: {"background": background.condition()})
    background.keep(WATCH, failing(99))
    await asyncio.sleep(5)
    condition = {each.name: each for each in views.conditions()}["background"]
    assert not condition.ready
    assert f"{WATCH} failed 3 times since" in condition.message
