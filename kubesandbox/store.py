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
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol

import orjson

from kubesandbox.status import Refused, expired
from kubetypes.json_values import written
from kubetypes.light_dataclasses import dataclass

LARGEST = 3 * 512 * 1024
"""Bytes that an object may have: etcd takes no more."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How much of the past is remembered. `size` is in bytes, of what only the history holds."""

    revisions: int = 10_000
    seconds: float = 300.0
    size: int = 64 * 1024 * 1024


class Key(NamedTuple):
    """Where an object is kept: resource (`deployments.apps`, one name for all versions), namespace or "", name."""

    resource: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True, weakref_slot=True)
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
class StoreChange:
    """One revision: before None = created, after None = deleted. A deleted object's last state has the revision of the
    deletion (`gone`)."""

    revision: int
    at: float
    key: Key
    before: Stored | None
    after: Stored | None
    gone: Stored | None = None

    @property
    def size(self) -> int:
        """Bytes that are remembered for its sake alone."""
        return sum(len(one.body) for one in (self.before, self.gone) if one is not None)


class ChangeLog(Protocol):
    """Where writes are kept beyond the process."""

    def append(self, change: StoreChange) -> None:
        """Keep one write; it is safe when this returns."""
        ...


class Store:
    """Objects by key, and the history of changes. `clock` gives seconds and decides what is too old."""

    def __init__(
        self,
        journal: ChangeLog | None = None,
        clock: Callable[[], float] = time.monotonic,
        kept: Kept = Kept(),
    ) -> None:
        self.revision = 1
        self.compacted = 1
        self._objects: dict[str, dict[tuple[str, str], Stored]] = {}
        self._history: list[StoreChange] = []
        self._size = 0
        self._forgotten: dict[str, int] = {}
        self._journal = journal
        self._clock = clock
        self._kept = kept
        self._news: dict[str, asyncio.Event] = {}
        self._feeds: list[asyncio.Queue[StoreChange]] = []

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
        return [found[key] for key in sorted(key for key in found if namespace in ("", key[0]))]

    def inhabited(self, namespace: str) -> bool:
        """Whether there is anything in a namespace."""
        return any(place[0] == namespace for objects in self._objects.values() for place in objects)

    def resources(self) -> list[str]:
        """Names of the resources that have objects."""
        return [resource for resource, objects in self._objects.items() if objects]

    def changes(self, since: int, resource: str = "") -> list[StoreChange]:
        """What happened after a revision, oldest first. Raises Refused 410 where that is compacted.

        With a `resource` that is what has happened to it alone: for those who follow it, however much others do.
        """
        if since < (self._forgotten.get(resource, 0) if resource else self.compacted):
            raise expired("The resourceVersion for the provided watch is too old.")
        # Each revision is one entry, and the history has no gaps.
        found = self._history[max(0, len(self._history) - max(0, self.revision - since)) :]
        return [change for change in found if change.key.resource == resource] if resource else found

    async def wait_for_change(self, resource: str, since: int) -> None:
        """Wait for a change of a resource ("" for any) after a revision, or for `ring`. Refused 410."""
        if not self.changes(since, resource):
            await self._news.setdefault(resource, asyncio.Event()).wait()

    def ring(self, resource: str) -> None:
        """Wake those who wait for a resource."""
        if (news := self._news.pop(resource, None)) is not None:
            news.set()

    def feed(self) -> asyncio.Queue[StoreChange]:
        """Every change from now on, for those who must miss none: history may be compacted before they see it."""
        feed: asyncio.Queue[StoreChange] = asyncio.Queue()
        self._feeds.append(feed)
        return feed

    # ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────

    def put(self, key: Key, obj: dict[str, Any]) -> Stored:
        """Create or replace an object; sets its resourceVersion in place. Raises Refused 500 for a huge object."""
        obj["metadata"]["resourceVersion"] = str(self.revision + 1)
        stored = Stored(key, self.revision + 1, written(obj))
        if len(stored.body) > LARGEST:
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "", "etcdserver: request is too large")
        before = self.get(key)
        self._happened(StoreChange(stored.revision, self._clock(), key, before, stored))
        return stored

    def delete(self, key: Key) -> Stored:
        """Remove an object and return its last state, with the revision of the deletion. It must be there."""
        before = self._objects[key.resource][key.namespace, key.name]
        obj = before.json()
        obj["metadata"]["resourceVersion"] = str(self.revision + 1)
        last = Stored(key, self.revision + 1, written(obj))
        self._happened(StoreChange(last.revision, self._clock(), key, before, None, last))
        return last

    def compact(self, revision: int | None = None) -> int:
        """Forget the history up to a revision (without one: all of it); the oldest revision that can be asked for."""
        self._forget(min(self.revision, revision or self.revision))
        return self.compacted

    def restore(self, objects: Iterable[Stored], revision: int) -> None:
        """Take over what a journal has kept; only into a store that is new. What is older than that is compacted."""
        for stored in objects:
            self._objects.setdefault(stored.key.resource, {})[stored.key.namespace, stored.key.name] = stored
        self.revision = self.compacted = max(revision, self.revision)

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _happened(self, change: StoreChange) -> None:
        if self._journal:
            self._journal.append(change)
        self._keep(change)
        self.revision = change.revision
        self._history.append(change)
        self._size += change.size
        for feed in self._feeds:
            feed.put_nowait(change)
        self._age()
        self.ring("")
        self.ring(change.key.resource)

    def _keep(self, change: StoreChange) -> None:
        objects = self._objects.setdefault(change.key.resource, {})
        place = (change.key.namespace, change.key.name)
        if change.after is None:
            objects.pop(place, None)
        else:
            objects[place] = change.after

    def _age(self) -> None:
        """Forget what is too much or too old, many at once: cutting a list's head costs its length."""
        kept, age = self._kept, self._clock() - self._history[0].at
        if max(len(self._history) / kept.revisions, self._size / kept.size, age / kept.seconds) > 1.1:
            self._forget(self._bearable())

    def _bearable(self) -> int:
        """The revision up to which all has to be forgotten so that the rest is not too much. The last stays."""
        old = self._clock() - self._kept.seconds
        left, size = len(self._history), self._size
        for change in self._history[:-1]:
            if left <= self._kept.revisions and size <= self._kept.size and change.at >= old:
                break
            left, size = left - 1, size - change.size
        return self.revision - left

    def _forget(self, revision: int) -> None:
        if revision <= self.compacted:
            return
        many = max(0, len(self._history) - (self.revision - revision))
        for change in self._history[:many]:
            self._size -= change.size
            self._forgotten[change.key.resource] = change.revision
        del self._history[:many]
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
