"""All queues by name, each with a worker of its own (`Queues`), and how a worker runs a task (`QueueRuns`).

A run of a queue has passed the gate and is merged when it is dequeued. What its failure means for the task is
decided here (`_on_failure`); what that does to the queue in `queues.settle`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeAlias

from hookrunner import log
from hookrunner.background import Background
from hookrunner.engine import dispatch
from hookrunner.engine.hook_executor import HookExecutor
from hookrunner.engine.queues import Clock, Queue, QueueParts
from hookrunner.engine.run_gate import RunGate
from hookrunner.errors import HookFailed, HookrunnerError, PatchFailed, internal
from hookrunner.kube.back_off import Outage
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import MAIN, ONE_BY_ONE, Hook, OnFailure, QueueRules
from hookrunner.model.events import FilterBroke
from hookrunner.model.hook_runs import RunOptions
from hookrunner.model.tasks import (
    Done,
    Dropped,
    EnableKubernetesBindings,
    EnableScheduleBindings,
    Failed,
    FilterRetry,
    HookRun,
    Order,
    Outcome,
    Task,
    UnitTask,
    own_queue,
)

Run: TypeAlias = Callable[[Queue, Task], Awaitable[Outcome]]
RunModule: TypeAlias = Callable[[UnitTask], Awaitable[Outcome]]
"""Runs or deletes a module."""

_MARGIN = 5.0
"""Seconds by which a hook may notice an outage before hookrunner, which learns of it by its own next request."""

_log = log.get(__name__)


class Queues:
    """Opens queues when they are first named; `open` starts the worker, `close` ends it. `by_name` are
    those that are open."""

    def __init__(self, parts: QueueParts) -> None:
        self._parts = parts
        self.by_name: dict[str, Queue] = {}
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._ending: dict[asyncio.Task[None], Queue] = {}
        """Closed queues by their workers, while their last task runs."""

    def __iter__(self) -> Iterator[Queue]:
        return iter(tuple(self.by_name.values()))

    def open(self, name: str, run: Run, background: Background, rules: QueueRules = ONE_BY_ONE) -> None:
        """Make sure that there is a queue of this name with these rules, and a worker that calls `run` for each
        task."""
        if name not in self.by_name:
            queue = self.by_name[name] = Queue(name, self._parts)
            self._workers[name] = background.keep(f"queue {name}", lambda: work(queue, run), ends=True)
        self.set_rules(name, rules)

    def set_rules(self, name: str, rules: QueueRules) -> None:
        """Let a queue, if there is one of this name, go by other rules from now on."""
        if name in self.by_name:
            self.by_name[name].set_rules(rules)

    async def close(self, name: str) -> None:
        """Remove a queue, if there is one of this name: what waits in it is dropped at once, what runs is waited
        for."""
        if (queue := self.by_name.pop(name, None)) is None:
            return
        queue.drop_waiting()
        queue.close()
        worker = self._workers.pop(name)
        self._ending[worker] = queue
        worker.add_done_callback(self._ending.pop)
        await asyncio.wait([worker])

    def enqueue_first(self, orders: Iterable[Order]) -> None:
        """Add tasks at the front of their queues, in this order."""
        for order in reversed(tuple(orders)):
            self.by_name[order.queue].enqueue_first([order])

    def wake(self) -> None:
        """Let all queues check again what held their tasks up."""
        for queue in self:
            queue.wake()

    def hurry_failed(self, since: float) -> None:
        """Try again at once what has failed since that time."""
        for queue in self:
            queue.hurry_failed(since)

    def forget(self, hook: str) -> None:
        """Drop what waits for a hook."""
        for queue in self:
            queue.forget(hook)

    def inline(self, running: Iterable[tuple[HookRun, float]]) -> list[tuple[HookRun, float]]:
        """Of the runs of this moment those that belong to the task of a module, not to a task of their own. Runs for
        reviews have no queue."""
        own = [task.order for queue in self for task in queue.running]
        return [(run, began) for run, began in running if run.queue and not any(run is order for order in own)]

    async def stop(self, grace: float, running: Iterable[tuple[HookRun, float]] = ()) -> None:
        """Give out no more tasks, and wait for running hooks as long as the grace allows. `running` are the runs of
        this moment, which the log names."""
        for queue in self:
            queue.close()
        busy = {self._workers[queue.name]: queue for queue in self if _runs_a_hook(queue)}
        for worker in set(self._workers.values()) - busy.keys():
            worker.cancel()
        busy |= self._ending
        if busy:
            names = _waited_for(busy.values(), self.inline(running))
            _log.info(f"waiting up to {grace:g}s for running hooks", hooks=names)
            await asyncio.wait(busy, timeout=grace)

    async def wait_for_workers(self, patience: float) -> None:
        """Wait until no worker is left; after `patience` seconds they are cancelled, even if they are writing."""
        _, left = await asyncio.wait([*self._workers.values(), *self._ending], timeout=patience)
        for worker in left:
            worker.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def _waited_for(queues: Iterable[Queue], inline: Iterable[tuple[HookRun, float]]) -> list[str]:
    """The hooks that run in these queues; a module where its run waits for no hook of its own."""
    orders = [task.order for queue in queues for task in queue.running]
    hooks = {order.label for order in orders if isinstance(order, HookRun)}
    for unit in (order.unit for order in orders if isinstance(order, UnitTask)):
        hooks |= {run.label for run, _ in inline if run.module == unit} or {f"module {unit}"}
    return sorted(hooks)


def _runs_a_hook(queue: Queue) -> bool:
    return any(isinstance(task.order, HookRun | UnitTask) for task in queue.running)


async def work(queue: Queue, run: Run) -> None:
    """Work on a queue until it is closed, on as many tasks at once as its rules say at the time."""
    async with asyncio.TaskGroup() as runs:
        while (task := await queue.dequeue()) is not None:
            if queue.rules.concurrency > 1:
                runs.create_task(_carry_out(queue, task, run), name=f"queue {queue.name}: {task.describe()}")
            else:
                await _carry_out(queue, task, run)


async def _carry_out(queue: Queue, task: Task, run: Run) -> None:
    """Any error inside a task is that task's failure."""
    queue.settle(task, await _outcome(queue, task, run))


