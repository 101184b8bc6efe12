"""All objects of one resource as projections, kept by one watch for all loops of the cloud.

    informer = ProjectionInformer(watches, NODES, read)
    await informer.follow()                       # as a task, until cancelled
    with informer.subscribe() as changes:         # begins with every object that is known
        while True:
            for change in await changes.next_batch(): ...

    informer.is_current                           # False: nothing may be decided on what is kept

Only what a projection has counts as a change, so the heartbeats of kubelets wake no loop.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from typing import Generic, Protocol, TypeAlias, TypeVar

from hookrunner.controllers.pass_clock import wait_unless
from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified, Opener
from hookrunner.model.events import Report, Synced, WatchLost, WatchRestored
from hookrunner.model.resources import ObjectKey, Resource, Selection
from hookrunner.waits import Batches, Notifier
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


class Projected(Protocol):
    """What the loops need of an object."""

    @property
    def name(self) -> str: ...

    @property
    def uid(self) -> str: ...


_Projection = TypeVar("_Projection", bound=Projected)

ReadProjection: TypeAlias = Callable[[JSON, _Projection | None], _Projection]
"""The projection of an object as the API server sends it; the second is what was kept under its name."""


@dataclass(frozen=True, slots=True)
class ProjectionChange(Generic[_Projection]):
    """An object is new (`before` is None), is gone (`after` is None), or something of it has changed that matters. One
    that was made anew under its name has another uid afterwards."""

    before: _Projection | None
    after: _Projection | None

    @property
    def name(self) -> str:
        """The object's name."""
        projection = self.after or self.before
        return projection.name if projection else ""

    @property
    def is_new(self) -> bool:
        """Does the object exist now, and did it not before, or was it another one?"""
        return self.after is not None and (self.before is None or self.before.uid != self.after.uid)


class ProjectionSubscription(Generic[_Projection]):
    """The changes that one loop has not read; for one reader. Several changes of one object are one."""

    def __init__(self, known: Iterable[tuple[ObjectKey, _Projection]], is_listed: bool) -> None:
        self._changes = Batches[ProjectionChange[_Projection]]()
        self._listed = asyncio.Event()
        for key, projection in known:
            self.put(key, ProjectionChange(None, projection))
        if is_listed:
            self.note_list()

    def put(self, key: ObjectKey, change: ProjectionChange[_Projection]) -> None:
        """Add a change."""
        earlier = self._changes.get(key)
        self._changes.put(ProjectionChange(earlier.before, change.after) if earlier else change, key)

    def note_list(self) -> None:
        """The first list is complete: what comes out from now on was decided on all objects."""
        self._listed.set()

    async def next_batch(self) -> list[ProjectionChange[_Projection]]:
        """The changes since the last call, as soon as there is one, and not before the first list is complete."""
        await self._listed.wait()
        return [change for change in await self._changes.next_batch() if change.before or change.after]


class ProjectionInformer(Generic[_Projection]):
    """All objects of a resource. `obstacle` is why the watch reports nothing at the moment, empty if it does."""

    def __init__(self, watches: Opener, resource: Resource, read: ReadProjection[_Projection]) -> None:
        self.is_listed = False
        self.obstacle = f"the {resource.plural} have not been listed"
        self._watches, self._resource, self._read_projection = watches, resource, read
        self._known: dict[ObjectKey, _Projection] = {}
        self._informer = Informer(self._known)
        self._subscriptions: list[ProjectionSubscription[_Projection]] = []
        self._changed = Notifier()
        """Gives notice that the informer may have become current."""

    def __iter__(self) -> Iterator[_Projection]:
        return iter(tuple(self._known.values()))

    def __len__(self) -> int:
        return len(self._known)

    @property
    def is_current(self) -> bool:
        """Were all objects listed, and does the watch report their changes?"""
        return self.is_listed and not self.obstacle and not self._informer.is_relisting

    async def wait_until_current(self) -> None:
        """Wait until something may be decided on what is kept."""
        while not self.is_current:
            await self._changed.next()

    async def wait_for_view(self, stopped: asyncio.Event) -> bool:
        """Wait until something may be decided, until the event is set at the latest; False if it is set."""
        if not self.is_current:
            await wait_unless(stopped, self.wait_until_current())
        return not stopped.is_set()

    async def wait_for_list(self, stopped: asyncio.Event) -> bool:
        """Wait until something may be decided for the first time, until the event is set at the latest; False if it is
        set. It does not wait for a watch that was lost later: who makes a pass then sees that it is."""
        return not stopped.is_set() if self.is_listed else await self.wait_for_view(stopped)

    def find(self, namespace: str, name: str) -> _Projection | None:
        """The latest state of an object, None if it is not known."""
        return self._known.get(ObjectKey(namespace, self._resource.kind, name))

    @contextmanager
    def subscribe(self) -> Iterator[ProjectionSubscription[_Projection]]:
        """The changes from now on; those before are one for each object that is known."""
        subscription = ProjectionSubscription(self._known.items(), self.is_listed)
        self._subscriptions.append(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.remove(subscription)

    async def follow(self) -> None:
        """Keep the objects until cancelled."""
        async with aclosing(self._watches.open(Selection(self._resource.api_version, self._resource.kind))) as batches:
            async for reports in batches:
                self._read(reports)
                del reports  # complete objects; a Node has up to 15 KB

    def _read(self, reports: Iterable[Report]) -> None:
        was_current = self.is_current
        for fact in self._informer.facts(reports):
            self._take_in(fact)
        if self.is_current and not was_current:
            self._changed.notify()

    def _take_in(self, fact: Fact) -> None:
        match fact:
            case Added(seen) | Modified(seen):
                before = self._known.get(seen.key)
                after = self._known[seen.key] = self._read_projection(seen.obj, before)
                self._publish(seen.key, before, after)
            case Deleted(key):
                self._publish(key, self._known.pop(key, None), None)
            case Synced():
                self._end_list()
            case WatchLost(reason=reason):
                self.obstacle = reason
            case WatchRestored():
                self.obstacle = "" if self.is_listed else self.obstacle

    def _publish(self, key: ObjectKey, before: _Projection | None, after: _Projection | None) -> None:
        if before != after:
            for subscription in self._subscriptions:
                subscription.put(key, ProjectionChange(before, after))

    def _end_list(self) -> None:
        self.obstacle = ""
        if not self.is_listed:
            self.is_listed = True
            for subscription in self._subscriptions:
                subscription.note_list()
