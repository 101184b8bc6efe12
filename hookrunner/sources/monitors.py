"""All monitors, which watches each of them reads (`Subscription`), the watches that they share (`Streams`), and the
events of all of them in one sequence.

A binding without `namespace.labelSelector` reads a fixed set of watches, one for each namespace and name. With it, it
reads the matching namespaces, and in each of them its objects: those already there in a namespace that starts to match
are Added, those in one that stops matching are Deleted (docs/differences.md, Watching).

Bindings with an equal `Selection` read the same stream. A late reader gets the whole list too: it reads a watch of its
own up to the end of the list and then goes on with the shared one. A reader that cannot keep up, as with a jqFilter
that hangs, does not stop the others: it goes on with a watch of its own. The shared watch ends with its last reader.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import field
from itertools import product
from typing import TypeAlias

from hookrunner import log
from hookrunner.background import Background
from hookrunner.jq.filters import Filter
from hookrunner.jq.program import Jq
from hookrunner.kube.informer import Added, Deleted, Fact, Modified
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Kubernetes
from hookrunner.model.events import BindingId, ObjectSeen, RelistStarted, Report, Synced, WatchLost
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.sources.monitor import Event, Monitor, Scope
from hookrunner.sources.snapshots import Projection, labels_of
from hookrunner.waits import Batches
from kubetypes.light_dataclasses import dataclass

Clock = Callable[[], float]

Reports: TypeAlias = list[Report]
Watch: TypeAlias = Callable[[Selection], AsyncGenerator[Reports, None]]
"""Opens a watch: `kube/watch.py` in production, a script in tests."""

BACKLOG = 4
"""Batches that a reader may be behind before the watch waits for it: parsed objects are the large thing here."""

_PATIENCE = 2.0
"""Seconds for which a watch waits for one of several readers."""

_Queue: TypeAlias = asyncio.Queue[Reports | None]
"""What a reader has not read yet; None makes it continue with a watch of its own."""

_log = log.get(__name__)


@dataclass(slots=True, eq=False)
class _Stream:
    selection: Selection
    readers: list[_Queue] = field(default_factory=list)
    begun: bool = False
    pump: asyncio.Task[None] | None = None


class Streams:
    """The shared watches. `background` runs one task for each."""

    def __init__(self, watch: Watch, background: Background, metrics: Metrics) -> None:
        self._watch = watch
        self._background = background
        self._deaths = metrics.factory_informer_dead
        self._streams: dict[Selection, _Stream] = {}

    def __len__(self) -> int:
        return len(self._streams)

    async def read(self, selection: Selection) -> AsyncGenerator[Reports, None]:
        """The reports of a selection, beginning with a list (`model/events.py`). Close the generator to leave."""
        stream = self._streams.get(selection) or self._open(selection)
        late = stream.begun
        queue: _Queue = asyncio.Queue(0 if late else BACKLOG)
        stream.readers.append(queue)
        try:
            version = ""
            if late:
                async with aclosing(self._read_list(selection)) as own:
                    async for reports in own:
                        version = _synced_version(reports)
                        yield reports
                        del reports
            async for reports in _after(version, queue):
                yield reports
                del reports
        finally:
            self._leave(stream, queue)
        async with aclosing(self._watch(selection)) as alone:
            async for reports in alone:
                yield reports
                del reports

    async def _read_list(self, selection: Selection) -> AsyncGenerator[Reports, None]:
        """A watch of this reader alone, up to the end of its list."""
        async with aclosing(self._watch(selection)) as own:
            async for reports in own:
                synced = _synced_version(reports)
                yield reports
                if synced:
                    return

    def _open(self, selection: Selection) -> _Stream:
        stream = self._streams[selection] = _Stream(selection)
        stream.pump = self._background.keep(f"watch {selection}", lambda: self._pump(stream))
        return stream

    async def _pump(self, stream: _Stream) -> None:
        try:
            async with aclosing(self._watch(stream.selection)) as batches:
                async for reports in batches:
                    stream.begun = True
                    await _hand_out(stream, reports)
                    del reports  # or the last objects would live until the next change
        except Exception as error:
            selection = stream.selection
            self._deaths.inc(f"{selection.api_version}/{selection.kind}", selection.namespace)
            await _hand_out(stream, [WatchLost(f"the watch died: {error}", brief=False)])
            raise

    def _leave(self, stream: _Stream, queue: _Queue) -> None:
        if queue in stream.readers:
            _remove(stream, queue)
        if not stream.readers and self._streams.get(stream.selection) is stream:
            del self._streams[stream.selection]
            if stream.pump is not None:
                stream.pump.cancel()


async def _hand_out(stream: _Stream, reports: Reports) -> None:
    for queue in tuple(stream.readers):
        while queue in stream.readers and not await _put(queue, reports):
            if len(stream.readers) > 1:
                _log.warn("a reader is too slow for the others and gets a watch of its own", of=str(stream.selection))
                _remove(stream, queue)
                queue.put_nowait(None)


async def _put(queue: _Queue, reports: Reports) -> bool:
    """False if there was no room for too long."""
    try:
        async with asyncio.timeout(_PATIENCE if queue.full() else None):
            await queue.put(reports)
    except TimeoutError:
        return False
    return True


def _remove(stream: _Stream, queue: _Queue) -> None:
    """The reader leaves this stream, and a pump that waits for room in its queue goes on."""
    stream.readers.remove(queue)
    while not queue.empty():
        queue.get_nowait()


def _synced_version(reports: Reports) -> str:
    """The version of a completed list among these reports, otherwise empty."""
    return next((report.version for report in reports if isinstance(report, Synced)), "")


async def _after(version: str, queue: _Queue) -> AsyncIterator[Reports]:
    """The batches of a queue, without what is older than the late reader's own list; ends if the reader is too slow."""
    while (reports := await queue.get()) is not None:
        if version:
            reports, version = _fresh(reports, version)
        yield reports
        reports = None