async def _outcome(queue: Queue, task: Task, run: Run) -> Outcome:
    try:
        return await run(queue, task)
    except Exception as error:
        _log.exception("task failed in an unforeseen way and will be tried again; please report this")
        return Failed(internal(error))


async def retry_after(outage: Outage, queues: Queues, clock: Clock) -> None:
    """Hurry the tasks that failed in an outage, for whatever reason; never ends. Only the hook knows why its kubectl
    failed; a failure of another kind has one early attempt."""
    async for seconds in outage.ends():
        queues.hurry_failed(clock() - seconds - _MARGIN)


class HookBindings(Protocol):
    """The hooks by name, and what starts their bindings."""

    @property
    def hooks(self) -> Mapping[str, Hook]: ...

    async def enable(self, hook: Hook, queue: Queue, task: Task) -> Outcome:
        """Start what makes a hook run: its monitors or its crontabs."""

    async def refilter(self, broken: FilterBroke) -> Outcome:
        """Try a filter again that failed on an object."""


class QueueRuns:
    """Runs the tasks of queues. `given_up` counts the tasks that were dropped after `maxAttempts`, `last_given_up`
    describes the last of them: for `/readyz`."""

    def __init__(self, executor: HookExecutor, gate: RunGate, metrics: Metrics, clock: Callable[[], float]) -> None:
        self.given_up = 0
        self.last_given_up = ""
        self._executor = executor
        self._gate = gate
        self._metrics = metrics
        self._clock = clock

    async def run(self, bindings: HookBindings, run_module: RunModule | None, queue: Queue, task: Task) -> Outcome:
        """Run a task by the kind of its order. `run_module` is None for queues without tasks of modules."""
        if isinstance(task.order, UnitTask):
            self.observe_wait(task)
            return await run_module(task.order) if run_module else Dropped("there are no modules")
        hook = bindings.hooks.get(task.order.hook)
        if hook is None:
            return Dropped("its hook was removed")
        self.observe_wait(task)
        match task.order:
            case HookRun() as order:
                return await self._run_hook(hook, order, queue, task)
            case FilterRetry(broken=broken):
                return await bindings.refilter(broken)
            case EnableKubernetesBindings() | EnableScheduleBindings():
                return await bindings.enable(hook, queue, task)

    def retire(self, hook: Hook) -> None:
        """The hook is removed: nothing of it is kept."""
        self._executor.processes.retire(hook)

    async def _run_hook(self, hook: Hook, order: HookRun, queue: Queue, task: Task) -> Outcome:
        outcome = await self._run(hook, order, task) if order.contexts else self._open_bindings(hook, order)
        if isinstance(outcome, Done | Dropped) and queue.holds(task):
            self._gate.unlock(order)
        if self._gate.note_tried(order) or order.unlocks:
            self._gate.progress.notify()
        return outcome

    def observe_wait(self, task: Task) -> None:
        """Count how long a task has waited for this attempt. Of those that enable bindings only global hooks' count:
        shell-operator does not know the others."""
        order = task.order
        if isinstance(order, HookRun | UnitTask) or (not isinstance(order, FilterRetry) and order.module):
            waited = self._clock() - task.queued_at
            self._metrics.task_wait_in_queue_seconds.add(waited, *order.labels, *order.owner)

    def _open_bindings(self, hook: Hook, order: HookRun) -> Outcome:
        """A Synchronization that is no run itself lets events flow, where the binding has one for each object, behind
        these."""
        each = [index for index in order.unlocks if dispatch.synchronizes_each(hook, index)]
        if not each:
            self._executor.run_metrics.took(order, 0.0)
        return Done(dispatch.for_each_object(hook, order, self._gate.begin_with_each(order, each)))

    async def _run(self, hook: Hook, order: HookRun, task: Task) -> Outcome:
        began = self._clock()
        labels = (order.label, order.binding, *order.owner)
        self._metrics.event_latency_seconds.observe(began - task.queued_at, "started", *labels)
        with log.bound(**order.fields, queue=order.queue, task=order.name):
            options = RunOptions(attempt=task.failures + 1, progress=task.progress)
            try:
                answer = await self._executor.run(hook, order, task.previous_attempt, options)
            except (HookFailed, PatchFailed) as error:
                return self._on_failure(hook, order, task, error)
            else:
                return Done(again_after=answer.again_after)
            finally:
                task.progress.text = ""
                self._metrics.event_latency_seconds.observe(self._clock() - began, "done", *labels)

    def _on_failure(self, hook: Hook, order: HookRun, task: Task, error: HookrunnerError) -> Outcome:
        """allowFailure, then the last attempt, then another attempt."""
        settings = hook.config.settings
        if self._executor.count_failure(order, error):
            return Done()
        attempt = task.failures + 1
        if settings.max_attempts and attempt >= settings.max_attempts:
            return self._give_up(order, task, error)
        _log.error("Hook failed. Will retry after delay.", error=error, failed_count=attempt)
        # In the module's own queue it would hold up the module, which then could not even be turned off.
        blocks_module = order.queue == own_queue(order.module) != MAIN
        return Failed(str(error), park=blocks_module or _parks(settings.on_failure))

    def _give_up(self, order: HookRun, task: Task, error: HookrunnerError) -> Dropped:
        """The last attempt has failed. The hook never learns of the task's events; later ones must not wait for it."""
        self._metrics.tasks_dropped.inc(order.label, order.binding, order.queue, *order.owner)
        self.given_up += 1
        self.last_given_up = task.describe()
        _log.error("hook failed for the last time, the task is dropped", error=error, failed_count=task.failures + 1)
        return Dropped(str(error))


def _parks(policy: OnFailure) -> bool:
    match policy:
        case "retry":
            return False
        case "park":
            return True
