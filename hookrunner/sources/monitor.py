"""What is known for one kubernetes binding: how far its streams have come, its snapshot, and the changes it asked for
(shell-operator.md §4.2–§4.6, §4.8).

The way of a change: report from a stream → entry (`filters.py`) → snapshot (`snapshots.py`) → event. Events are held
back until the binding's Synchronization has succeeded; reading the snapshot for that run clears what it already shows,
so each change is told once. `obstacle` says why a hook must not run on this snapshot yet.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from hookrunner.errors import FilterFailed
from hookrunner.model.bindings import Change, Kubernetes
from hookrunner.model.contexts import Entry
from hookrunner.model.events import BindingId, FilterBroke, ObjectChanged, Obstacle, Progressed
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.model.watching import ObjectSeen, RelistStarted, Report, Synced, WatchLost, WatchRestored
from hookrunner.sources.filters import Projection
from hookrunner.sources.snapshots import Snapshot

Event: TypeAlias = ObjectChanged | FilterBroke | Progressed

LISTING = Obstacle("its first list is under way", brief=True, word="listing")


class Outbox:
    """Events of all monitors in the order in which they happened."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._wake = asyncio.Event()

    def put(self, *events: Event) -> None:
        """Add events and wake the reader."""
        self._events.extend(events)
        self._wake.set()

    def forget(self, id: BindingId) -> None:
        """Drop the events of a binding: its hook may come again as another."""
        self._events = deque(event for event in self._events if event.binding != id)

    async def take(self) -> list[Event]:
        """All events there are; waits until there is one."""
        await self._wake.wait()
        self._wake.clear()
        events = list(self._events)
        self._events.clear()
        return events


@dataclass(slots=True, eq=False)
class Scope:
    """The part of a binding that one stream covers, and how far its story has come. `unseen` is set while a list is
    under way: the objects that it has not mentioned so far."""

    selection: Selection
    name: str = ""
    listed: bool = False
    lost: WatchLost | None = None
    unseen: set[ObjectKey] | None = None

    def covers(self, key: ObjectKey) -> bool:
        """Does this stream tell of that object?"""
        return self.selection.namespace in ("", key.namespace) and self.name in ("", key.name)

    @property
    def obstacle(self) -> Obstacle | None:
        """A listed scope bears a short loss: what was seen last is good enough until the watch is back."""
        if self.lost is not None and not (self.listed and self.lost.brief):
            return Obstacle(self.lost.reason, self.lost.brief, "unreachable" if self.lost.brief else "refused")
        return None if self.listed else LISTING


