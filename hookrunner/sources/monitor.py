"""What is known for one kubernetes binding: the state of its watches, its snapshot, and the changes it asked for.

The way of a change: report of a watch → entry → snapshot (both `snapshots.py`) → event. Events are held back
until the binding's Synchronization has succeeded; reading the snapshot for that run clears what it already shows, so
each change leads to one event. `obstacle` says why a hook must not run on this snapshot yet.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import field
from typing import TypeAlias

from hookrunner.errors import FilterFailed
from hookrunner.kube.informer import Added, Deleted, Informer, KnownKeys, Modified
from hookrunner.model.bindings import Change, Kubernetes
from hookrunner.model.contexts import Entry
from hookrunner.model.events import (
    BindingId,
    FilterBroke,
    ObjectChanged,
    ObjectSeen,
    Obstacle,
    Progressed,
    Report,
    Synced,
    WatchLost,
    WatchRestored,
)
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.sources.snapshots import Projection, Snapshot
from hookrunner.waits import Batches
from kubetypes.light_dataclasses import dataclass

Event: TypeAlias = ObjectChanged | FilterBroke | Progressed

LISTING = Obstacle("its first list is under way", brief=True, word="listing")


@dataclass(slots=True, eq=False)
class Scope:
    """The part of a binding that one watch covers, and the state of that watch. `name` limits it to one object.

    For its informer it is the keys known in this part, which are kept in `stores`.
    """

    selection: Selection
    stores: tuple[KnownKeys, ...]
    name: str = ""
    synced: bool = False
    lost: WatchLost | None = None
    informer: Informer = field(init=False)

    def __post_init__(self) -> None:
        self.informer = Informer(self)

    def __contains__(self, key: object) -> bool:
        for store in self.stores:  # noqa: SIM110 - `any` takes twice as long, and this is asked for each listed object
            if key in store:
                return True
        return False

    def __iter__(self) -> Iterator[ObjectKey]:
        return (key for store in self.stores for key in store if self.covers(key))

    def covers(self, key: ObjectKey) -> bool:
        """Does this watch report that object?"""
        return self.selection.namespace in ("", key.namespace) and self.name in ("", key.name)

    @property
    def obstacle(self) -> Obstacle | None:
        """Once synced, a brief loss is no obstacle: the last state is good enough until the watch is back."""
        if self.lost is not None and not (self.synced and self.lost.brief):
            return Obstacle(self.lost.reason, self.lost.brief, "unreachable" if self.lost.brief else "refused")
        return None if self.synced else LISTING


@dataclass(slots=True, eq=False)
class Monitor:
    """One binding's state. A `Subscription` feeds it through `apply` and `note_progress`; the engine reads it, unlocks
    it and asks for obstacles. Events leave through `outbox`.

    `opened` turns true when every scope was synced once: changes before that are no events. `decided` is set when that
    has happened or is known to need help from outside. `locked` ends with the Synchronization. `untried`: where each
    object has a run of its own, those of the start that had none yet. `broken`: the newest state of objects on which
    the filter failed.
    """

    id: BindingId
    binding: Kubernetes
    projection: Projection
    outbox: Batches[Event]
    snapshot: Snapshot = field(default_factory=Snapshot)
    scopes: dict[Selection, Scope] = field(default_factory=dict)
    namespaces: Scope | None = None
    broken: dict[ObjectKey, ObjectSeen] = field(default_factory=dict)
    decided: asyncio.Event = field(default_factory=asyncio.Event)
    opened: bool = False
    locked: bool = True
    untried: set[ObjectKey] = field(default_factory=set)
    _held: list[Event] | None = None

    def __post_init__(self) -> None:
        """A binding that skips its Synchronization gets every change since its first list."""
        self._held = None if self.binding.run_on_synchronization else []

    @property
    def obstacle(self) -> Obstacle | None:
        """Why this snapshot cannot be used; None if it can."""
        obstacle = next((obstacle for scope in self._all_scopes() if (obstacle := scope.obstacle)), None)
        if obstacle is None and not self.opened:
            key = next(iter(self.broken), None)
            return Obstacle(f"its filter fails on {key}", False, "filter") if key else LISTING
        return obstacle

    @property
    def is_watching(self) -> bool:
        """Is there a watch? A binding without a kind has none."""
        return any(True for _ in self._all_scopes())

    @property
    def lost(self) -> str:
        """Why the snapshot may be out of date, each reason once; empty if it is not."""
        return "; ".join(dict.fromkeys(scope.lost.reason for scope in self._all_scopes() if scope.lost))

    def read_for_synchronization(self) -> list[Entry]:
        """The entries; the changes after this moment are kept for after `unlock`."""
        if self.locked:
            self._held = []
        return self.snapshot.read()

    def begin_with_each(self) -> list[ObjectKey]:
        """The objects that exist now, in their order, each of which is owed a run. The caller unlocks at once."""
        objects = [entry.key for entry in self.snapshot.read()]
        self.untried = set(objects)
        return objects

    def unlock(self) -> None:
        """The Synchronization has succeeded: let events flow, first those held back."""
        if self.locked:
            self.locked = False
            for event in self._held or ():
                self.outbox.put(event)
            self._held = None

    def end(self) -> None:
        """The binding is no longer watched: release those that wait for it, and forget failed filters."""
        self.broken.clear()
        self.decided.set()

    def watch_nothing(self) -> None:
        """Let a binding without a kind get no events and hold nothing up."""
        self._open_when_synced()

    def add_scope(self, selection: Selection, name: str = "") -> Scope:
        """Begin a watch of this selection."""
        scope = self.scopes[selection] = Scope(selection, (self.snapshot.keys(), self.broken.keys()), name)
        return scope

    def drop_scope(self, scope: Scope, seen_at: float) -> None:
        """A namespace no longer matches: its objects are Deleted for this binding (docs/differences.md, Watching)."""
        self.scopes.pop(scope.selection, None)
        for key in tuple(scope):
            self._remove(key, seen_at)
        self._open_when_synced()

    async def apply(self, scope: Scope, reports: list[Report], seen_at: float) -> None:
        """Take in one batch of a watch of objects. The informer yields one fact for each object seen, in their order,
        so facts and entries go in step; a Deleted without an object is what a list lacked, and has no entry."""
        entries = iter(await self.projection.entries([report for report in reports if isinstance(report, ObjectSeen)]))
        for fact in scope.informer.facts(reports):
            match fact:
                case Added(seen) | Modified(seen):
                    self._update(seen, next(entries), seen_at)
                case Deleted(key, None):
                    self._remove(key, seen_at)
                case Deleted(key):
                    last = next(entries)
                    self._remove(key, seen_at, None if isinstance(last, FilterFailed) else last)
                case _:
                    self.note_progress(scope, fact)

    def note_progress(self, scope: Scope, fact: Synced | WatchLost | WatchRestored) -> None:
        """Note the progress of a watch."""
        match fact:
            case Synced():
                scope.synced, scope.lost = True, None
            case WatchLost():
                scope.lost = fact
            case WatchRestored():
                scope.lost = None
        self._open_when_synced()

    async def refilter(self, key: ObjectKey, seen_at: float) -> str:
        """Try a filter that failed again, on the object's newest state. Empty if it works now or the question is
        settled otherwise (the object changed or went), else the reason."""
        seen = self.broken.get(key)
        if seen is None:
            return ""
        (result,) = await self.projection.entries([seen])
        if self.broken.get(key) is not seen:
            return ""
        if isinstance(result, FilterFailed):
            return str(result)
        del self.broken[key]
        self._keep(seen.change, result, seen_at)
        self._open_when_synced()
        return ""

    def _all_scopes(self) -> Iterator[Scope]:
        if self.namespaces is not None:
            yield self.namespaces
        yield from self.scopes.values()

    def _update(self, seen: ObjectSeen, result: Entry | FilterFailed, seen_at: float) -> None:
        if isinstance(result, FilterFailed):
            if seen.key not in self.broken:
                self.outbox.put(FilterBroke(self.id, seen.key, str(result), seen_at))
            self.broken[seen.key] = seen
            return
        was_broken = self.broken.pop(seen.key, None)
        self._keep(seen.change, result, seen_at)
        if was_broken:
            self._open_when_synced()

    def _keep(self, change: Change | None, entry: Entry, seen_at: float) -> None:
        """Keep a state. The server's word for the change is passed on; in a list (None) the snapshot decides."""
        difference = self.snapshot.update(entry)
        if difference is not None:
            self._emit(change or difference, entry, seen_at)

    def _remove(self, key: ObjectKey, seen_at: float, last: Entry | None = None) -> None:
        """An object is gone; the event carries its last state, the server's if it sent one."""
        known = self.snapshot.remove(key)
        if (entry := last or known) is not None:
            self._emit(Change.DELETED, entry, seen_at)
        if self.broken.pop(key, None):
            self._open_when_synced()

    def _emit(self, change: Change, entry: Entry, seen_at: float) -> None:
        """Let out, hold back or drop: before `opened`, and until the Synchronization has read the snapshot, changes
        are part of what it will read."""
        if not self.opened or change not in self.binding.changes:
            return
        event = ObjectChanged(self.id, change, entry.key, entry.obj, entry.filtered, seen_at)
        if not self.locked:
            self.outbox.put(event)
        elif self._held is not None:
            self._held.append(event)

    def _open_when_synced(self) -> None:
        """Open once every scope was synced, and notify the engine that an obstacle may have come or gone."""
        if not self.opened and not self.broken:
            self.opened = all(scope.synced for scope in self._all_scopes())
        obstacle = self.obstacle
        if obstacle is None or not obstacle.brief:
            self.decided.set()
        self.outbox.put(Progressed(self.id))
