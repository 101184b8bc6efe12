"""Runs a hook for the API server, which waits for the answer until a deadline.

Outside of all queues: nothing is merged, nothing repeated. On its way to the hook a review waits for the snapshots that
the hook reads, for the hook's rate limit, and for its turn among all reviews; at the deadline, or when the API server
has gone, it stops wherever it is, and a process that runs for it is ended.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress

from hookrunner import log
from hookrunner.engine.hook_executor import HookExecutor
from hookrunner.engine.run_gate import RunGate
from hookrunner.errors import HookFailed, HookrunnerError
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Hook
from hookrunner.model.hook_runs import RunOptions
from hookrunner.model.operations import Answer
from hookrunner.model.tasks import HookRun
from kubetypes.light_dataclasses import dataclass

KILL_AFTER = 1.0
"""Seconds from SIGTERM to SIGKILL for a hook whose answer is no longer needed."""

_log = log.get(__name__)


class TooLate(HookFailed):
    """The deadline came first; the message says what was waited for."""


@dataclass(frozen=True, slots=True)
class ReviewRun:
    """A run whose answer is needed until `deadline` (event loop's time). `labels` are type and webhook for metrics;
    a dry run has no effect but an answer."""

    hook: Hook
    order: HookRun
    deadline: float
    labels: tuple[str, str]
    dry_run: bool = False


@dataclass(slots=True)
class _Stage:
    """How far a review has come."""

    waits_for: str = "the event loop"

    def report(self, reason: str) -> None:
        """Note what it waits for now."""
        self.waits_for = reason


class ReviewRuns:
    """Runs hooks for reviews, at most `concurrency` at once. A turn is held only while the hook runs, so that reviews
    that wait for snapshots hold up no other review. Conversions have turns of their own: an admission hook may read
    objects that have to be converted, and would wait for them indefinitely if admission hooks held all turns.
    """

    def __init__(self, executor: HookExecutor, gate: RunGate, metrics: Metrics, concurrency: int) -> None:
        self._executor = executor
        self._gate = gate
        self._turns = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(concurrency))
        self._metrics = metrics
        self._under_way = set[asyncio.Task[Answer]]()

    def obstacle(self, order: HookRun) -> str:
        """What the run would have to wait for, empty if nothing."""
        obstacle = self._gate.obstacle(order)
        return obstacle.reason if obstacle else ""

    async def can_run(self, order: HookRun, within: float) -> bool:
        """Wait at most `within` seconds for the snapshots that the run reads; are they usable?"""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._gate.wait_for_snapshots(order, _Stage().report)
        return not self.obstacle(order)

    async def run(self, request: ReviewRun) -> Answer:
        """Run a hook and carry out its answer. Raises HookFailed, most often TooLate, and PatchFailed."""
        stage, now = _Stage(), asyncio.get_running_loop().time
        if request.deadline <= now():
            raise TooLate("the time for an answer was over before the hook could be asked")
        task = asyncio.create_task(self._run(request, stage))
        self._under_way.add(task)
        task.add_done_callback(self._over)
        began = now()
        try:
            await asyncio.wait({task}, timeout=request.deadline - began)
            if task.done():
                return task.result()
            raise TooLate(f"no answer within {now() - began:.1f} s; was waiting for {stage.waits_for}")
        finally:
            task.cancel()

    def count_failure(self, order: HookRun, error: HookrunnerError) -> None:
        """Count and log a run that led to no answer."""
        self._executor.run_metrics.failed(order)
        _log.error("review not answered", **order.fields, error=error)

    def _over(self, task: asyncio.Task[Answer]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # `run` has reported it, if it was still waiting

    async def _run(self, request: ReviewRun, stage: _Stage) -> Answer:
        hook, order = request.hook, request.order
        turns = self._turns[request.labels[0]]
        with log.bound(**order.fields):
            async with AsyncExitStack() as turn:
                with self._measure(request, "waited"):
                    await self._gate.enter(order, stage.report)
                    stage.waits_for = "its turn among other reviews (see --webhook-concurrency)"
                    await turn.enter_async_context(turns)
                stage.waits_for = f"the hook {hook.name}"
                with self._measure(request, "hook"):
                    return await self._executor.run(hook, order, [], RunOptions(KILL_AFTER, request.dry_run), turn)

    @contextmanager
    def _measure(self, request: ReviewRun, stage: str) -> Iterator[None]:
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            yield
        finally:
            self._metrics.webhook_seconds.observe(clock() - began, *request.labels, stage)
