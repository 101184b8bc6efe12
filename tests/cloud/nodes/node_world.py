"""What the loops of Nodes live in: an API server, a cloud and a view of the Nodes, all in one event loop."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from hookrunner.cloud.nodes.loop_parts import NodeLoopParts
from hookrunner.cloud.nodes.node_informer import NodeInformer
from hookrunner.cloud.nodes.node_reports import NodeReports
from hookrunner.cloud.nodes.node_writer import NodeWriter
from hookrunner.controllers.event_recorder import EventLike
from hookrunner.metrics.names import Metrics
from hookrunner.model.resources import ObjectReference
from tests.cloud.fake_cloud import FakeCloud
from tests.fakes.fake_api import FakeApi


@dataclass
class NodeWorld:
    """`events` are the Events as (Node, reason, message); `counted` what the metrics have."""

    api: FakeApi = field(default_factory=FakeApi)
    cloud: FakeCloud = field(default_factory=FakeCloud)
    events: list[tuple[str, str, str]] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.nodes = NodeInformer(self.api)
        self.writer = NodeWriter(self.api.client, self.nodes)
        self.reports = NodeReports(self, self.metrics)

    @property
    def parts(self) -> NodeLoopParts:
        """What each loop works with."""
        return NodeLoopParts(self.nodes, self.cloud, self.writer, self.reports)

    def record(self, about: ObjectReference, event: EventLike) -> None:
        self.events.append((about.name, event.reason, event.message))

    @property
    def counted(self) -> list[str]:
        """`initialized` for each Node that was, and what became of each deletion."""
        text = self.metrics.exposition().decode()
        initialized = re.findall(r"^hookrunner_cloud_node_init_seconds_count (\d+)$", text, re.MULTILINE)
        deleted = re.findall(r'^hookrunner_cloud_node_deletes_total{result="(.+)"} (\d+)$', text, re.MULTILINE)
        pairs = [*(("initialized", number) for number in initialized), *deleted]
        return [word for word, number in pairs for _ in range(int(number))]

    def reasons(self, name: str = "a") -> list[str]:
        """The reasons of the Events of a Node."""
        return [reason for about, reason, _ in self.events if about == name]

    def live(self, name: str = "a") -> Any:
        """A Node as the API server has it."""
        return self.api.live("Node", name)

    def taints(self, name: str = "a") -> list[str]:
        """The keys of a Node's taints."""
        return [taint["key"] for taint in self.live(name)["spec"].get("taints") or ()]

    @asynccontextmanager
    async def running(self, run: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """The watch and a loop run."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_run(part)) for part in (self.nodes.follow, run)]
            yield
            for task in tasks:
                task.cancel()


async def _run(part: Callable[[], Awaitable[None]]) -> None:
    """Begin a few steps later: virtual time begins with the test, after its fixtures."""
    for _ in range(5):
        await asyncio.sleep(0)
    await part()
