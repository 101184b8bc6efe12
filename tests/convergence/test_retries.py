"""When a module that failed runs again, in virtual time: what ends its back-off, and what does not."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hookrunner.background import Background
from hookrunner.convergence.runs.module_tasks import ModuleTasks
from hookrunner.convergence.state import ModuleState, ModuleStates
from hookrunner.engine.queue_set import Queues
from hookrunner.errors import HookFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Choice, Decision, Module
from hookrunner.model.tasks import ModuleTask, Outcome, Task, own_queue

pytestmark = pytest.mark.looptime
NOWHERE = Path("/nowhere")


class Runs:
    """Stands for runs of modules: remembers them with their seconds; those in `broken` fail."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.seen: list[tuple[float, str]] = []
        self.changed = asyncio.Event()

    async def run(self, state: ModuleState) -> None:
        self.seen.append((asyncio.get_running_loop().time(), state.module.name))
        self.changed.set()
        if state.module.name in self.broken:
            raise HookFailed("broken")

    def told(self, state: ModuleState, reason: str) -> str:
        return reason

    async def until(self, count: int) -> None:
        while len(self.seen) < count:
            self.changed.clear()
            await self.changed.wait()
        await asyncio.sleep(0)


@pytest.fixture
async def world() -> AsyncIterator[SimpleNamespace]:
    """Modules `a` and `b` that are on, each with its queue and worker."""
    states, runs, clock = (
        ModuleStates([Module(n, n, 1, NOWHERE, NOWHERE) for n in "ab"]),
        Runs(),
        asyncio.get_running_loop().time,
    )
    queues = Queues(lambda _: None, clock, Metrics(), 100)
    both: Any = (runs, runs)
    tasks = ModuleTasks(states, both, queues, Metrics(), clock)

    async def run(_: object, task: Task) -> Outcome:
        assert isinstance(task.order, ModuleTask)
        return await tasks.carry_out(task.order)

    async with asyncio.TaskGroup() as group:
        background = Background(group)
        for state in states:
            state.decide(Decision(Choice.ON))
            queues.open(own_queue(state.module.name), run, background)
        yield SimpleNamespace(states=states, tasks=tasks, runs=runs)
        await queues.stop(0)
        background.stop()


async def fail(world: SimpleNamespace, *names: str) -> None:
    """Let these modules fail once."""
    world.runs.broken |= {*names}
    for name in names:
        world.tasks.request(world.states[name], "test")
    await world.runs.until(len(names))


async def test_a_failed_module_runs_again_after_its_back_off(world: SimpleNamespace) -> None:
    await fail(world, "a")
    await world.runs.until(2)
    (first, _), (second, _) = world.runs.seen
    assert second - first >= 5


async def test_what_is_asked_of_a_failed_module_ends_its_back_off(world: SimpleNamespace) -> None:
    await fail(world, "a")
    world.runs.broken.clear()
    world.tasks.request(world.states["a"], "edit")
    await world.runs.until(2)
    assert world.runs.seen == [(0, "a"), (0, "a")]
    assert world.states["a"].error == ""


async def test_a_module_that_works_again_ends_the_back_off_of_others_that_failed(world: SimpleNamespace) -> None:
    await fail(world, "a", "b")
    world.runs.broken.clear()
    world.tasks.request(world.states["a"], "edit")
    await world.runs.until(4)
    assert world.runs.seen[2:] == [(0, "a"), (0, "b")]


async def test_a_module_that_never_failed_leaves_the_back_off_of_others(world: SimpleNamespace) -> None:
    await fail(world, "b")
    world.tasks.request(world.states["a"], "edit")
    await world.runs.until(3)
    assert [name for _, name in world.runs.seen] == ["b", "a", "b"]
    assert world.runs.seen[2][0] >= 5
