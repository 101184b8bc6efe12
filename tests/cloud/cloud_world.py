"""What the loops of the cloud live in: an API server, a cloud, Events and metrics, in one event loop and virtual time.

`NodeWorld`, `RouteWorld` and `BalancerWorld` add the loops.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.controllers.event_recorder import EventLike
from hookrunner.metrics.names import Metrics
from hookrunner.model.resources import ObjectReference
from tests.cloud.fake_cloud import FakeCloud
from tests.fakes.cluster import settle
from tests.fakes.fake_api import FakeApi


@dataclass
class CloudWorld:
    """`events` are the Events as (name, reason, message)."""

    api: FakeApi = field(default_factory=FakeApi)
    cloud: FakeCloud = field(default_factory=FakeCloud)
    events: list[tuple[str, str, str]] = field(default_factory=list)
    metrics: Metrics = field(default_factory=lambda: Metrics(""))

    def record(self, about: ObjectReference, event: EventLike) -> None:
        self.events.append((about.name, event.reason, event.message))

    @property
    def messages(self) -> list[str]:
        """What the Events say."""
        return [message for _, _, message in self.events]

    def reasons(self, name: str) -> list[str]:
        """The reasons of the Events of an object."""
        return [reason for about, reason, _ in self.events if about == name]

    def asked(self, verb: AnyVerb) -> int:
        """How often a verb was called."""
        return len(self.cloud.asked(verb))

    def times(self, verb: AnyVerb) -> list[float]:
        """When each call of a verb began, in seconds. The virtual clock may have gone on by a millisecond."""
        return [round(call.at, 2) for call in self.cloud.calls if call.verb is verb]

    async def rest(self, seconds: float = 0.0) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)
        await settle()


@asynccontextmanager
async def running(*parts: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Let watches and loops run until the end of the block. The failure of one of them is the block's."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_begin(part)) for part in parts]
        yield
        for task in tasks:
            task.cancel()


async def _begin(part: Callable[[], Awaitable[object]]) -> None:
    """Run it, a few steps later: virtual time begins with the test, after its fixtures."""
    for _ in range(5):
        await asyncio.sleep(0)
    await part()
