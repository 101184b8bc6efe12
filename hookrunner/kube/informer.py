"""Turns what the server sends about a selection into reports, and reports into facts: objects were added, modified or
deleted.

    reports, error = cursor.read_lines(kind, lines)  # decoding: pure; the connections belong to `watch.py`

    informer = Informer(known)                       # the keys that the reader keeps: a set, a dict, a snapshot
    async for reports in watches.open(selection):
        for fact in informer.facts(reports): ...     # apply each fact to `known` before the next one

    async with aclosing(follow_object(watches, selection)) as states:
        async for state in states: ...               # ObjectState, WatchLost, WatchRestored

`WatchCursor` decodes, and remembers from which version to go on. The rule that matters most: a watch may be resumed
from the version of a list, a bookmark or a watch event, never from that of an object in a list, which may be years old.

An object that a repeated list does not mention was deleted meanwhile, also while the watch was lost: that rule is
`Relist`, here and nowhere else. No key is kept twice, except for the unmentioned ones while a list is in progress.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import sys
from collections.abc import AsyncGenerator, Hashable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

import orjson

from hookrunner.errors import Cut, KubeError, Throttled, api_error
from hookrunner.kube import deep_json
from hookrunner.model.bindings import Change
from hookrunner.model.events import ObjectSeen, RelistStarted, Report, Synced, WatchLost, WatchRestored
from hookrunner.model.resources import ObjectKey, Resource, Selection
from kubetypes.json_values import JSON

_CHANGES = {"ADDED": Change.ADDED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}


class WatchCursor:
    """How far one watch has come.

    `version`: where the watch goes on; None while a list is needed or in progress.
    `lists`: the number of complete lists so far.
    `has_events`: whether anything came after a list, a sign that the watch works. `watch.py` resets it.
    """

    def __init__(self) -> None:
        self.version: str | None = None
        self.lists = 0
        self.has_events = False

    def read_page(self, resource: Resource, page: JSON) -> list[Report]:
        """The reports of one page of a list; the last page completes the list.

        Objects in a list lack `apiVersion` and `kind`, which the list states once for all of them.
        """
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        reports: list[Report] = [_seen(None, resource.kind, head | obj) for obj in page["items"]]
        if not page["metadata"].get("continue"):
            reports.append(self._synced(page))
        return reports

    def read_lines(self, kind: str, lines: Sequence[bytes]) -> tuple[list[Report], KubeError | None]:
        """The reports in these lines of a watch, and the error that ended it, to be raised after the reports."""
        reports: list[Report] = []
        for line in filter(None, lines):
            try:
                event = _decode(line)
            except orjson.JSONDecodeError:
                return reports, Cut("the watch broke off in the middle of an event")
            if event["type"] == "ERROR":
                return reports, self._error(event["object"])
            reports += self._read_event(event["type"], kind, event["object"])
        return reports, None

    def _read_event(self, event: str, kind: str, obj: JSON) -> list[Report]:
        """In a streamed list, only its end (a marked bookmark) and deletions mean more than "this object exists"."""
        listing, change = self.version is None, _CHANGES.get(event)
        if listing and change is None:
            return self._read_list_end(obj)
        if not listing:
            self.version, self.has_events = _version(obj), True
        if change is None:
            return []
        return [_seen(None if listing and change is not Change.DELETED else change, kind, obj)]

    def _read_list_end(self, bookmark: JSON) -> list[Report]:
        annotations = bookmark["metadata"].get("annotations") or {}
        if annotations.get("k8s.io/initial-events-end") != "true":
            return []
        return [self._synced(bookmark)]

    def _synced(self, page: JSON) -> Synced:
        self.version = _version(page)
        self.lists += 1
        return Synced(self.version)

    def _error(self, status: JSON) -> KubeError:
        """The error in an ERROR event, which carries a `Status`. Unless the server only asks for a pause, the next
        attempt begins with a list."""
        error = api_error(status.get("code", 0), status.get("reason", ""), status.get("message", ""))
        if not isinstance(error, Throttled):
            self.version = None
        return error


def _decode(line: bytes) -> JSON:
    """Raises orjson.JSONDecodeError."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return deep_json.parse(line)


def _version(obj: JSON) -> str:
    """The resourceVersion of an object or a list; some aggregated APIs have none."""
    return str(obj["metadata"].get("resourceVersion", ""))


def _seen(change: Change | None, kind: str, obj: JSON) -> ObjectSeen:
    """The namespace is interned: up to 100,000 objects share one copy of its name."""
    metadata = obj["metadata"]
    key = ObjectKey(sys.intern(metadata.get("namespace", "")), kind, metadata["name"])
    return ObjectSeen(change, key, obj, _version(obj))


Key = TypeVar("Key", bound=Hashable)


