"""Runs of hooks that are tasks of a queue, and runs inside the run of a module. Both execute by `HookExecutor`.

A run of a queue has passed the gate and is merged when the queue gives it out. What its failure means for the task is
decided here (`_on_failure`); what that does to the queue in `queues.settle`.
"""

from collections.abc import Callable

from hookrunner import log
from hookrunner.engine.hook_executor import HookExecutor
from hookrunner.engine.queues import Queue
from hookrunner.engine.run_gate import RunGate
from hookrunner.errors import HookFailed, HookrunnerError, PatchFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import MAIN, Hook
from hookrunner.model.tasks import Done, Dropped, Failed, FilterRetry, HookRun, ModuleTask, Outcome, Task, own_queue

PATIENCE = 1.0
"""Seconds for a snapshot that needs something from outside: a CRD that is missing, a right. The next attempt is made
as soon as there is news."""

_log = log.get("hook-run")


class QueueRuns:
    """Runs hooks for the queues. `given_up` counts the tasks that were dropped after `maxAttempts`, `last_given_up`
    describes the last of them: for `/readyz`."""

    def __init__(self, executor: HookExecutor, gate: RunGate, metrics: Metrics, clock: Callable[[], float]) -> None:
        self.given_up = 0
        self.last_given_up = ""
        self._executor = executor
        self._gate = gate
        self._metrics = metrics
        self._clock = clock

    async def run(self, hook: Hook, queue: Queue, task: Task) -> Outcome:
        """Run a HookRun task."""
        order = task.order
        assert isinstance(order, HookRun)
        self.observe_wait(task)
        outcome = await self._run(hook, order, task) if order.contexts else self._skip_silent_synchronization(order)
        if isinstance(outcome, Done | Dropped) and queue.holds(task):
            self._gate.unlock(order)
        return outcome

    def observe_wait(self, task: Task) -> None:
        """Count how long a task has waited for this attempt. Of those that enable bindings only global hooks' count:
        shell-operator does not know the others."""
        order = task.order
        if isinstance(order, HookRun | ModuleTask) or (not isinstance(order, FilterRetry) and order.module):
            waited = self._clock() - task.queued_at
            self._metrics.task_wait_in_queue_seconds.add(waited, *order.labels, *order.owner)

    def _skip_silent_synchronization(self, order: HookRun) -> Outcome:
        """A Synchronization of a binding with `executeHookOnSynchronization: false`: it only lets events flow."""
        self._executor.run_metrics.took(order, 0.0)
        return Done()

    async def _run(self, hook: Hook, order: HookRun, task: Task) -> Outcome:
        began = self._clock()
        labels = (order.label, order.binding, *order.owner)
        self._metrics.event_latency_seconds.observe(began - task.queued_at, "started", *labels)
        with log.bound(**order.fields, queue=order.queue, task=order.name):
            try:
                await self._executor.run(hook, order, task.previous_attempt)
            except (HookFailed, PatchFailed) as error:
                return self._on_failure(hook, order, task, error)
            else:
                return Done()
            finally:
                self._metrics.event_latency_seconds.observe(self._clock() - began, "done", *labels)

    def _on_failure(self, hook: Hook, order: HookRun, task: Task, error: HookrunnerError) -> Outcome:
        """allowFailure, then the last attempt, then another attempt."""
        settings = hook.config.settings
        if self._executor.count_failure(order, error):
            return Done()
        attempt = task.failures + 1
        if settings.max_attempts and attempt >= settings.max_attempts:
            return self._give_up(order, task, str(error))
        _log.error("Hook failed. Will retry after delay.", error=str(error), failed_count=attempt)
        # In the module's own queue it would hold up the module, which then could not even be turned off.
        blocks_module = order.queue == own_queue(order.module) != MAIN
        return Failed(str(error), park=blocks_module or settings.on_failure == "park")

    def _give_up(self, order: HookRun, task: Task, reason: str) -> Dropped:
        """The last attempt has failed. The hook never learns of the task's events; later ones must not wait for it."""
        self._metrics.tasks_dropped.inc(order.label, order.binding, order.queue, *order.owner)
        self.given_up += 1
        self.last_given_up = task.describe()
        _log.error("Hook failed for the last time, the task is dropped.", error=reason, failed_count=task.failures + 1)
        return Dropped(reason)


class InlineRuns:
    """Runs a hook to its end for a caller that waits: hooks of a module while the module is run. They are in no queue,
    because the caller holds the queue of the module, and repeats what fails."""

    def __init__(self, executor: HookExecutor, gate: RunGate) -> None:
        self._executor = executor
        self._gate = gate

    async def run(self, hook: Hook, order: HookRun) -> None:
        """Run it when it may run, and let the events flow whose Synchronization it was.

        Raises SnapshotMissing, HookFailed, PatchFailed.
        """
        with log.bound(**order.fields, task=order.name):
            await self._gate.enter(order, _ignore, PATIENCE)
            if order.contexts:
                await self._run(hook, order)
            else:
                self._executor.run_metrics.took(order, 0.0)
            self._gate.unlock(order)

    async def _run(self, hook: Hook, order: HookRun) -> None:
        try:
            await self._executor.run(hook, order, [])
        except (HookFailed, PatchFailed) as error:
            if not self._executor.count_failure(order, error):
                raise


def _ignore(reason: str) -> None:
    """What an inline run waits for is shown nowhere."""