def _fresh(reports: Reports, version: str) -> tuple[Reports, str]:
    """The reports that are newer than the late reader's own list, and the version to compare the next batch with.

    The version is empty once a new list begins. The rest of a list that was in progress when the reader came is dropped
    as well: its objects are older.

    Comparing versions as numbers is allowed for objects of one resource:
    https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
    """
    for index, report in enumerate(reports):
        if isinstance(report, RelistStarted):
            return [before for before in reports[:index] if not _is_older(before, version)] + reports[index:], ""
    return [report for report in reports if not _is_older(report, version)], version


def _is_older(report: Report, version: str) -> bool:
    if not isinstance(report, ObjectSeen):
        return False
    return report.version.isdigit() and version.isdigit() and int(report.version) <= int(version)


class Monitors:
    """Runs monitors. `events` are those of all of them, in the order in which they happened. `clock` gives monotonic
    seconds."""

    def __init__(self, streams: Streams, jq: Jq, background: Background, metrics: Metrics, clock: Clock) -> None:
        self._streams = streams
        self._jq = jq
        self._background = background
        self._metrics = metrics
        self._clock = clock
        self.events = Batches[Event]()
        self._subscriptions: dict[BindingId, Subscription] = {}

    def __iter__(self) -> Iterator[Monitor]:
        return iter([subscription.monitor for subscription in self._subscriptions.values()])

    def get(self, id: BindingId) -> Monitor | None:
        """The monitor of a binding, None if it is not watched."""
        subscription = self._subscriptions.get(id)
        return subscription.monitor if subscription else None

    def add(self, id: BindingId, binding: Kubernetes, program: Filter | None, module: str = "") -> Monitor:
        """Start to watch for a binding of a hook, which may be a module's; `program` is its compiled jqFilter."""
        projection = Projection(labels_of(id.hook, binding, module), binding, program, self._jq, self._metrics)
        monitor = Monitor(id, binding, projection, self.events)
        self._subscriptions[id] = Subscription(monitor, self._streams, self._background, self._metrics, self._clock)
        return monitor

    def remove(self, id: BindingId) -> None:
        """Stop watching for a binding, if it is watched; a stream ends with its last reader."""
        if subscription := self._subscriptions.pop(id, None):
            subscription.stop()
            self.events.drop(lambda event: event.binding == id)  # its hook may come again with another configuration


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
        self._labels = monitor.projection.labels.values
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
            self._duration.observe(seconds, *self._labels, times=changes)

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
    """The watches of a binding in these namespaces ("" for all), each with the one name it selects, if any."""
    parts = []
    for namespace, name in product(namespaces, binding.names or ("",)):
        fields = ",".join(filter(None, (f"metadata.name={name}" if name else "", binding.fields)))
        kind = (binding.api_version, binding.kind)
        parts.append((Selection(*kind, namespace, binding.labels, fields, optional=binding.optional), name))
    return parts
