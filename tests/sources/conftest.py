"""Monitors on a cluster without HTTP, on the test's own clock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from hookrunner.background import Background
from hookrunner.jq.program import Jq
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Kubernetes
from hookrunner.model.events import BindingId, FilterBroke, ObjectChanged, Progressed
from hookrunner.sources.monitor import Monitor
from hookrunner.sources.monitors import Monitors, Streams
from tests.fakes.cluster import FakeCluster, settle


@dataclass(eq=False)
class Watcher:
    """What a test does with monitors. `take_events` returns the events since the last call as `(change, name)`."""

    cluster: FakeCluster
    streams: Streams
    monitors: Monitors
    background: Background
    jq: Jq
    events: list[ObjectChanged | FilterBroke] = field(default_factory=list)

    async def add(self, binding: Kubernetes, hook: str = "hook.sh", index: int = 0) -> Monitor:
        """Start a monitor and wait for its first list."""
        program = await self.jq.compile(binding.jq_filter) if binding.jq_filter else None
        monitor = self.monitors.add(BindingId(hook, index), binding, program)
        await settle()
        return monitor

    async def unlocked(self, binding: Kubernetes, hook: str = "hook.sh", index: int = 0) -> Monitor:
        """A monitor whose Synchronization has succeeded."""
        monitor = await self.add(binding, hook, index)
        monitor.read_for_synchronization()
        monitor.unlock()
        return monitor

    async def take_events(self) -> list[tuple[str, str]]:
        """The events since the last call."""
        await settle()
        events = [(e.change if isinstance(e, ObjectChanged) else "broken", e.key.name) for e in self.events]
        self.events.clear()
        return events

    async def listen(self) -> None:
        """Collect events until cancelled."""
        while True:
            events = await self.monitors.events.next_batch()
            self.events.extend(event for event in events if not isinstance(event, Progressed))


@pytest.fixture
async def watcher() -> AsyncIterator[Watcher]:
    cluster = FakeCluster()
    with suppress(asyncio.CancelledError):
        async with Jq() as jq, asyncio.TaskGroup() as group:
            background = Background(group)
            metrics = Metrics("")
            streams = Streams(cluster.watch, background, metrics)
            monitors = Monitors(streams, jq, background, metrics, asyncio.get_running_loop().time)
            watcher = Watcher(cluster, streams, monitors, background, jq)
            listener = group.create_task(watcher.listen())
            yield watcher
            listener.cancel()
            background.stop()
