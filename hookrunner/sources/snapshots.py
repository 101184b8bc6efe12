"""What one kubernetes binding keeps of objects: how an object becomes an `Entry` (`Projection`), and the entries as
last seen (`Snapshot`), which a hook gets as `snapshots` and `objects`.

Simple jq programs run here at once; others travel to the jq workers, a batch at a time. A program that fails on one
object is reported for that object alone.

A snapshot keeps what the binding needs and no more, says whether the binding can see a change, and counts operations
for the debug dump. Its monitor knows whether it is complete.
"""

import time
from collections.abc import Callable, Iterator, KeysView, Sequence
from dataclasses import asdict, field

import orjson

from hookrunner.errors import FilterFailed
from hookrunner.jq.filters import Filter
from hookrunner.jq.program import Jq
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import MAIN, Change, Kubernetes, label_of, owner_of
from hookrunner.model.contexts import Entry
from hookrunner.model.events import ObjectSeen
from hookrunner.model.resources import ObjectKey
from hookrunner.model.tasks import own_queue
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Labels:
    """What metrics say about a binding: its hook's name, its own, its queue, the values of the label `module`, and the
    kind of the objects as the hook wrote it."""

    hook: str
    binding: str
    queue: str
    owner: tuple[str, ...]
    kind: str

    @property
    def values(self) -> tuple[str, ...]:
        """All of them, for the metrics about objects; the kind only for hooks of modules, as in addon-operator."""
        return (self.hook, self.binding, self.queue, *((*self.owner, self.kind) if self.owner else ()))


def labels_of(hook: str, binding: Kubernetes, module: str) -> Labels:
    """What metrics say about a binding of a hook, which may be a module's; a module's own queue is its `main`."""
    queue = MAIN if module and binding.queue == own_queue(module) else binding.queue
    return Labels(label_of(hook, module), binding.name, queue, owner_of(module), binding.kind)


class Projection:
    """Turns objects into entries for one binding. `labels` are those of its metrics; `program` is its compiled
    jqFilter, None without one."""

    def __init__(self, labels: Labels, binding: Kubernetes, program: Filter | None, jq: Jq, metrics: Metrics) -> None:
        self.labels = labels
        self._keep = binding.keep_full_objects
        self._program = program
        self._jq = jq
        self._duration = metrics.kube_jq_filter_duration_seconds

    async def entries(self, objects: Sequence[ObjectSeen]) -> list[Entry | FilterFailed]:
        """One entry or failure for each object, in order."""
        if not objects:
            return []
        began = time.perf_counter()
        results = await self._entries(objects)
        self._duration.observe((time.perf_counter() - began) / len(objects), *self.labels.values, times=len(objects))
        return results

    async def _entries(self, objects: Sequence[ObjectSeen]) -> list[Entry | FilterFailed]:
        program = self._program
        if program is None:
            return [self._entry(seen, None) for seen in objects]
        if program.simple:
            return [self._filtered_now(program, seen) for seen in objects]
        results = await self._jq.apply(program, [seen.obj for seen in objects])
        return [self._filtered(seen, result) for seen, result in zip(objects, results, strict=True)]

    def _filtered_now(self, program: Filter, seen: ObjectSeen) -> Entry | FilterFailed:
        try:
            return self._filtered(seen, program.apply_now(seen.obj))
        except FilterFailed as failure:
            return failure

    def _filtered(self, seen: ObjectSeen, result: bytes | FilterFailed) -> Entry | FilterFailed:
        return result if isinstance(result, FilterFailed) else self._entry(seen, result)

    def _entry(self, seen: ObjectSeen, result: bytes | None) -> Entry | FilterFailed:
        """Fails for an object that is nested deeper than the encoder writes, which an API server may well hold."""
        try:
            obj = seen.raw if self._keep else None
            return Entry(seen.key, obj, result, result or seen.version or seen.raw)
        except orjson.JSONEncodeError as error:
            return FilterFailed(f"the object cannot be written as JSON: {error}")


@dataclass(slots=True)
class Operations:
    """Counts for the dump; `cleaned`: how often the last object was deleted."""

    added: int = 0
    deleted: int = 0
    modified: int = 0
    cleaned: int = 0


@dataclass(slots=True, eq=False)
class Snapshot:
    """Entries by object."""

    _entries: dict[ObjectKey, Entry] = field(default_factory=dict)
    _sorted: list[Entry] | None = None
    since_start: Operations = field(default_factory=Operations)
    since_run: Operations = field(default_factory=Operations)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._entries)

    def keys(self) -> KeysView[ObjectKey]:
        """The keys of all entries, as they are at any time."""
        return self._entries.keys()

    def get(self, key: ObjectKey) -> Entry | None:
        """The entry of an object, None if it is unknown."""
        return self._entries.get(key)

    def update(self, entry: Entry) -> Change | None:
        """Keep a new state. Added or Modified, or None if the binding cannot see a difference to the last one."""
        known = self._entries.get(entry.key)
        self._sorted = None
        if known is not None:
            self._entries[known.key] = entry
            if known.mark == entry.mark:
                return None
            self._count("modified")
            return Change.MODIFIED
        self._entries[entry.key] = entry
        self._count("added")
        return Change.ADDED

    def remove(self, key: ObjectKey) -> Entry | None:
        """Forget an object; its last state, None if it was unknown."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._sorted = None
            self._count("deleted")
            if not self._entries:
                self._count("cleaned")
        return entry

    def read(self) -> list[Entry]:
        """All entries by namespace and name, or by `ns/Kind/name` where objects are not kept. The list is shared: do
        not change it."""
        if self._sorted is None:
            self._sorted = sorted(self._entries.values(), key=_order(next(iter(self._entries.values()), None)))
        return self._sorted

    def reset_run_counts(self) -> None:
        """Begin the count of operations since the last run again: a run has read this snapshot."""
        self.since_run = Operations()

    def operations(self) -> JSON:
        """The `operations` object of a dump."""
        run = self.since_run
        return {
            "sinceStart": {"count": len(self), **asdict(self.since_start)},
            "sinceLastExecution": {"count": run.added + run.modified + run.deleted, **asdict(run)},
        }

    def _count(self, counter: str) -> None:
        for counts in (self.since_start, self.since_run):
            setattr(counts, counter, getattr(counts, counter) + 1)


def _order(sample: Entry | None) -> Callable[[Entry], tuple[str, ...]]:
    if sample is not None and sample.obj is not None:
        return lambda entry: (entry.key.namespace, entry.key.name)
    return lambda entry: (str(entry.key),)
