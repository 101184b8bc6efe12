"""From an object as the API server sends it to what one binding keeps of it.

Simple jq programs run here at once; others travel to the jq workers, a batch at a time. A program that fails on one
object is reported for that object alone.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from hookrunner.errors import FilterFailed
from hookrunner.jq.program import Filter, Jq
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Kubernetes
from hookrunner.model.contexts import Entry
from hookrunner.model.events import ObjectSeen


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
        """All of them, for the metrics about objects; the kind only where addon-operator says it."""
        return (self.hook, self.binding, self.queue, *((*self.owner, self.kind) if self.owner else ()))


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