class Relist(Generic[Key]):
    """The known keys that a list has not mentioned when it is complete."""

    def __init__(self) -> None:
        self._unseen: set[Key] | None = None

    @property
    def is_in_progress(self) -> bool:
        """Has a list begun that is not complete?"""
        return self._unseen is not None

    @property
    def unseen(self) -> Iterable[Key]:
        """The known keys that the list in progress has not mentioned so far."""
        return self._unseen or ()

    def begin(self, known: Iterable[Key]) -> None:
        """Begin a list; an unfinished one before it is dropped."""
        self._unseen = set(known)

    def see(self, key: Key) -> None:
        """Note that the key was mentioned, in the list or as a change during it."""
        if self._unseen:
            self._unseen.discard(key)

    def end(self) -> set[Key]:
        """End the list; the keys that no longer exist."""
        missing, self._unseen = self._unseen, None
        return missing or set()


class KnownKeys(Protocol):
    """The keys of the objects that a reader knows."""

    def __contains__(self, key: object, /) -> bool: ...

    def __iter__(self) -> Iterator[ObjectKey]: ...


# Not frozen: a frozen one takes three times as long to make, and there is one for each of 100,000 objects of a list.
@dataclass(slots=True)
class Added:
    """An object that the reader did not know, or that the server calls new."""

    seen: ObjectSeen


@dataclass(slots=True)
class Modified:
    """A known object in a list, perhaps unchanged, or one that the server calls modified."""

    seen: ObjectSeen


@dataclass(slots=True)
class Deleted:
    """An object is gone. `last` is its last state; None if a list did not mention it."""

    key: ObjectKey
    last: ObjectSeen | None = None


Fact: TypeAlias = Added | Modified | Deleted | Synced | WatchLost | WatchRestored


class Informer:
    """For one reader of one watch, or of several whose lists come one after the other.

    `known` is read, never changed: the reader applies each fact before it takes the next.
    """

    def __init__(self, known: KnownKeys) -> None:
        self._known = known
        self._relist = Relist[ObjectKey]()

    @property
    def is_relisting(self) -> bool:
        """Is a list in progress? Still true for the deletions that it reveals, no longer for its `Synced`."""
        return self._relist.is_in_progress

    def facts(self, reports: Iterable[Report]) -> Iterator[Fact]:
        """Yield the facts of a batch of reports. Deletions that a list reveals come before its `Synced`."""
        for report in reports:
            match report:
                case ObjectSeen():
                    self._relist.see(report.key)
                    if report.change is not None:
                        yield _fact_of_change(report)
                    else:
                        yield Modified(report) if report.key in self._known else Added(report)
                case RelistStarted():
                    self._relist.begin(self._known)
                case Synced():
                    yield from map(Deleted, self._relist.unseen)
                    self._relist.end()
                    yield report
                case _:
                    yield report


def _fact_of_change(seen: ObjectSeen) -> Added | Modified | Deleted:
    """The fact of a change outside of a list, or of a deletion in one, as the server names it."""
    if seen.change is Change.DELETED:
        return Deleted(seen.key, seen)
    return Added(seen) if seen.change is Change.ADDED else Modified(seen)


class Opener(Protocol):
    """Opens watches: `kube/watch.py:Watches`."""

    def open(self, selection: Selection) -> AsyncGenerator[list[Report], None]:
        """The reports of a selection in batches."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectState:
    """One object as it is now; None if it does not exist. `is_synced`: from a complete list, not from a change."""

    obj: JSON
    is_synced: bool = False


class WatchedObject:
    """The states of one object, from the reports of a watch that selects it alone. It keeps the object only while a
    list is in progress: the object may be a Secret, or large."""

    def __init__(self) -> None:
        self._listed: dict[ObjectKey, JSON] = {}
        self._informer = Informer(self._listed)

    def states(self, reports: Iterable[Report]) -> Iterator[ObjectState | WatchLost | WatchRestored]:
        """Its state at the end of each list and after each change."""
        for fact in self._informer.facts(reports):
            match fact:
                case Added(seen) | Modified(seen) if self._informer.is_relisting:
                    self._listed[seen.key] = seen.obj
                case Added(seen) | Modified(seen):
                    yield ObjectState(seen.obj)
                case Deleted(key) if self._informer.is_relisting:
                    self._listed.pop(key, None)
                case Deleted():
                    yield ObjectState(None)
                case Synced():
                    state = ObjectState(next(iter(self._listed.values()), None), is_synced=True)
                    self._listed.clear()
                    yield state
                case _:
                    yield fact


async def follow_object(
    watches: Opener, selection: Selection
) -> AsyncGenerator[ObjectState | WatchLost | WatchRestored, None]:
    """The states of the one object that is selected. Close it with `aclosing`."""
    watched = WatchedObject()
    async with aclosing(watches.open(selection)) as batches:
        async for reports in batches:
            for state in watched.states(reports):
                yield state
            del reports
