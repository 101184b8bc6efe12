"""All monitors, which watches each of them reads, and the events of all of them in one sequence.

A binding without `namespace.labelSelector` reads a fixed set of watches, one for each namespace and name. With it, it
reads the matching namespaces, and in each of them its objects: those already there in a namespace that starts to match
are Added, those in one that stops matching are Deleted (docs/differences.md, Watching).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from itertools import product

from hookrunner.background import Background
from hookrunner.jq.program import Filter, Jq
from hookrunner.kube.informer import Added, Deleted, Fact, Modified
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import MAIN, Kubernetes, label_of, owner_of
from hookrunner.model.events import BindingId, ObjectSeen, Report, WatchLost
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.model.tasks import own_queue
from hookrunner.sources.filters import Labels, Projection
from hookrunner.sources.monitor import Event, Monitor, Outbox, Scope
from hookrunner.sources.streams import Streams

Clock = Callable[[], float]


class Monitors:
    """Runs monitors. `clock` gives monotonic seconds."""

    def __init__(self, streams: Streams, jq: Jq, background: Background, metrics: Metrics, clock: Clock) -> None:
        self._streams = streams
        self._jq = jq
        self._background = background
        self._metrics = metrics
        self._clock = clock
        self._outbox = Outbox()
        self._subscriptions: dict[BindingId, Subscription] = {}

    def __iter__(self) -> Iterator[Monitor]:
        return iter([subscription.monitor for subscription in self._subscriptions.values()])

    def get(self, id: BindingId) -> Monitor | None:
        """The monitor of a binding, None if it is not watched."""
        subscription = self._subscriptions.get(id)
        return subscription.monitor if subscription else None

    async def next_events(self) -> list[Event]:
        """All pending events; waits until there is one. For one reader."""
        return await self._outbox.next_batch()

    def add(self, id: BindingId, binding: Kubernetes, program: Filter | None, module: str = "") -> Monitor:
        """Start to watch for a binding of a hook, which may be a module's; `program` is its compiled jqFilter."""
        projection = Projection(labels_of(id.hook, binding, module), binding, program, self._jq, self._metrics)
        monitor = Monitor(id, binding, projection, self._outbox)
        self._subscriptions[id] = Subscription(monitor, self._streams, self._background, self._metrics, self._clock)
        return monitor

    def remove(self, id: BindingId) -> None:
        """Stop watching for a binding, if it is watched; a stream ends with its last reader."""
        if subscription := self._subscriptions.pop(id, None):
            subscription.stop()
            self._outbox.forget(id)


class Subscription:
    """One binding's interest in shared watches: feeds its monitor until `stop`.

    `clock` gives monotonic seconds and stamps each change with its arrival.
    """

    def __init__(
        self, monitor: Monitor, streams: Streams, background: Background, metrics: Metrics, clock: Clock
    ) -> None:
        self.monitor = monitor
        self._streams = streams
        self._background = background
        self._duration = metrics.kube_event_duration_seconds
        self._clock = clock
        self._tasks: dict[Selection, asyncio.Task[None]] = {}
        self._namespaces: set[ObjectKey] = set()
        self._begin(monitor.binding)

    def stop(self) -> None:
        """Leave all streams."""
        for task in self._tasks.values():
            task.cancel()
        self.monitor.end()

    def _begin(self, binding: Kubernetes) -> None:
        if not binding.kind:
            self.monitor.watch_nothing()
        elif binding.namespace_labels is None:
            self._enter(*(binding.namespaces or ("",)))
        else:
            selection = Selection("v1", "Namespace", labels=binding.namespace_labels)
            self.monitor.namespaces = Scope(selection, (self._namespaces,))
            self._keep(self.monitor.namespaces, self._read_namespaces)

    def _enter(self, *namespaces: str) -> None:
        scopes = [self.monitor.add_scope(*part) for part in selections(self.monitor.binding, namespaces)]
        for scope in scopes:
            self._keep(scope, self._read_objects)

    def _leave(self, namespace: str) -> None:
        for scope in [s for s in self.monitor.scopes.values() if s.selection.namespace == namespace]:
            self._tasks.pop(scope.selection).cancel()
            self.monitor.drop_scope(scope, self._clock())

    def _keep(self, scope: Scope, read: Callable[[Scope], Awaitable[None]]) -> None:
        async def run() -> None:
            try:
                await read(scope)
            except Exception as error:
                self.monitor.note_progress(scope, WatchLost(f"its monitor died: {error}", brief=False))
                raise

        name = f"monitor {self.monitor.id} {scope.selection}"
        self._tasks[scope.selection] = self._background.keep(name, run)

    async def _read_objects(self, scope: Scope) -> None:
        async with aclosing(self._streams.read(scope.selection)) as batches:
            async for reports in batches:
                await self._apply(scope, reports)
                del reports  # parsed objects are large, and the next batch may be long in coming

    async def _apply(self, scope: Scope, reports: list[Report]) -> None:
        began = self._clock()
        await self.monitor.apply(scope, reports, began)
        changes = sum(isinstance(report, ObjectSeen) and report.change is not None for report in reports)
        if changes:
            seconds = (self._clock() - began) / changes
            self._duration.observe(seconds, *self.monitor.projection.labels.values, times=changes)

    async def _read_namespaces(self, scope: Scope) -> None:
        async with aclosing(self._streams.read(scope.selection)) as batches:
            async for reports in batches:
                for fact in scope.informer.facts(reports):
                    self._apply_namespace(scope, fact)

    def _apply_namespace(self, scope: Scope, fact: Fact) -> None:
        match fact:
            case Added(seen) | Modified(seen):
                if seen.key not in self._namespaces:
                    self._namespaces.add(seen.key)
                    self._enter(seen.key.name)
            case Deleted(key):
                if key in self._namespaces:
                    self._namespaces.discard(key)
                    self._leave(key.name)
            case _:
                self.monitor.note_progress(scope, fact)


def selections(binding: Kubernetes, namespaces: tuple[str, ...]) -> list[tuple[Selection, str]]:
    """The watches of a binding in these namespaces ("" for all), each with the one name it is about, if any."""
    parts = []
    for namespace, name in product(namespaces, binding.names or ("",)):
        fields = ",".join(filter(None, (f"metadata.name={name}" if name else "", binding.fields)))
        parts.append((Selection(binding.api_version, binding.kind, namespace, binding.labels, fields), name))
    return parts


def labels_of(hook: str, binding: Kubernetes, module: str) -> Labels:
    """What metrics say about a binding of a hook, which may be a module's; a module's own queue is its `main`."""
    queue = MAIN if module and binding.queue == own_queue(module) else binding.queue
    return Labels(label_of(hook, module), binding.name, queue, owner_of(module), binding.kind)
