"""Views of the engine: conditions for `/readyz`, dumps for the debug endpoint, gauges for `/metrics`.

Reading changes nothing.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TypeAlias

from hookrunner.engine.engine import Engine
from hookrunner.engine.hook_executor import HookExecutor
from hookrunner.engine.hook_needs import endless_runs, failing_hooks
from hookrunner.engine.queue_dumps import dump
from hookrunner.engine.queues import Clock
from hookrunner.engine.resident_status import resident_trouble
from hookrunner.engine.workers import QueueRuns, Queues
from hookrunner.kube.back_off import Outage
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.series import LabelValues
from hookrunner.model.bindings import MAIN, BindingType, Hook
from hookrunner.model.modules import GLOBAL
from hookrunner.model.needs import Urgency, UserNeed
from hookrunner.model.status import Condition, QueueDump, SnapshotDump
from hookrunner.model.tasks import EnableKubernetesBindings, EnableScheduleBindings, HookRun, Order
from hookrunner.model.timestamps import rfc3339
from hookrunner.sources.monitor import LISTING, Monitor
from hookrunner.sources.monitors import Monitors
from kubetypes.light_dataclasses import dataclass

MANY = 20
"""Waiting runs of one hook from which they are shown one by one."""

_OUTAGE = "see whether the API server runs and is reached from here"
_UNSEEN = "grant the right, or correct the binding"

Samples: TypeAlias = Iterator[tuple[LabelValues, float]]


@dataclass(slots=True)
class Conditions:
    """Remembers since when each condition has its present state. `state` maps a name to (ready, message), `clock` gives
    epoch seconds."""

    clock: Callable[[], float] = time.time
    _last: dict[str, Condition] = field(default_factory=dict)

    def of(self, state: dict[str, tuple[bool, str]]) -> list[Condition]:
        """The conditions of this moment."""
        now = self.clock()
        for name, (ready, message) in state.items():
            last = self._last.get(name)
            since = last.since if last and last.ready == ready else now
            self._last[name] = Condition(name, ready, message, since)
        return [self._last[name] for name in state]


def _starts(order: Order) -> bool:
    """Is this part of the start: an onStartup run, the enabling of bindings, or a Synchronization?"""
    if isinstance(order, HookRun):
        return order.synchronizes or order.binding_type is BindingType.ON_STARTUP
    return isinstance(order, EnableKubernetesBindings | EnableScheduleBindings)


def _is_of_module(hook: Hook | None) -> bool:
    return hook is not None and hook.module not in ("", GLOBAL)


class Status:
    """Views of a running engine. `clock` gives monotonic seconds."""

    def __init__(
        self,
        engine: Engine,
        queues: Queues,
        watching: tuple[Monitors, Outage],
        runs: tuple[HookExecutor, QueueRuns],
        clock: Clock,
    ) -> None:
        self._engine = engine
        self._queues = queues
        self._monitors, self._outage = watching
        self._executor, self._runs = runs
        self._clock = clock

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """Ready when what the start has put into `main` is done, and every binding has seen its objects. Shown, and no
        reason to be unready: what a module waits for, resident hooks that cannot be started, and watches that are lost
        after their first list until the API server answers again. No restart would help, and the last state is good
        enough for hooks."""
        ours = any(monitor.obstacle and not self._is_of_module(monitor) for monitor in self._monitors)
        tasks = [task.order for queue in self._queues for task in queue]
        waiting = sum(_starts(order) and not _is_of_module(self._engine.hooks.get(order.hook)) for order in tasks)
        waiting += sum(len(monitor.untried) for monitor in self._monitors if not self._is_of_module(monitor))
        residents = resident_trouble(self._executor.processes)
        return {
            "startup": (not waiting, f"{waiting} tasks of the start are not done; see `queue main`" if waiting else ""),
            "watches": (not ours, "; ".join(map(str, self._unseen()))),
            "tasks": (True, self._dropped()),
            **({"residents": (True, residents)} if residents is not None else {}),
        }

    def needs(self) -> Iterator[UserNeed]:
        """What needs the user: hooks that fail or do not end, dropped tasks, and bindings that do not see their
        objects, but for those that are just being listed."""
        yield from failing_hooks(self._queues)
        yield from endless_runs(self._queues, self._executor.running.values(), self._clock())
        yield from (need for need in self._unseen() if need.message != LISTING.reason)
        if dropped := self._dropped():
            yield UserNeed(Urgency.FAILING, "tasks", "", dropped, "look for `hook failed for the last time` in the log")

    def queues(self) -> list[QueueDump]:
        """All queues, `main` first, then by name."""
        inline = self._queues.inline(self._executor.running.values())
        ordered = sorted(self._queues, key=lambda queue: (queue.name != MAIN, queue.name))
        return [dump(queue, inline) for queue in ordered]

    def hooks(self) -> list[str]:
        """Names of all hooks."""
        return list(self._engine.hooks)

    def snapshots(self, hook: str) -> list[SnapshotDump] | None:
        """The snapshots of a hook's bindings, None for a hook that does not exist."""
        if hook not in self._engine.hooks:
            return None
        mine = [monitor for monitor in self._monitors if monitor.id.hook == hook]
        return [SnapshotDump(_distinct(m, mine), m.snapshot.read(), m.snapshot.operations()) for m in mine]

    def export(self, metrics: Metrics) -> None:
        """Let the gauges that describe states be read at each scrape."""
        metrics.tasks_queue_length.from_function(lambda: (((q.name,), len(q)) for q in self._queues))
        metrics.tasks_queue_head_age_seconds.from_function(self._head_ages)
        metrics.tasks_queue_compaction_operations.from_function(self._compactions)
        metrics.tasks_queue_compaction_tasks_by_hook.from_function(self._crowds)
        metrics.kube_snapshot_objects.from_function(self._snapshot_sizes)
        metrics.binding_waiting.from_function(self._waiting)
        metrics.hook_processes.from_function(lambda: iter([((), float(len(self._executor.running)))]))
        metrics.hook_running_seconds.from_function(self._running)

    def busy_queues(self) -> list[int]:
        """How many tasks are in each queue that has some."""
        return [len(queue) for queue in self._queues if len(queue)]

    def running(self) -> list[str]:
        """The hooks that run at the moment."""
        return sorted({order.hook for order, _ in self._executor.running.values()})

    def _is_of_module(self, monitor: Monitor) -> bool:
        return _is_of_module(self._engine.hooks.get(monitor.id.hook))

    def _dropped(self) -> str:
        given_up = self._runs.given_up
        return f"{given_up} dropped, the last: {self._runs.last_given_up}" if given_up else ""

    def _unseen(self) -> Iterator[UserNeed]:
        """All bindings that do not see their objects, by reason. In an outage that is every binding: only those watches
        notice it at once that are just being resumed, the others are silent."""
        since = self._outage.since
        silent = f"not seen since {rfc3339(since)}: the API server does not answer" if since else ""
        bindings: dict[str, list[str]] = {}
        stopped = set[str]()
        for monitor in self._monitors:
            obstacle = monitor.obstacle
            reason = obstacle.reason if obstacle else (monitor.is_watching and silent) or monitor.lost
            if reason:
                bindings.setdefault(reason, []).append(f"{monitor.id.hook}: {monitor.binding.name}")
            if obstacle:
                stopped.add(reason)
        for reason, names in bindings.items():
            urgency = Urgency.CRITICAL if reason in stopped or reason == silent else Urgency.FAILING
            action = _OUTAGE if reason == silent else _UNSEEN
            yield UserNeed(urgency, "watches", ", ".join(names), reason, action)

    def _head_ages(self) -> Samples:
        for queue in self._queues:
            for task in list(queue)[:1]:
                yield (queue.name, task.order.label, *task.order.owner), self._clock() - task.created_at

    def _compactions(self) -> Samples:
        for queue in self._queues:
            for hook, count in queue.compactions.items():
                yield (queue.name, *self._named(hook)), count

    def _crowds(self) -> Samples:
        for queue in self._queues:
            for hook, count in queue.runs.items():
                if count > MANY:
                    yield (queue.name, *self._named(hook)), count

    def _snapshot_sizes(self) -> Samples:
        """Bindings of one name are counted together."""
        sizes = Counter[LabelValues]()
        for monitor in self._monitors:
            sizes[monitor.projection.labels.values] += len(monitor.snapshot)
        yield from sizes.items()

    def _waiting(self) -> Samples:
        for monitor in self._monitors:
            if obstacle := monitor.obstacle:
                labels = monitor.projection.labels
                yield (labels.hook, labels.binding, obstacle.word, *labels.owner), 1

    def _running(self) -> Samples:
        for order, began in self._executor.running.values():
            yield (*order.labels, *order.owner), self._clock() - began

    def _named(self, name: str) -> tuple[str, ...]:
        """A hook for metrics: its label, and its module if it is one's."""
        hook = self._engine.hooks.get(name)
        return (hook.label, *hook.owner) if hook else (name,)


def _distinct(monitor: Monitor, among: list[Monitor]) -> str:
    """The binding's name; where several bindings have it, with its place in the config."""
    alone = sum(other.binding.name == monitor.binding.name for other in among) == 1
    return monitor.binding.name if alone else f"{monitor.binding.name}[{monitor.id.index}]"