@dataclass(slots=True, eq=False)
class Monitor:
    """One binding's state. `take` and `progress` are fed by `following.py`; the engine reads, unlocks and asks for
    obstacles. Events leave through `outbox`.

    `opened` turns true when everything was listed once: changes before that are no events. `decided` is set when that
    has happened or is known to need somebody's help. `locked` ends with the Synchronization.
    """

    id: BindingId
    binding: Kubernetes
    projection: Projection
    outbox: Outbox
    snapshot: Snapshot = field(default_factory=Snapshot)
    scopes: dict[Selection, Scope] = field(default_factory=dict)
    namespaces: Scope | None = None
    broken: dict[ObjectKey, ObjectSeen] = field(default_factory=dict)
    decided: asyncio.Event = field(default_factory=asyncio.Event)
    opened: bool = False
    locked: bool = True
    _held: list[Event] | None = None

    def __post_init__(self) -> None:
        """A binding that skips its Synchronization is owed every change since its first list."""
        self._held = None if self.binding.run_on_synchronization else []

    @property
    def obstacle(self) -> Obstacle | None:
        """Why this snapshot cannot be used; None if it can."""
        found = next((obstacle for scope in self._all_scopes() if (obstacle := scope.obstacle)), None)
        if found is None and not self.opened:
            key = next(iter(self.broken), None)
            return Obstacle(f"its filter fails on {key}", False, "filter") if key else LISTING
        return found

    @property
    def lost(self) -> str:
        """Why the snapshot may be out of date, for readiness; empty if it is not."""
        return next((scope.lost.reason for scope in self._all_scopes() if scope.lost), "")

    def read_for_synchronization(self) -> list[Entry]:
        """The entries; the changes after this moment are kept for after `unlock`."""
        if self.locked:
            self._held = []
        return self.snapshot.read()

    def unlock(self) -> None:
        """The Synchronization has succeeded: let events flow, first those held back."""
        if self.locked:
            self.locked = False
            self.outbox.put(*(self._held or ()))
            self._held = None

    def end(self) -> None:
        """Nobody follows the binding any more: who waits for it need not, and no question is open."""
        self.broken.clear()
        self.decided.set()

    def watch_nothing(self) -> None:
        """A binding without a kind hears of nothing and holds nothing up (§3, §17.4)."""
        self._progressed()

    def add_scope(self, selection: Selection, name: str = "") -> Scope:
        """A stream begins."""
        scope = self.scopes[selection] = Scope(selection, name)
        return scope

    def drop_scope(self, scope: Scope, seen_at: float) -> None:
        """A namespace stopped matching: its objects are gone for this binding (§4.6; Deleted is our difference)."""
        self.scopes.pop(scope.selection, None)
        for key in [key for key in (*self.snapshot, *self.broken) if scope.covers(key)]:
            self._gone(key, seen_at)
        self._progressed()

    async def take(self, scope: Scope, reports: list[Report], seen_at: float) -> None:
        """Follow one batch of a stream of objects."""
        entries = iter(await self.projection.entries([report for report in reports if isinstance(report, ObjectSeen)]))
        for report in reports:
            match report:
                case ObjectSeen():
                    self._item(scope, report, next(entries), seen_at)
                case RelistStarted():
                    scope.unseen = {key for key in self.snapshot if scope.covers(key)}
                case Synced():
                    for key in scope.unseen or ():
                        self._gone(key, seen_at)
                    scope.unseen = None
            self.progress(scope, report)

    def progress(self, scope: Scope, report: Report) -> None:
        """Note how far a stream's story has come; objects do not matter here."""
        match report:
            case Synced():
                scope.listed, scope.lost = True, None
            case WatchLost():
                scope.lost = report
            case WatchRestored():
                scope.lost = None
            case _:
                return
        self._progressed()

    async def refilter(self, key: ObjectKey, seen_at: float) -> str:
        """Try a filter that failed again, on the object's newest state. Empty if it works now or the question is
        settled otherwise (the object changed or went), else the reason."""
        item = self.broken.get(key)
        if item is None:
            return ""
        (result,) = await self.projection.entries([item])
        if self.broken.get(key) is not item:
            return ""
        if isinstance(result, FilterFailed):
            return str(result)
        del self.broken[key]
        self._seen(item.change, result, seen_at)
        self._progressed()
        return ""

    def _all_scopes(self) -> Iterator[Scope]:
        if self.namespaces is not None:
            yield self.namespaces
        yield from self.scopes.values()

    def _item(self, scope: Scope, item: ObjectSeen, result: Entry | FilterFailed, seen_at: float) -> None:
        if scope.unseen is not None:
            scope.unseen.discard(item.key)
        if item.change is Change.DELETED:
            self._gone(item.key, seen_at, None if isinstance(result, FilterFailed) else result)
        elif isinstance(result, FilterFailed):
            if item.key not in self.broken:
                self.outbox.put(FilterBroke(self.id, item.key, str(result), seen_at))
            self.broken[item.key] = item
        else:
            mended = self.broken.pop(item.key, None)
            self._seen(item.change, result, seen_at)
            if mended:
                self._progressed()

    def _seen(self, told: Change | None, entry: Entry, seen_at: float) -> None:
        """Keep a state. The server's own word for the change is passed on; after a list the snapshot knows (§4.5)."""
        change = self.snapshot.update(entry)
        if change is not None:
            self._event(told or change, entry, seen_at)

    def _gone(self, key: ObjectKey, seen_at: float, last: Entry | None = None) -> None:
        """An object is gone; the event carries its last state, the server's if it sent one."""
        known = self.snapshot.remove(key)
        if (entry := last or known) is not None:
            self._event(Change.DELETED, entry, seen_at)
        if self.broken.pop(key, None):
            self._progressed()

    def _event(self, change: Change, entry: Entry, seen_at: float) -> None:
        """Let out, hold back or drop: before `opened`, and until the Synchronization has read the snapshot, what
        happens is part of what it will read."""
        if not self.opened or change not in self.binding.changes:
            return
        event = ObjectChanged(self.id, change, entry.key, entry.obj, entry.filtered, seen_at)
        if not self.locked:
            self.outbox.put(event)
        elif self._held is not None:
            self._held.append(event)

    def _progressed(self) -> None:
        """Open once everything was listed, and tell the engine that an obstacle may have come or gone."""
        if not self.opened and not self.broken:
            self.opened = all(scope.listed for scope in self._all_scopes())
        obstacle = self.obstacle
        if obstacle is None or not obstacle.brief:
            self.decided.set()
        self.outbox.put(Progressed(self.id))
