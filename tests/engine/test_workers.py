"""All queues with their workers, in virtual time: how they end. What a queue does: test_queues.py. Level: pure."""

import asyncio
import io
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hookrunner import log
from hookrunner.background import Background
from hookrunner.engine.queues import Queue, QueueParts
from hookrunner.engine.workers import Queues
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType, QueueRules
from hookrunner.model.contexts import Context, ContextType
from hookrunner.model.tasks import Done, HookRun, Order, Outcome, Task, UnitTask
from tests.fakes.gates import FakeGate
from tests.tables import each

pytestmark = pytest.mark.looptime


@asynccontextmanager
async def running(seconds: float, *more: Order) -> AsyncIterator[Queues]:
    """Queues with a hook that runs for so long; `more` run as long, each in its own queue."""
    begun = asyncio.Semaphore(0)

    async def run(queue: Queue, task: Task) -> Outcome:
        begun.release()
        await asyncio.sleep(seconds)
        return Done()

    async with asyncio.TaskGroup() as group:
        background = Background(group)
        queues = Queues(QueueParts(FakeGate(), asyncio.get_running_loop().time, Metrics("")))
        for order in (schedule("h"), *more):
            queues.open(order.queue, run, background)
            queues.by_name[order.queue].enqueue(order)
            await begun.acquire()
        yield queues
        background.stop()


def schedule(hook: str) -> HookRun:
    return HookRun(hook, "b", BindingType.SCHEDULE, "main", (Context("b", ContextType.SCHEDULE),))


@each(("seconds", "waited"), [(3.0, 3.0), (3600.0, 25.0)], ids=["ends in time", "takes longer"])
async def test_a_running_hook_is_waited_for_until_it_ends_or_its_grace(seconds: float, waited: float) -> None:
    now = asyncio.get_running_loop().time
    async with running(seconds) as queues:
        began = now()
        await queues.stop(25.0)
        assert now() - began == pytest.approx(waited, abs=0.01)


async def test_an_open_queue_takes_other_rules_without_a_restart() -> None:
    """Of five hooks that run for three seconds each, the first is alone; then three rules hold, then one."""
    now = asyncio.get_running_loop().time
    async with running(3.0) as queues:
        tasks = [queues.by_name["main"].enqueue(schedule(f"h{number}")) for number in range(5)]
        queues.set_rules("main", QueueRules(concurrency=3))
        asyncio.get_running_loop().call_later(5.0, queues.set_rules, "main", QueueRules())
        began, ends = now(), list[int]()
        for task in tasks:
            await task.over.wait()
            ends.append(round(now() - began))
    assert ends == [6, 6, 6, 9, 12]


async def test_hooks_that_are_waited_for_are_named() -> None:
    log.configure("text", "info", printed := io.StringIO())
    inline = HookRun("ingress/b.sh", "b", BindingType.SCHEDULE, "q", (), module="ingress")
    modules = [UnitTask("ModuleRun", name, "Converge") for name in ("ingress", "dns")]
    async with running(3.0, *modules) as queues:
        closing = asyncio.ensure_future(queues.close("main"))
        await asyncio.sleep(0)
        await queues.stop(25.0, [(inline, 0.0)])
        await closing
    log.flush(1.0)
    log.configure("text", "info", sys.__stderr__ or sys.stderr)
    assert r'hooks="[\"b.sh\",\"h\",\"module dns\"]"' in printed.getvalue()


async def test_closed_queue_drops_what_waits_and_lets_end_what_runs() -> None:
    async with running(3.0) as queues:
        waiting = queues.by_name["main"].enqueue(HookRun("h", "b", BindingType.SCHEDULE, "main", ()))
        closing = asyncio.ensure_future(queues.close("main"))
        await asyncio.sleep(0)
        assert (waiting.over.is_set(), [queue.name for queue in queues]) == (True, [])
        began, now = asyncio.get_running_loop().time(), asyncio.get_running_loop().time
        await queues.stop(25.0)
        assert now() - began == pytest.approx(3.0, abs=0.01), "its last hook is waited for"
        await closing
        await queues.close("main")  # once more


async def test_queue_that_is_closed_and_opened_again_works() -> None:
    async with running(3.0) as queues:

        async def run(queue: Queue, task: Task) -> Outcome:
            return Done()

        closing = asyncio.ensure_future(queues.close("main"))
        await asyncio.sleep(0)
        async with asyncio.TaskGroup() as group:
            background = Background(group)
            queues.open("main", run, background)
            await queues.by_name["main"].enqueue(HookRun("h", "b", BindingType.SCHEDULE, "main", ())).over.wait()
            background.stop()
        await closing
