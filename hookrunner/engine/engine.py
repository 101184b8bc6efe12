"""The engine: it knows the hooks, turns events and ticks into tasks, and says what each kind of task means.

`start` fills `main` and sets everything going, `stop` ends it in order. Hooks can come and go while it runs.
"""

from collections.abc import Iterable, Mapping

from hookrunner import log
from hookrunner.background import Background
from hookrunner.engine import dispatch
from hookrunner.engine.enabling import Enabling
from hookrunner.engine.hook_runs import HookRuns
from hookrunner.engine.progress import Progress
from hookrunner.engine.queue_set import Queues
from hookrunner.engine.queues import Queue
from hookrunner.model.bindings import MAIN, Hook, QueuedBinding
from hookrunner.model.events import FilterBroke, ObjectChanged, Progressed
from hookrunner.model.tasks import (
    Done,
    Dropped,
    EnableKubernetesBindings,
    EnableScheduleBindings,
    FilterRetry,
    HookRun,
    Outcome,
    Task,
)
from hookrunner.sources.monitor import Event
from hookrunner.sources.monitors import Monitors
from hookrunner.sources.schedule import Schedules

_log = log.get("engine")


class Engine:
    """Runs hooks; `hooks` are those it knows, by name and in name order: another mapping whenever one comes or goes.
    `progress` tells that a snapshot may have become usable."""

    def __init__(self, runs: HookRuns, enabling: Enabling, queues: Queues, background: Background) -> None:
        self.hooks: Mapping[str, Hook] = {}
        self.progress = Progress()
        self._runs = runs
        self._enabling = enabling
        self._queues = queues
        self._background = background

    def start(self, hooks: Iterable[Hook], monitors: Monitors, schedules: Schedules) -> None:
        """Take these hooks on, in the order of §6.2, and begin to listen."""
        self._queues.open(MAIN, self._run, self._background)
        for hook in hooks:
            self._register(hook)
        for order in dispatch.startup(self.hooks.values()):
            self._queues.put(order)
        self._background.keep("events", lambda: self._read_events(monitors))
        self._background.keep("ticks", lambda: self._read_ticks(schedules))

    def add(self, hook: Hook) -> None:
        """Take on one more hook. Its onStartup run, if any, comes before its bindings are enabled."""
        self._register(hook)
        for order in dispatch.startup([hook]):
            self._queues.put(order)

    def remove(self, hook: Hook) -> None:
        """Forget a hook: no more events for it, and what waits is dropped. A run that is under way ends by itself, and
        nothing comes of it but what the hook has asked for."""
        self.hooks = {name: one for name, one in self.hooks.items() if name != hook.name}
        self._enabling.disable(hook)
        self._queues.forget(hook.name)
        self._runs.forget(hook.name)

    def _register(self, hook: Hook) -> None:
        self.hooks = dict(sorted({**self.hooks, hook.name: hook}.items()))
        bindings: tuple[QueuedBinding, ...] = (*hook.config.schedules, *hook.config.kubernetes)
        for binding in bindings:
            self._queues.open(binding.queue, self._run, self._background)

    async def _run(self, queue: Queue, task: Task) -> Outcome:
        """What each kind of order means."""
        hook = self.hooks.get(task.order.hook)
        if hook is None:
            return Dropped("its hook was removed")
        match task.order:
            case HookRun():
                return await self._runs.run(hook, queue, task)
            case EnableKubernetesBindings():
                return self._enabled(queue, task, hook, await self._enabling.kubernetes(hook))
            case EnableScheduleBindings():
                self._enabling.schedules(hook)
                return Done()
            case FilterRetry(broken=broken):
                return await self._enabling.refilter(broken)

    def _enabled(self, queue: Queue, task: Task, hook: Hook, runs: tuple[HookRun, ...]) -> Outcome:
        """Runs for this queue come next in it; those for others go to the front of theirs."""
        if not queue.holds(task):
            self._enabling.disable(hook)
            return Dropped("its hook was removed")
        self._queues.put_first(run for run in runs if run.queue != queue.name)
        return Done(tuple(run for run in runs if run.queue == queue.name))

    async def _read_events(self, monitors: Monitors) -> None:
        async for events in monitors.events():
            for event in events:
                self._dispatch(event)

    def _dispatch(self, event: Event) -> None:
        hook = self.hooks.get(event.binding.hook)
        match event:
            case Progressed():
                self._queues.wake()
                self.progress.happened()
            case _ if hook is None:
                return
            case ObjectChanged():
                self._queues.put(dispatch.for_change(hook, event))
            case FilterBroke():
                _log.error("A filter failed on an object.", hook=hook.name, object=str(event.key), error=event.reason)
                self._queues.put(dispatch.for_broken_filter(hook, event))

    async def _read_ticks(self, schedules: Schedules) -> None:
        async for tick in schedules:
            for run in dispatch.for_tick(self.hooks.values(), tick):
                self._queues.put(run)
