"""Which streams one binding follows.

A binding without `namespace.labelSelector` follows a fixed set of streams, one for each namespace and name. With it, it
follows the matching namespaces, and in each of them its objects: those already there in a namespace that starts to
match are Added, those in one that stops matching are Deleted (shell-operator.md §4.6 and docs/differences.md).
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from itertools import product

from hookrunner.background import Background
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Change, Kubernetes
from hookrunner.model.resources import Selection
from hookrunner.model.watching import ObjectSeen, RelistStarted, Report, Synced, WatchLost
from hookrunner.sources.monitor import Monitor, Scope
from hookrunner.sources.streams import Streams

Clock = Callable[[], float]


class Following:
    """Feeds one monitor until `stop`. `clock` gives monotonic seconds and stamps each change with its arrival."""

    def __init__(
        self, monitor: Monitor, streams: Streams, background: Background, metrics: Metrics, clock: Clock
    ) -> None:
        self.monitor = monitor
        self._streams = streams
        self._background = background
        self._duration = metrics.kube_event_duration_seconds
        self._clock = clock
        self._tasks: dict[Selection, asyncio.Task[None]] = {}
        self._namespaces: set[str] = set()
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
            self.monitor.namespaces = Scope(Selection("v1", "Namespace", labels=binding.namespace_labels))
            self._keep(self.monitor.namespaces, self._read_namespaces)

    def _enter(self, *namespaces: str) -> None:
        scopes = [self.monitor.add_scope(*part) for part in selections(self.monitor.binding, namespaces)]
        for scope in scopes:
            self._keep(scope, self._read_objects)

    def _leave(self, namespace: str) -> None:
        self._namespaces.discard(namespace)
        for scope in [s for s in self.monitor.scopes.values() if s.selection.namespace == namespace]:
            self._tasks.pop(scope.selection).cancel()
            self.monitor.drop_scope(scope, self._clock())

    def _keep(self, scope: Scope, read: Callable[[Scope], Awaitable[None]]) -> None:
        async def run() -> None:
            try:
                await read(scope)
            except Exception as error:
                self.monitor.progress(scope, WatchLost(f"its monitor died: {error}", brief=False))
                raise

        name = f"monitor {self.monitor.id} {scope.selection}"
        self._tasks[scope.selection] = self._background.keep(name, run)

    async def _read_objects(self, scope: Scope) -> None:
        async with aclosing(self._streams.read(scope.selection)) as story:
            async for reports in story:
                await self._take(scope, reports)
                del reports  # parsed objects are large, and the next batch may be long in coming

    async def _take(self, scope: Scope, reports: list[Report]) -> None:
        began = self._clock()
        await self.monitor.take(scope, reports, began)
        changes = sum(isinstance(report, ObjectSeen) and report.change is not None for report in reports)
        if changes:
            seconds = (self._clock() - began) / changes
            self._duration.observe(seconds, *self.monitor.projection.labels.values, times=changes)

    async def _read_namespaces(self, scope: Scope) -> None:
        unseen: set[str] = set()
        async with aclosing(self._streams.read(scope.selection)) as story:
            async for reports in story:
                for report in reports:
                    self._namespace(report, unseen)
                    self.monitor.progress(scope, report)

    def _namespace(self, report: Report, unseen: set[str]) -> None:
        match report:
            case RelistStarted():
                unseen |= self._namespaces
            case Synced():
                for name in tuple(unseen):
                    self._leave(name)
                unseen.clear()
            case ObjectSeen(change=Change.DELETED, key=key) if key.name in self._namespaces:
                self._leave(key.name)
            case ObjectSeen(key=key) if report.change is not Change.DELETED:
                unseen.discard(key.name)
                if key.name not in self._namespaces:
                    self._namespaces.add(key.name)
                    self._enter(key.name)


def selections(binding: Kubernetes, namespaces: tuple[str, ...]) -> list[tuple[Selection, str]]:
    """The streams of a binding in these namespaces ("" for all), each with the one name it is about, if any (§4.2)."""
    found = []
    for namespace, name in product(namespaces, binding.names or ("",)):
        fields = ",".join(filter(None, (f"metadata.name={name}" if name else "", binding.fields)))
        found.append((Selection(binding.api_version, binding.kind, namespace, binding.labels, fields), name))
    return found
