"""All monitors, and the events of all of them in one sequence."""

from collections.abc import AsyncIterator, Callable, Iterator

from hookrunner.background import Background
from hookrunner.jq.program import Filter, Jq
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import MAIN, Kubernetes, label_of, owner_of
from hookrunner.model.events import BindingId
from hookrunner.model.tasks import own_queue
from hookrunner.sources.filters import Labels, Projection
from hookrunner.sources.following import Following
from hookrunner.sources.monitor import Event, Monitor, Outbox
from hookrunner.sources.streams import Streams


class Monitors:
    """Runs monitors. `clock` gives monotonic seconds."""

    def __init__(
        self, streams: Streams, jq: Jq, background: Background, metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self._streams = streams
        self._jq = jq
        self._background = background
        self._metrics = metrics
        self._clock = clock
        self._outbox = Outbox()
        self._followings: dict[BindingId, Following] = {}

    def __iter__(self) -> Iterator[Monitor]:
        return iter([following.monitor for following in self._followings.values()])

    def get(self, id: BindingId) -> Monitor | None:
        """The monitor of a binding, None if nothing watches it."""
        following = self._followings.get(id)
        return following.monitor if following else None

    async def events(self) -> AsyncIterator[list[Event]]:
        """Batches of events for ever."""
        while True:
            yield await self._outbox.take()

    def add(self, id: BindingId, binding: Kubernetes, program: Filter | None, module: str = "") -> Monitor:
        """Start to follow a binding of a hook, which may be a module's; `program` is its compiled jqFilter."""
        projection = Projection(labels_of(id.hook, binding, module), binding, program, self._jq, self._metrics)
        monitor = Monitor(id, binding, projection, self._outbox)
        self._followings[id] = Following(monitor, self._streams, self._background, self._metrics, self._clock)
        return monitor

    def remove(self, id: BindingId) -> None:
        """Stop following a binding, if it is followed; a stream ends with its last reader."""
        if following := self._followings.pop(id, None):
            following.stop()
            self._outbox.forget(id)


def labels_of(hook: str, binding: Kubernetes, module: str) -> Labels:
    """What metrics say about a binding of a hook, which may be a module's; a module's own queue is its `main`."""
    queue = MAIN if module and binding.queue == own_queue(module) else binding.queue
    return Labels(label_of(hook, module), binding.name, queue, owner_of(module), binding.kind)
