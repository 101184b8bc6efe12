"""Watch: what happens to a selection of objects, as a stream of events.

An object that comes to match the selectors is ADDED, one that ceases to match DELETED. A bookmark says how far the
stream is when nothing else does; like a real server's it comes again though nothing has happened, so that clients can
tell a quiet connection from a dead one. A stream ends when its kind is no longer what it was, because the definition is
gone or another one.
https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from hookrunner.sandbox import reading
from hookrunner.sandbox.kinds import Kind, Kinds
from hookrunner.sandbox.reading import Matches
from hookrunner.sandbox.requests import ListOptions
from hookrunner.sandbox.status import Refused
from hookrunner.sandbox.store import Change, Store, Stored

BOOKMARK_SECONDS = 60.0
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
    options: ListOptions
    matches: Matches | None

    def of(self, change: Change) -> Event | None:
        """What a change means to this client."""
        if change.key.resource != self.kind.kept or self.namespace not in ("", change.key.namespace):
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

    def _last(self, change: Change) -> bytes:
        """The last state that this client knew, with the revision at which it went."""
        if change.after is None:
            return reading.body(self.kind, Stored(change.key, change.revision, change.gone))
        assert change.before is not None
        obj = reading.obj(self.kind, change.before)
        obj["metadata"]["resourceVersion"] = str(change.revision)
        return orjson.dumps(obj)


def opened(store: Store, kind: Kind, namespace: str, options: ListOptions) -> Watch:
    """A watch that can be followed. Raises Refused for what is answered with a status instead of a stream."""
    if options.initial_events:
        reading.check_not_ahead(store, options.version or 0)
    return Watch(kind, namespace, options, reading.matcher(kind, options))


async def events(store: Store, kinds: Kinds, watch: Watch, deadline: float) -> AsyncIterator[Event]:
    """Follow it until `deadline` (seconds on the loop's clock). A compacted revision ends it with an ERROR event."""
    since, initial = watch.options.version or 0, watch.options.initial_events
    try:
        if initial or (since == 0 and initial is None):
            since = store.revision
            for event in _there(store, watch):
                yield event
        elif since:
            store.changes(min(since, store.revision))  # refused if some of them are forgotten
        async for event in _followed(store, kinds, watch, since or store.revision, deadline):
            yield event
    except Refused as refused:
        yield Event("ERROR", orjson.dumps(refused.json()))


def _there(store: Store, watch: Watch) -> list[Event]:
    """What there is at the beginning."""
    selected = ListOptions(labels=watch.options.labels, fields=watch.options.fields)
    found = [Event("ADDED", body) for body in reading.page(store, watch.kind, watch.namespace, selected).bodies]
    if watch.options.initial_events and watch.options.bookmarks:
        found.append(_bookmark(watch.kind, store.revision, INITIAL_EVENTS_END))
    return found


async def _followed(store: Store, kinds: Kinds, watch: Watch, since: int, deadline: float) -> AsyncIterator[Event]:
    """What happens after a revision. A bookmark comes only when all up to its revision was told."""
    kind, clock = watch.kind, asyncio.get_running_loop().time
    bookmark = clock() + BOOKMARK_SECONDS
    while True:
        changes, known = store.changes(min(since, store.revision), kind.kept), store.revision
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
        await _changed(store, kind.kept, since, min(bookmark, deadline) - clock())


async def _changed(store: Store, resource: str, since: int, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await store.changed(resource, since)


def _bookmark(kind: Kind, revision: int, annotations: dict[str, str] | None = None) -> Event:
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = annotations
    return Event("BOOKMARK", orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}))
