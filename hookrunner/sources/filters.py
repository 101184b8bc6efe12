"""From an object as the API server sends it to what one binding keeps of it.

Simple jq programs run here and now; others travel to the jq workers, a batch at a time (design.md D5). A program that
fails on one object says so for that object alone.
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
from hookrunner.model.watching import ObjectSeen


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
    """Turns items into entries for one binding. `labels` are those of its metrics; `program` is its compiled jqFilter,
    None without one."""

    def __init__(self, labels: Labels, binding: Kubernetes, program: Filter | None, jq: Jq, metrics: Metrics) -> None:
        self.labels = labels
        self._keep = binding.keep_full_objects
        self._program = program
        self._jq = jq
        self._duration = metrics.kube_jq_filter_duration_seconds

    async def entries(self, items: Sequence[ObjectSeen]) -> list[Entry | FilterFailed]:
        """One entry or failure for each item, in order."""
        if not items:
            return []
        began = time.perf_counter()
        results = await self._entries(items)
        self._duration.observe((time.perf_counter() - began) / len(items), *self.labels.values, times=len(items))
        return results

    async def _entries(self, items: Sequence[ObjectSeen]) -> list[Entry | FilterFailed]:
        program = self._program
        if program is None:
            return [self._entry(item, None) for item in items]
        if program.simple:
            return [self._filtered_now(program, item) for item in items]
        results = await self._jq.apply(program, [item.obj for item in items])
        return [self._filtered(item, result) for item, result in zip(items, results, strict=True)]

    def _filtered_now(self, program: Filter, item: ObjectSeen) -> Entry | FilterFailed:
        try:
            return self._filtered(item, program.apply_now(item.obj))
        except FilterFailed as failure:
            return failure

    def _filtered(self, item: ObjectSeen, result: bytes | FilterFailed) -> Entry | FilterFailed:
        return result if isinstance(result, FilterFailed) else self._entry(item, result)

    def _entry(self, item: ObjectSeen, result: bytes | None) -> Entry | FilterFailed:
        """Fails for an object that is nested deeper than the encoder writes, which an API server may well hold."""
        try:
            obj = item.raw if self._keep else None
            return Entry(item.key, obj, result, result or item.version or item.raw)
        except orjson.JSONEncodeError as error:
            return FilterFailed(f"the object cannot be written as JSON: {error}")
