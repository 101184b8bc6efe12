"""Turns the reports of a watch into facts: objects were added, modified or deleted.

    informer = Informer(known)                       # the keys that the reader keeps: a set, a dict, a snapshot
    async with aclosing(informer.follow(watches, selection)) as batches:
        async for facts in batches:
            for fact in facts: ...                   # apply each fact to `known` before the next one

    async with aclosing(follow_object(watches, selection)) as states:
        async for state in states: ...               # ObjectState, WatchLost, WatchRestored

An object that a repeated list does not mention was deleted meanwhile, also while the watch was lost: that rule is
`Relist`, here and nowhere else. No key is kept twice, except for the unmentioned ones while a list is in progress.
"""

from collections.abc import AsyncGenerator, Hashable, Iterable, Iterator
from contextlib import aclosing
from typing import Generic, Protocol, TypeAlias, TypeVar

from hookrunner.model.bindings import Change
from hookrunner.model.events import ObjectSeen, RelistStarted, Report, Synced, WatchLost, WatchRestored
from hookrunner.model.resources import ObjectKey, Selection
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

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

    async def follow(self, watches: "Opener", selection: Selection) -> AsyncGenerator[Iterator[Fact], None]:
        """Watch a selection, and yield the facts of each batch of its reports. Close it with `aclosing`."""
        async with aclosing(watches.open(selection)) as batches:
            async for reports in batches:
                yield self.facts(reports)
                del reports  # otherwise the last objects would stay in memory until the next change

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
