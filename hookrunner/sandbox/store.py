"""Objects and what happened to them, under one revision counter, as etcd keeps them.

Each write makes one revision; the object's `metadata.resourceVersion` is the revision of its last write. The history of
the last writes answers watches from a revision and lists at one; what is older is compacted, and asking for it is
refused with 410. Bodies are compact JSON and shared between the objects and the history. Nothing here waits but
`changed`, so a verb of the API is atomic by being a plain function.

https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import orjson

from hookrunner.model.resources import written
from hookrunner.sandbox.status import Refused, expired

KEPT_REVISIONS, KEPT_SECONDS = 10_000, 300.0


class Key(NamedTuple):
    """Where an object is kept: resource (`deployments.apps`, one name for all versions), namespace or "", name."""

    resource: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as of one revision."""

    key: Key
    revision: int
    body: bytes

    def json(self) -> dict[str, Any]:
        """The object, the caller's to change."""
        parsed: dict[str, Any] = orjson.loads(self.body)
        return parsed


@dataclass(frozen=True, slots=True)
class Change:
    """One revision: before None = created, after None = deleted. A deleted object's last state has the revision of the
    deletion (`gone`)."""

    revision: int
    at: float
    key: Key
    before: Stored | None
    after: Stored | None
    gone: bytes = b""


class Journal(Protocol):
    """Where writes are kept beyond the process."""

    def append(self, change: Change) -> None:
        """Keep one write; it is safe when this returns."""
        ...


class Store:
    """Objects by key, and the history of changes. `clock` gives seconds and decides what is too old."""

    def __init__(
        self,
        journal: Journal | None = None,
        clock: Callable[[], float] = time.monotonic,
        kept: tuple[int, float] = (KEPT_REVISIONS, KEPT_SECONDS),
    ) -> None:
        self.revision = 1
        self.compacted = 1
        self._objects: dict[str, dict[tuple[str, str], Stored]] = {}
        self._history: list[Change] = []
        self._journal = journal
        self._clock = clock
        self._kept = kept
        self._news: dict[str, asyncio.Event] = {}
        self._feeds: list[asyncio.Queue[Change]] = []

    # ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, key: Key) -> Stored | None:
        """The object as it is now."""
        return self._objects.get(key.resource, {}).get((key.namespace, key.name))

    def select(self, resource: str, namespace: str = "", at: int | None = None) -> list[Stored]:
        """A resource's objects in the order of namespace and name, as they are now or were at a revision.

        Raises Refused 410 for a revision that is compacted.
        """
        found = self._objects.get(resource, {})
        if at is not None and at < self.revision:
            found = self._undone(found, resource, at)
        return [found[key] for key in sorted(found) if namespace in ("", key[0])]

    def resources(self) -> list[str]:
        """Names of the resources that have objects."""
        return [resource for resource, objects in self._objects.items() if objects]

    def changes(self, since: int) -> list[Change]:
        """What happened after a revision, oldest first. Raises Refused 410 where that is compacted."""
        if since < self.compacted:
            raise expired("The resourceVersion for the provided watch is too old.")
        # Each revision is one entry, and the history has no gaps.
        return self._history[len(self._history) - (self.revision - since) :] if since < self.revision else []

    async def changed(self, resource: str, since: int) -> None:
        """Wait until something happened to a resource ("" for any) after a revision, or history was compacted."""
        while not any(resource in ("", change.key.resource) for change in self.changes(since)):
            since = self.revision
            await self._news.setdefault(resource, asyncio.Event()).wait()

    def feed(self) -> asyncio.Queue[Change]:
        """Every change from now on, for those who must miss none: history may be compacted before they see it."""
        feed: asyncio.Queue[Change] = asyncio.Queue()
        self._feeds.append(feed)
        return feed

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────

    def put(self, key: Key, obj: dict[str, Any]) -> Stored:
        """Create or replace an object; sets its resourceVersion in place."""
        obj["metadata"]["resourceVersion"] = str(self.revision + 1)
        stored = Stored(key, self.revision + 1, written(obj))
        before = self.get(key)
        self._happened(Change(stored.revision, self._clock(), key, before, stored))
        return stored

    def delete(self, key: Key) -> Stored:
        """Remove an object and return its last state, with the revision of the deletion. It must be there."""
        before = self._objects[key.resource][key.namespace, key.name]
        obj = before.json()
        obj["metadata"]["resourceVersion"] = str(self.revision + 1)
        last = Stored(key, self.revision + 1, written(obj))
        self._happened(Change(last.revision, self._clock(), key, before, None, last.body))
        return last

    def compact(self, revision: int | None = None) -> int:
        """Forget the history up to a revision (without one: all of it); the oldest revision that can be asked for."""
        self._forget(min(self.revision, revision or self.revision))
        for news in self._news.values():
            news.set()
        self._news.clear()
        return self.compacted

    def restore(self, objects: Iterable[Stored], revision: int) -> None:
        """Take over what a journal has kept; only into a store that is new. What is older than that is compacted."""
        for stored in objects:
            self._objects.setdefault(stored.key.resource, {})[stored.key.namespace, stored.key.name] = stored
        self.revision = self.compacted = max(revision, self.revision)

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _happened(self, change: Change) -> None:
        if self._journal:
            self._journal.append(change)
        self._keep(change)
        self.revision = change.revision
        self._history.append(change)
        for feed in self._feeds:
            feed.put_nowait(change)
        self._age()
        for resource in ("", change.key.resource):
            if (news := self._news.pop(resource, None)) is not None:
                news.set()

    def _keep(self, change: Change) -> None:
        objects = self._objects.setdefault(change.key.resource, {})
        place = (change.key.namespace, change.key.name)
        if change.after is None:
            objects.pop(place, None)
        else:
            objects[place] = change.after

    def _age(self) -> None:
        """Forget what is too much or too old, many at once: cutting a list's head costs its length."""
        most, seconds = self._kept
        if len(self._history) > most + most // 10:
            self._forget(self.revision - most)
        elif self._history[0].at < self._clock() - 1.1 * seconds:
            old = self._clock() - seconds
            self._forget(next(change.revision for change in self._history if change.at >= old) - 1)

    def _forget(self, revision: int) -> None:
        if revision > self.compacted:
            del self._history[: max(0, len(self._history) - (self.revision - revision))]
            self.compacted = revision

    def _undone(self, found: dict[tuple[str, str], Stored], resource: str, at: int) -> dict[tuple[str, str], Stored]:
        """Go back in history, one change after another."""
        state: dict[tuple[str, str], Stored] = dict(found)
        try:
            changes = self.changes(at)
        except Refused:
            raise expired("The resourceVersion for the provided list is too old.") from None
        for change in reversed(changes):
            if change.key.resource == resource:
                place = (change.key.namespace, change.key.name)
                if change.before is None:
                    state.pop(place, None)
                else:
                    state[place] = change.before
        return state
