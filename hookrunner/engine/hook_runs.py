"""One hook run, from the task to its outcome (shell-operator.md §6.4): rate limit, merge, snapshots, process, answer.

What a failure means for the task is decided here (`_failed`); what that does to the queue in `queues.settle`.
"""

import asyncio
from collections.abc import Callable

from hookrunner import log
from hookrunner.engine.hook_executor import HookExecutor
from hookrunner.engine.queues import Queue
from hookrunner.engine.run_gate import Notifier, Rates, snapshot_obstacle, unlock_bindings
from hookrunner.errors import HookFailed, HookrunnerError, PatchFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import MAIN, Hook
from hookrunner.model.tasks import (
    Done,
    Dropped,
    Failed,
    FilterRetry,
    HookRun,
    ModuleTask,
    Outcome,
    Postponed,
    Task,
    own_queue,
)
from kubetypes.timers import timeout_at

_log = log.get("hook-run")


class QueueRuns:
    """Runs hooks for the queues. `given_up` counts the tasks that were dropped after `maxAttempts`, `last_given_up`
    describes the last of them: for `/readyz`."""

    def __init__(self, executions: HookExecutor, rates: Rates, metrics: Metrics, clock: Callable[[], float]) -> None:
        self.given_up = 0
        self.last_given_up = ""
        self._executions = executions
        self._rates = rates
        self._metrics = metrics
        self._clock = clock

    async def run(self, hook: Hook, queue: Queue, task: Task) -> Outcome:
        """Run a HookRun task, merged with what may go with it."""
        if (wait := self._rates.take(hook, self._clock())) > 0:
            return Postponed(wait)
        queue.absorb(task)
        order = task.order
        assert isinstance(order, HookRun)
        self.waited(task)
        outcome = await self._logged(hook, order, task) if order.contexts else self._unheard(order)
        if isinstance(outcome, Done | Dropped) and queue.holds(task):
            unlock_bindings(self._executions.monitors, order)
        return outcome

    def waited(self, task: Task) -> None:
        """Count how long a task has waited for this attempt. Of those that enable bindings only global hooks' count:
        shell-operator does not know the others."""
        order = task.order
        if isinstance(order, HookRun | ModuleTask) or (not isinstance(order, FilterRetry) and order.module):
            waited = self._clock() - task.queued_at
            self._metrics.task_wait_in_queue_seconds.add(waited, *order.labels, *order.owner)

    def forget(self, hook: str) -> None:
        """A hook was removed; if it comes again, its rate may be another."""
        self._rates.forget(hook)

    def _unheard(self, order: HookRun) -> Outcome:
        """A Synchronization that the hook does not want to hear of."""
        self._executions.measures.took(order, 0.0)
        return Done()

    async def _logged(self, hook: Hook, order: HookRun, task: Task) -> Outcome:
        with log.bound(**order.fields, queue=order.queue, task=order.name):
            return await self._timed(hook, order, task)

    async def _timed(self, hook: Hook, order: HookRun, task: Task) -> Outcome:
        began = self._clock()
        where = (order.label, order.binding, *order.owner)
        self._metrics.event_latency_seconds.observe(began - task.queued_at, "started", *where)
        try:
            await self._executions.run(hook, order, task.tried)
        except (HookFailed, PatchFailed) as error:
            return self._failed(hook, order, task, error)
        else:
            return Done()
        finally:
            self._metrics.event_latency_seconds.observe(self._clock() - began, "done", *where)

    def _failed(self, hook: Hook, order: HookRun, task: Task, error: HookrunnerError) -> Outcome:
        """allowFailure, then the last attempt, then another try."""
        settings = hook.config.settings
        if order.allow_failure:
            self._executions.measures.failed(order, allowed=True)
            _log.info("Hook failed, but allowed to fail", error=str(error))
            return Done()
        self._executions.measures.failed(order)
        attempt = task.failures + 1
        if settings.max_attempts and attempt >= settings.max_attempts:
            return self._dropped(order, task, str(error))
        _log.error("Hook failed. Will retry after delay.", error=str(error), failed_count=attempt)
        # In the module's own queue it would hold up the module, which then could not even be turned off.
        in_the_way = order.queue == own_queue(order.module) != MAIN
        return Failed(str(error), park=in_the_way or settings.on_failure == "park")

    def _dropped(self, order: HookRun, task: Task, reason: str) -> Dropped:
        """Given up for good. Its events were told to nobody; later ones must not wait for it."""
        self._metrics.tasks_dropped.inc(order.label, order.binding, order.queue, *order.owner)
        self.given_up += 1
        self.last_given_up = task.describe()
        _log.error("Hook failed for the last time, the task is dropped.", error=reason, failed_count=task.failures + 1)
        return Dropped(reason)


PATIENCE = 1.0
"""Seconds for a snapshot that somebody must do something for: a CRD that is missing, a right. The next attempt is made
as soon as there is news."""


class SnapshotMissing(HookFailed):
    """A hook cannot run for want of a snapshot."""


class InlineRuns:
    """One run after another, each to its end. `progress` tells when snapshots may be there."""

    def __init__(self, executions: HookExecutor, rates: Rates, progress: Notifier, clock: Callable[[], float]) -> None:
        self._executions = executions
        self._rates = rates
        self._progress = progress
        self._clock = clock

    async def run(self, hook: Hook, order: HookRun) -> None:
        """Run it when its rate allows it and its snapshots are there, and open the gates that wait for it.

        Raises HookFailed, PatchFailed.
        """
        with log.bound(**order.fields, task=order.name):
            await self._paced(hook)
            await self._readable(order)
            if order.contexts:
                await self._run(hook, order)
            else:
                self._executions.measures.took(order, 0.0)
            unlock_bindings(self._executions.monitors, order)

    async def _run(self, hook: Hook, order: HookRun) -> None:
        try:
            await self._executions.run(hook, order, [])
        except (HookFailed, PatchFailed) as error:
            self._executions.measures.failed(order, order.allow_failure)
            if not order.allow_failure:
                raise
            _log.info("Hook failed, but allowed to fail", error=str(error))

    async def _paced(self, hook: Hook) -> None:
        # Nothing tells when a token is there but the time.
        while (pause := self._rates.take(hook, self._clock())) > 0:  # noqa: ASYNC110
            await asyncio.sleep(pause)

    async def _readable(self, order: HookRun) -> None:
        until = self._clock() + PATIENCE
        while found := snapshot_obstacle(self._executions.monitors, order):
            if not found.brief and self._clock() >= until:
                raise SnapshotMissing(f"{order.label}: waiting for the snapshot of {found.reason}")
            try:
                async with timeout_at(None if found.brief else until, self._clock()):
                    await self._progress.next()
            except TimeoutError:
                continue
