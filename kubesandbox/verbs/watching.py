"""Watch: what happens to a selection of objects, as a stream of events.

An object that comes to match the selectors is ADDED, one that ceases to match DELETED. A bookmark says how far the
stream is when nothing else does; like a real server's it comes again though nothing has happened, so that clients can
tell a quiet connection from a dead one. A stream ends when its kind is no longer what it was, because the definition is
gone or another one.
https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import orjson

from kubesandbox.kinds import Kind, Kinds
from kubesandbox.query.requests import ListParameters
from kubesandbox.status import Refused
from kubesandbox.store import Store, StoreChange, Stored
from kubesandbox.verbs import reading
from kubesandbox.verbs.gate import Converter
from kubesandbox.verbs.reading import Matches
from kubetypes.light_dataclasses import dataclass
from kubetypes.timers import pause

BOOKMARK_SECONDS = 60.0
AT_ONCE = 1 << 20
"""Bytes of changes that one watch is shown before it looks again."""

INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


@dataclass(frozen=True, slots=True)
class Event:
    """`type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR; `body` the object as compact JSON."""

    type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Watch:
    """What one client watches: a kind, in one namespace or all, narrowed by selectors."""

    kind: Kind
    namespace: str
    options: ListParameters
    matches: Matches | None

    def _concerned(self, change: StoreChange) -> bool:
        return change.key.resource == self.kind.kept and self.namespace in ("", change.key.namespace)

    def states(self, changes: Sequence[StoreChange]) -> list[Stored]:
        """The objects of changes at which this client has to look."""
        concerned = [change for change in changes if self._concerned(change)]
        before = [change.before for change in concerned] if self.matches is not None else []
        after = [change.after or change.gone for change in concerned]
        return [one for one in (*before, *after) if one is not None]

    def of(self, change: StoreChange) -> Event | None:
        """What a change means to this client."""
        if not self._concerned(change):
            return None
        before = change.before is not None and self._matches(change.before)
        after = change.after is not None and self._matches(change.after)
        if change.after is not None and after:
            return Event("MODIFIED" if before else "ADDED", reading.body(self.kind, change.after))
        if not before:
            return None
        return Event("DELETED", self._last(change))

    def _matches(self, stored: Stored) -> bool:
        return self.matches is None or self.matches(reading.obj(self.kind, stored))

    def _last(self, change: StoreChange) -> bytes:
        """The last state that this client knew, with the revision at which it went."""
        if change.after is None:
            assert change.gone is not None
            return reading.body(self.kind, change.gone)
        assert change.before is not None
        obj = reading.obj(self.kind, change.before)
        obj["metadata"]["resourceVersion"] = str(change.revision)
        return orjson.dumps(obj)


def opened(store: Store, kind: Kind, namespace: str, options: ListParameters) -> Watch:
    """A watch that can be followed. Raises Refused for what is answered with a status instead of a stream."""
    if options.initial_events:
        reading.check_not_ahead(store, options.version or 0)
    return Watch(kind, namespace, options, reading.matcher(kind, options))


@dataclass(frozen=True, slots=True)
class WatchSources:
    """What a watch looks at: objects, kinds, and who converts the ones for the others."""

    store: Store
    kinds: Kinds
    converter: Converter


async def events(world: WatchSources, watch: Watch, deadline: float) -> AsyncIterator[Event]:
    """Follow it until `deadline` (seconds on the loop's clock). A compacted revision ends it with an ERROR event,
    and so does an object that cannot be converted."""
    store = world.store
    since, initial = watch.options.version or 0, watch.options.initial_events
    try:
        if initial or (since == 0 and initial is None):
            since = store.revision
            for event in await _there(world, watch):
                yield event
        elif since:
            store.changes(min(since, store.revision))  # refused if some of them are forgotten
        async for event in _follow(world, watch, since or store.revision, deadline):
            yield event
    except Refused as refused:
        yield Event("ERROR", orjson.dumps(refused.json()))


async def _there(world: WatchSources, watch: Watch) -> list[Event]:
    """What there is at the beginning."""
    selected = ListParameters(labels=watch.options.labels, fields=watch.options.fields)
    found = reading.find(world.store, watch.kind, watch.namespace, selected)
    await world.converter.prepare(watch.kind, found.needed())
    events = [Event("ADDED", body) for body in reading.page(watch.kind, found).bodies]
    if watch.options.initial_events and watch.options.bookmarks:
        events.append(_bookmark(watch.kind, found.at, INITIAL_EVENTS_END))
    return events


async def _follow(world: WatchSources, watch: Watch, since: int, deadline: float) -> AsyncIterator[Event]:
    """What happens after a revision. A bookmark comes only when all changes up to its revision were sent."""
    store, kinds = world.store, world.kinds
    kind, clock = watch.kind, asyncio.get_running_loop().time
    bookmark = clock() + BOOKMARK_SECONDS
    while True:
        changes, known = _first(store.changes(min(since, store.revision), kind.kept), store.revision)
        if kind.webhook is not None:
            await world.converter.prepare(kind, watch.states(changes))
        for change in changes:
            if (event := watch.of(change)) is not None:
                yield event
        since = max(since, known)
        if not changes and kinds.get(kind.group, kind.version, kind.plural) is not kind:
            return
        if clock() >= min(bookmark, deadline):
            bookmark = clock() + BOOKMARK_SECONDS
            if watch.options.bookmarks:
                yield _bookmark(kind, since)
            if clock() >= deadline:
                return
        await _wait_for_change(store, kind.kept, since, pause(min(bookmark, deadline), clock()))


def _first(changes: Sequence[StoreChange], revision: int) -> tuple[Sequence[StoreChange], int]:
    """A bounded first part of the changes, and the revision that it reaches. Without the bound a slow client would keep
    changes in memory that history has dropped; with it the client gets 410 once history is gone, as from a real API
    server."""
    size = 0
    for number, change in enumerate(changes, start=1):
        if (size := size + change.size) > AT_ONCE and number < len(changes):
            return changes[:number], change.revision
    return changes, revision


async def _wait_for_change(store: Store, resource: str, since: int, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await store.wait_for_change(resource, since)


def _bookmark(kind: Kind, revision: int, annotations: dict[str, str] | None = None) -> Event:
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = annotations
    return Event("BOOKMARK", orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}))
