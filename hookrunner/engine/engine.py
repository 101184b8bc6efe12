"""The engine: it knows the hooks, turns events and ticks into tasks, and starts their bindings.

`start` fills `main` and sets everything going, `stop` ends it in order. Hooks can come and go while it runs.
`BindingActivator` starts and stops the event sources of a hook: its monitors and its crontabs.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from hookrunner import log
from hookrunner.background import Background
from hookrunner.engine import dispatch
from hookrunner.engine.queues import Queue
from hookrunner.engine.run_gate import RunGate
from hookrunner.engine.workers import QueueRuns, Queues, RunModule
from hookrunner.jq.program import Jq
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import RunMetrics
from hookrunner.model.bindings import MAIN, Hook, QueuedBinding
from hookrunner.model.events import BindingId, FilterBroke, ObjectChanged, Progressed
from hookrunner.model.lanes import AgreedRules
from hookrunner.model.modules import GLOBAL
from hookrunner.model.tasks import Done, Dropped, EnableKubernetesBindings, Failed, HookRun, Order, Outcome, Task
from hookrunner.sources.monitor import Event, Monitor
from hookrunner.sources.monitors import Monitors
from hookrunner.sources.schedule import Schedules
from hookrunner.waits import Batches

_log = log.get(__name__)


class BindingActivator:
    """Starts and stops the event sources of a hook. To start them twice changes nothing."""

    def __init__(
        self, monitors: Monitors, schedules: Schedules, jq: Jq, metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self._monitors = monitors
        self._schedules = schedules
        self._jq = jq
        self._metrics = metrics
        self._run_metrics = RunMetrics(metrics, clock)
        self._clock = clock
        self._armed: dict[str, list[tuple[str, str]]] = {}

    async def activate_kubernetes(self, hook: Hook) -> tuple[HookRun, ...]:
        """Follow the objects of each binding and return the Synchronization runs.

        Waits until each binding has listed its objects or is known to need help from outside; such a binding is late,
        and its Synchronization waits in the queue, where other tasks pass it.
        """
        began = self._clock()
        monitors = [await self._open_monitor(hook, index) for index in range(len(hook.config.kubernetes))]
        await asyncio.gather(*(monitor.decided.wait() for monitor in monitors))
        late = [f"{monitor.binding.name}: {monitor.obstacle.reason}" for monitor in monitors if monitor.obstacle]
        labels = (hook.label, *hook.owner)
        self._metrics.hook_enable_kubernetes_bindings_seconds.set(self._clock() - began, *labels)
        self._metrics.hook_enable_kubernetes_bindings_errors.add(len(late), *labels)
        self._metrics.hook_enable_kubernetes_bindings_success.set(0 if late else 1, *labels)
        if late and hook.module == GLOBAL:
            self._run_metrics.not_enabled(hook)
        for reason in late:
            _log.warn("binding waits, everything else goes on", **hook.fields, reason=reason)
        return dispatch.synchronizations(hook, self._clock())

    def is_synchronized(self, hook: Hook) -> bool:
        """Do events flow for each binding with `waitForSynchronization`? Where each object has a run of its own, that
        has been tried then; one that fails is tried again, and no reason to wait."""
        waited = [i for i, binding in enumerate(hook.config.kubernetes) if binding.wait_for_synchronization]
        monitors = [self._monitors.get(BindingId(hook.name, index)) for index in waited]
        return all(monitor is not None and not monitor.locked and not monitor.untried for monitor in monitors)

    def is_locked(self, run: HookRun) -> bool:
        """Has the Synchronization of this run not happened yet?"""
        monitors = (self._monitors.get(BindingId(run.hook, index)) for index in run.unlocks)
        return any(monitor is not None and monitor.locked for monitor in monitors)

    def arm_schedules(self, hook: Hook) -> None:
        """Arm its crontabs."""
        if hook.name not in self._armed:
            self._armed[hook.name] = [(schedule.crontab, schedule.timezone) for schedule in hook.config.schedules]
            for entry in self._armed[hook.name]:
                self._schedules.arm(*entry)

    def deactivate(self, hook: Hook) -> None:
        """Stop everything that `activate_kubernetes` and `arm_schedules` have started."""
        for index in range(len(hook.config.kubernetes)):
            self._monitors.remove(BindingId(hook.name, index))
        self.disarm_schedules(hook)

    def disarm_schedules(self, hook: Hook) -> None:
        """Disarm its crontabs."""
        for entry in self._armed.pop(hook.name, []):
            self._schedules.disarm(*entry)

    async def refilter(self, broken: FilterBroke) -> Outcome:
        """Try a filter again that failed on an object."""
        monitor = self._monitors.get(broken.binding)
        reason = await monitor.refilter(broken.key, self._clock()) if monitor else ""
        if monitor and reason:
            labels = monitor.projection.labels
            self._metrics.filter_errors.inc(labels.hook, labels.binding, *labels.owner)
        return Failed(reason, park=True) if reason else Done()

    async def _open_monitor(self, hook: Hook, index: int) -> Monitor:
        id, binding = BindingId(hook.name, index), hook.config.kubernetes[index]
        if known := self._monitors.get(id):
            return known
        program = await self._jq.compile(binding.jq_filter) if binding.jq_filter else None
        return self._monitors.add(id, binding, program, hook.module)


class Engine:
    """Runs hooks; `hooks` are those it knows, by name and in name order: another mapping whenever one comes or goes.
    `progress` gives notice that a snapshot may have become usable, or that a task of the start is done."""

    def __init__(
        self, runs: QueueRuns, activator: BindingActivator, queues: Queues, gate: RunGate, background: Background
    ) -> None:
        self.hooks: Mapping[str, Hook] = {}
        self.progress = gate.progress
        self._modules_tick = False
        self._starting: list[Task] = []
        self._runs = runs
        self._activator = activator
        self._gate = gate
        self._queues = queues
        self._background = background
        self._rules = AgreedRules()

    def start(self, hooks: Iterable[Hook], monitors: Monitors, schedules: Schedules) -> None:
        """Register these hooks, in the order of a start, and begin to read events and ticks. Raises BadHookConfig as
        `register`."""
        self.open(MAIN)
        self.register(*hooks)
        for order in dispatch.startup(self.hooks.values()):
            self._starting.append(self._enqueue(order))
        self._background.keep("events", lambda: self._read_events(monitors.events))
        self._background.keep("ticks", lambda: self._read_ticks(schedules))

    def add(self, hook: Hook) -> None:
        """Register one more hook. Its onStartup run, if any, comes before its bindings are enabled."""
        self.register(hook)
        for order in dispatch.startup([hook]):
            self._enqueue(order)

    async def wait_for_start(self) -> None:
        """Wait until the global hooks have had their onStartup runs, and their Synchronizations unless
        `waitForSynchronization` is false."""
        mine = [task for task in self._starting if task.order.hook.startswith(f"{GLOBAL}/")]
        for task in mine:
            await task.over.wait()
        await self.wait_for_synchronizations([hook for hook in self.hooks.values() if hook.module == GLOBAL])

    async def listen(self, hook: Hook) -> tuple[HookRun, ...]:
        """Start a hook's monitors; returns the Synchronizations that have not happened yet. A second call starts
        nothing."""
        return tuple(run for run in await self._activator.activate_kubernetes(hook) if self._activator.is_locked(run))

    def enqueue_once(self, order: Order) -> Task:
        """The task of this order: a waiting one, or else a new one."""
        queue = self._queues.by_name[order.queue]
        same = (t for t in queue if t not in queue.running and t.order.name == order.name)
        return next((task for task in same if order.lanes <= task.order.lanes), None) or queue.enqueue(order)

    def wake(self) -> None:
        """Look again at all that waits: a snapshot may have become usable, or values known."""
        self._queues.wake()
        self.progress.notify()

    def let_modules_tick(self) -> None:
        """The first converge is over: from now on hooks of modules run for their crontabs, too."""
        self._modules_tick = True

    async def wait_for_synchronizations(self, hooks: Sequence[Hook]) -> None:
        """Wait until each binding of these hooks with `waitForSynchronization` has been synchronized."""
        while not all(map(self._activator.is_synchronized, hooks)):
            await self.progress.next()

    def _enqueue(self, order: Order) -> Task:
        return self._queues.by_name[order.queue].enqueue(order)

    def register(self, *hooks: Hook) -> None:
        """Make hooks known, and let their queues go by the rules that they state. The caller decides when their
        bindings begin. Raises BadHookConfig, and none is known, if one states other rules for a queue than another."""
        self._rules.add(hooks)
        self.hooks = dict(sorted({**self.hooks, **{hook.name: hook for hook in hooks}}.items()))
        for hook in hooks:
            self._gate.register(hook)
            self._follow_rules(hook)
            bindings: tuple[QueuedBinding, ...] = (*hook.config.schedules, *hook.config.kubernetes)
            for queue in {binding.queue for binding in bindings}:
                self.open(queue)

    def open(self, queue: str, run_module: RunModule | None = None) -> None:
        """Make sure that there is a queue of this name. `run_module` carries out the tasks of modules in it."""
        run = partial(self._runs.run, self, run_module)
        self._queues.open(queue, run, self._background, self._rules.of(queue))

    async def close(self, queue: str) -> None:
        """Remove a queue that nothing uses any more: what waits in it is dropped at once, what runs is waited for."""
        await self._queues.close(queue)

    def unregister(self, hook: Hook) -> None:
        """Forget a hook: no more events for it, and what waits is dropped. A run that is under way ends by itself; only
        what its hook asked for is carried out."""
        self.hooks = {name: other for name, other in self.hooks.items() if name != hook.name}
        self._activator.deactivate(hook)
        self._queues.forget(hook.name)
        self._gate.unregister(hook.name)
        self._rules.forget(hook)
        self._follow_rules(hook)
        self._runs.retire(hook)

    def _follow_rules(self, hook: Hook) -> None:
        """Let queues that are open go by the rules that hold now, as far as the hook states any."""
        for queue in hook.config.settings.queues:
            self._queues.set_rules(queue, self._rules.of(queue))

    async def enable(self, hook: Hook, queue: Queue, task: Task) -> Outcome:
        """Start the monitors of a hook and enqueue their Synchronizations, or arm its crontabs."""
        if not isinstance(task.order, EnableKubernetesBindings):
            self._activator.arm_schedules(hook)
            return Done()
        runs = await self._activator.activate_kubernetes(hook)
        runs = tuple(replace(run, activation=task.order.activation) for run in runs)
        return self._enqueue_synchronizations(queue, task, hook, runs)

    async def refilter(self, broken: FilterBroke) -> Outcome:
        """Try a filter again that failed on an object."""
        return await self._activator.refilter(broken)

    def _enqueue_synchronizations(self, queue: Queue, task: Task, hook: Hook, runs: tuple[HookRun, ...]) -> Outcome:
        """Runs for this queue come next in it; those for others go to the front of theirs."""
        if not queue.holds(task):
            self._activator.deactivate(hook)
            return Dropped("its hook was removed")
        self._queues.enqueue_first(run for run in runs if run.queue != queue.name)
        return Done(tuple(run for run in runs if run.queue == queue.name))

    async def _read_events(self, events: Batches[Event]) -> None:
        while True:
            for event in await events.next_batch():
                self._dispatch(event)

    def _dispatch(self, event: Event) -> None:
        hook = self.hooks.get(event.binding.hook)
        match event:
            case Progressed():
                self.wake()
            case _ if hook is None:
                return
            case ObjectChanged():
                self._enqueue(dispatch.for_change(hook, event))
            case FilterBroke():
                _log.error("filter failed on an object", **hook.fields, object=str(event.key), reason=event.reason)
                self._enqueue(dispatch.for_broken_filter(hook, event))

    async def _read_ticks(self, schedules: Schedules) -> None:
        async for tick in schedules:
            hooks = (hook for hook in self.hooks.values() if self._modules_tick or not hook.module)
            for run in dispatch.for_tick(hooks, tick):
                self._enqueue(run)
