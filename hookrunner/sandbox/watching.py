"""Watch: what happens to a selection of objects, as a stream of events.

An object that comes to match the selectors is ADDED, one that ceases to match DELETED. A bookmark says how far the
stream is when nothing else does; like a real server's it comes again though nothing has happened, so that clients can
tell a quiet connection from a dead one.
https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson

from hookrunner.sandbox import reading
from hookrunner.sandbox.kinds import Kind
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
        if change.key.resource != self.kind.stored or self.namespace not in ("", change.key.namespace):
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


async def events(store: Store, watch: Watch, deadline: float) -> AsyncIterator[Event]:
    """Follow it until `deadline` (seconds on the loop's clock). A compacted revision ends it with an ERROR event."""
    try:
        async for event in _followed(store, watch, deadline):
            yield event
    except Refused as refused:
        yield Event("ERROR", orjson.dumps(refused.json()))


async def _followed(store: Store, watch: Watch, deadline: float) -> AsyncIterator[Event]:
    since, options = watch.options.version or 0, watch.options
    if options.initial_events or (since == 0 and options.initial_events is None):
        since = store.revision
        for body in reading.page(store, watch.kind, watch.namespace, _all(options)).bodies:
            yield Event("ADDED", body)
        if options.initial_events and options.bookmarks:
            yield _bookmark(watch.kind, since, INITIAL_EVENTS_END)
    since = since or store.revision
    while True:
        for change in store.changes(min(since, store.revision)):
            since = change.revision
            if (event := watch.of(change)) is not None:
                yield event
        wait = min(BOOKMARK_SECONDS, deadline - asyncio.get_running_loop().time())
        if wait > 0 and await _changed(store, watch.kind.stored, since, wait):
            continue
        since = max(since, store.revision)
        if options.bookmarks:
            yield _bookmark(watch.kind, since)
        if asyncio.get_running_loop().time() >= deadline:
            return


async def _changed(store: Store, resource: str, since: int, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await store.changed(resource, since)
    except TimeoutError:
        return False
    return True


def _all(options: ListOptions) -> ListOptions:
    return ListOptions(labels=options.labels, fields=options.fields)


def _bookmark(kind: Kind, revision: int, annotations: dict[str, str] | None = None) -> Event:
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = annotations
    return Event("BOOKMARK", orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}))
