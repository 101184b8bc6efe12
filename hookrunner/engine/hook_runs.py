"""One hook run, from the task to its outcome (shell-operator.md §6.4): rate limit, merge, snapshots, process, answer.

What a failure means for the task is decided here (`_failed`); what that does to the queue in `queues.settle`.
"""

from collections.abc import Callable

from hookrunner import log
from hookrunner.engine import readings
from hookrunner.engine.apply import Applier
from hookrunner.engine.queues import Queue
from hookrunner.engine.rates import Bucket
from hookrunner.errors import HookFailed, HookrunnerError, PatchFailed
from hookrunner.hooks.run import ExitedBadly, Runner, Usage
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Hook
from hookrunner.model.tasks import Done, Dropped, Failed, HookRun, Outcome, Postponed, Task
from hookrunner.sources.monitors import Monitors

_log = log.get("hook-run")


class HookRuns:
    """Runs hooks for the queues. `given_up` counts the tasks that were dropped after `maxAttempts`, `last_given_up`
    describes the last of them: for `/readyz`."""

    def __init__(
        self, runner: Runner, applier: Applier, monitors: Monitors, metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self.given_up = 0
        self.last_given_up = ""
        self.running: dict[int, tuple[HookRun, float]] = {}
        self._runner = runner
        self._applier = applier
        self._monitors = monitors
        self._metrics = metrics
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}

    async def run(self, hook: Hook, queue: Queue, task: Task) -> Outcome:
        """Run a HookRun task, merged with what may go with it."""
        if (wait := self._bucket(hook).take(self._clock())) > 0:
            return Postponed(wait)
        queue.absorb(task)
        order = task.order
        assert isinstance(order, HookRun)
        outcome = await self._logged(hook, order, task) if order.contexts else self._unheard(order)
        if isinstance(outcome, Done | Dropped) and queue.holds(task):
            readings.unlock(self._monitors, order)
        return outcome

    def forget(self, hook: str) -> None:
        """A hook was removed; if it comes again, its rate may be another."""
        self._buckets.pop(hook, None)

    def _unheard(self, order: HookRun) -> Outcome:
        """A Synchronization that the hook does not want to hear of."""
        self._metrics.hook_run_seconds.observe(0.0, *order.labels)
        return Done()

    async def _logged(self, hook: Hook, order: HookRun, task: Task) -> Outcome:
        with log.bound(
            hook=order.hook, binding=order.binding, event=order.binding_type, queue=order.queue, task=order.name
        ):
            return await self._timed(hook, order, task)

    async def _timed(self, hook: Hook, order: HookRun, task: Task) -> Outcome:
        labels = order.labels
        began = self._clock()
        self._metrics.task_wait_in_queue_seconds.add(began - task.queued_at, *labels)
        self._metrics.event_latency_seconds.observe(began - task.queued_at, "started", order.hook, order.binding)
        self.running[task.id] = (order, began)
        _log.debug("Execute hook", contexts=len(order.contexts))
        try:
            await self._execute(hook, order, task)
        except (HookFailed, PatchFailed) as error:
            return self._failed(hook, order, task, error)
        else:
            self._metrics.hook_run_success.inc(*labels)
            _log.info("Hook executed successfully", seconds=round(self._clock() - began, 4))
            return Done()
        finally:
            del self.running[task.id]
            seconds = self._clock() - began
            self._metrics.hook_run_seconds.observe(seconds, *labels)
            self._metrics.event_latency_seconds.observe(seconds, "done", order.hook, order.binding)

    async def _execute(self, hook: Hook, order: HookRun, task: Task) -> None:
        snapshots = readings.snapshots(self._monitors, order)
        try:
            result = await self._runner.run(hook, order.contexts, snapshots)
        except ExitedBadly as failure:
            await self._carry_out_despite(failure)
            raise
        self._record(order, result.usage)
        await self._applier.apply(hook.name, result.answer, task.tried)

    async def _carry_out_despite(self, failure: ExitedBadly) -> None:
        """Operations with `ignoreHookError` (§7.1). What becomes of them must not hide why the hook failed."""
        try:
            await self._applier.carry_out(failure.operations, [])
        except PatchFailed as error:
            _log.error("An operation with ignoreHookError failed.", error=str(error))

    def _record(self, order: HookRun, usage: Usage) -> None:
        labels = order.labels
        self._metrics.hook_run_user_cpu_seconds.observe(usage.user_seconds, *labels)
        self._metrics.hook_run_sys_cpu_seconds.observe(usage.system_seconds, *labels)
        self._metrics.hook_run_max_rss_bytes.set(usage.max_rss_bytes, *labels)

    def _failed(self, hook: Hook, order: HookRun, task: Task, error: HookrunnerError) -> Outcome:
        """allowFailure, then the last attempt, then another try."""
        labels = order.labels
        settings = hook.config.settings
        if order.allow_failure:
            self._metrics.hook_run_allowed_errors.inc(*labels)
            _log.info("Hook failed, but allowed to fail", error=str(error))
            return Done()
        self._metrics.hook_run_errors.inc(*labels)
        attempt = task.failures + 1
        if settings.max_attempts and attempt >= settings.max_attempts:
            return self._dropped(order, task, str(error))
        _log.error("Hook failed. Will retry after delay.", error=str(error), failed_count=attempt)
        return Failed(str(error), park=settings.on_failure == "park")

    def _dropped(self, order: HookRun, task: Task, reason: str) -> Dropped:
        """Given up for good. Its events were told to nobody; later ones must not wait for it."""
        self._metrics.tasks_dropped.inc(order.hook, order.binding, order.queue)
        self.given_up += 1
        self.last_given_up = task.describe()
        _log.error("Hook failed for the last time, the task is dropped.", error=reason, failed_count=task.failures + 1)
        return Dropped(reason)

    def _bucket(self, hook: Hook) -> Bucket:
        settings = hook.config.settings
        return self._buckets.setdefault(hook.name, Bucket(settings.min_interval, settings.burst))
