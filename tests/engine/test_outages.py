"""Tasks that failed while the API server was away are tried again when it is back. Level: pure."""

import asyncio

import pytest

from hookrunner.background import Background
from hookrunner.engine.queues import Queue, QueueParts
from hookrunner.engine.workers import Queues, retry_after
from hookrunner.kube.back_off import Outage
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType
from hookrunner.model.contexts import Context, ContextType
from hookrunner.model.tasks import Done, Failed, HookRun, Outcome, Task
from tests.fakes.gates import FakeGate

pytestmark = pytest.mark.looptime


async def test_a_hook_that_failed_in_an_outage_runs_again_at_its_end() -> None:
    loop, outage = asyncio.get_running_loop(), Outage()
    runs: list[float] = []

    async def run(queue: Queue, task: Task) -> Outcome:
        runs.append(loop.time())
        return Failed("kubectl: connection refused") if outage.is_under_way else Done()

    async with asyncio.TaskGroup() as group:
        background = Background(group)
        queues = Queues(QueueParts(FakeGate(), loop.time, Metrics("")))
        queues.open("main", run, background)
        background.keep("outages", lambda: retry_after(outage, queues, loop.time))
        outage.note_failure()
        queues.by_name["main"].enqueue(
            HookRun("h", "b", BindingType.SCHEDULE, "main", (Context("b", ContextType.SCHEDULE),))
        )
        await asyncio.sleep(60)
        ended = loop.time()
        outage.note_answer(200)
        await asyncio.sleep(1)
        background.stop()
    assert ended <= runs[-1] < ended + 1
