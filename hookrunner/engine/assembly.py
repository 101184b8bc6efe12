"""Puts the engine together from the parts that a process has; nothing runs before `start`."""

import time
from collections.abc import Callable
from functools import partial

from hookrunner.background import Background
from hookrunner.engine.engine import BindingActivator, Engine
from hookrunner.engine.hook_executor import Applier, HookExecutor, InlineRuns, ValuesStore
from hookrunner.engine.queues import QueueParts
from hookrunner.engine.resident_status import export_residents
from hookrunner.engine.reviews.review_runs import ReviewRuns
from hookrunner.engine.reviews.reviewer import HookReviewer, ReviewDeclarations
from hookrunner.engine.run_gate import RunGate
from hookrunner.engine.status import Status
from hookrunner.engine.workers import QueueRuns, Queues, retry_after
from hookrunner.hooks.catalog import Catalog
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.objects import Objects
from hookrunner.kube.watch import Watches
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import RunMetrics
from hookrunner.process.children import Children
from hookrunner.settings import Settings
from hookrunner.sources.monitors import Monitors, Streams
from hookrunner.sources.schedule import Schedules
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kube:
    """The cluster: for reading objects, for changing them, and the identity that we have there."""

    watches: Watches
    discovery: Discovery
    patcher: Client
    connection: Connection


@dataclass(frozen=True, slots=True)
class Parts:
    """What the engine is built on."""

    background: Background
    children: Children
    jq: Jq
    kube: Kube
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class Assembly:
    """An engine that has not started yet, the views of it, and the reviews that it answers. `activator` and
    `inline_runs` are for modules, whose hooks also run outside of queues; `executor` reports which runs changed
    values; `processes` have to be closed."""

    engine: Engine
    activator: BindingActivator
    executor: HookExecutor
    inline_runs: InlineRuns
    queues: Queues
    status: Status
    declared: ReviewDeclarations
    processes: HookProcesses
    start: Callable[[], None]


def assemble_engine(
    settings: Settings, parts: Parts, hook_metrics: HookMetrics, hooks: Catalog, values: ValuesStore | None = None
) -> Assembly:
    """The engine for these hooks. `values` are those of modules, if there are any."""
    clock, metrics, kube = time.monotonic, parts.metrics, parts.kube
    schedules = Schedules()
    streams = Streams(kube.watches.open, parts.background, metrics)
    monitors = Monitors(streams, parts.jq, parts.background, metrics, clock)
    gate = RunGate(monitors, clock, metrics, values)
    objects = Objects(kube.patcher, kube.discovery, parts.jq, settings.kube.patch_timeout)
    processes = HookProcesses(settings.hooks, parts.children)
    executor = HookExecutor(processes, Applier(objects, hook_metrics), gate, RunMetrics(metrics, clock), values)
    runs = QueueRuns(executor, gate, metrics, clock)
    queues = Queues(QueueParts(gate, clock, metrics, settings.engine.compaction_threshold))
    activator = BindingActivator(monitors, schedules, parts.jq, metrics, clock)
    engine = Engine(runs, activator, queues, gate, parts.background)
    status = Status(engine, queues, (monitors, kube.patcher.outage), (executor, runs), clock)
    status.export(metrics)
    export_residents(metrics, processes)
    metrics.background_crashes.from_function(lambda: (((n,), c) for n, c in parts.background.crashes.items()))
    metrics.background_failing.from_function(lambda: (((name,), 1.0) for name in set(parts.background.failing())))
    metrics.prepared_python_memory_bytes.from_function(parts.children.interpreters.memory)
    reviews = ReviewRuns(executor, gate, metrics, settings.webhooks.concurrency)
    declared = ReviewDeclarations(hooks.hooks, HookReviewer(engine, reviews), lacking=bool(hooks.problems))

    def start() -> None:
        engine.start(hooks.hooks, monitors, schedules)
        parts.background.keep("outages", partial(retry_after, kube.patcher.outage, queues, clock))

    return Assembly(engine, activator, executor, InlineRuns(executor, gate), queues, status, declared, processes, start)
