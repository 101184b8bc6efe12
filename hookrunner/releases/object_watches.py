"""Watches of objects that several readers share: one for each selection that any of them needs.

    watches = ObjectWatches(kube_watches, background)
    reader = watches.reader(whole=True)         # its objects are whole; others may need metadata only
    reader.need({Selection("apps/v1", "Deployment", labels=MANAGED)})     # opens and closes watches
    async for selection, facts in reader.facts(): ...

A watch shows whole objects while any of its readers needs them. It begins again with a list when a reader joins or
needs more, so that each reader gets a fact about each object; the others take these as objects that are listed again.
At most one batch waits for a reader, because it may hold many whole objects; a slow reader slows the watch down.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator
from contextlib import aclosing
from dataclasses import field, replace
from functools import partial

from hookrunner.background import Background
from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified, Opener
from hookrunner.model.events import Synced
from hookrunner.model.resources import ObjectKey, Selection
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_REMEMBERED_FOR = 10.0
"""Seconds: longer than it takes until a release that was written is tracked."""
_MOST_REMEMBERED = 300
"""Objects that `PresentObjects` remembers, about ten kilobytes each: as many as are written in that time."""


class PresentObjects:
    """Which objects of one kind a watch shows, by their keys, and for a few seconds their metadata.
    `synced`: others do not exist.

        present = PresentObjects("ConfigMap")
        async for facts in present.follow(watches, selection): ...
        present.remember(key, metadata)
        present.recall("default", "settings")       # None if it was not shown lately

    Of most objects only the keys are kept: a cluster has many that no release tracks. But while many releases are made,
    the watch shows the objects of each a moment before they are tracked; remembered until then, they need not be read.
    """

    def __init__(self, kind: str) -> None:
        self.synced = False
        self._kind = kind
        self._keys: set[ObjectKey] = set()
        self._recent: dict[ObjectKey, tuple[float, JSON]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._informer = Informer(self._keys)

    def has(self, namespace: str, name: str) -> bool:
        """Does the object exist? The namespace does not matter for kinds without namespaces."""
        return any(key in self._keys for key in self._possible_keys(namespace, name))

    async def follow(self, watches: Opener, selection: Selection) -> AsyncGenerator[list[Fact], None]:
        """Watch the objects; yield the facts of each batch, which were noted here."""
        async with aclosing(self._informer.follow(watches, selection)) as batches:
            async for facts in batches:
                yield [*self.noted(facts)]
                del facts

    def noted(self, facts: Iterable[Fact]) -> Iterator[Fact]:
        """Yield the facts, each after it was noted here."""
        for fact in facts:
            match fact:
                case Added(seen) | Modified(seen):
                    self._keys.add(seen.key)
                case Deleted(key):
                    self._keys.discard(key)
                    self._recent.pop(key, None)
                case Synced():
                    self.synced = True
            yield fact

    def remember(self, key: ObjectKey, metadata: JSON) -> None:
        """Keep the metadata of an object that is not tracked yet; not of the first list, which may be long."""
        if not self.synced:
            return
        until = asyncio.get_running_loop().time() + _REMEMBERED_FOR
        self._recent.pop(key, None)  # the order is that of the times
        self._recent[key] = until, metadata
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(until, self._forget_old)
        if len(self._recent) > _MOST_REMEMBERED:
            del self._recent[next(iter(self._recent))]

    def recall(self, namespace: str, name: str) -> JSON | None:
        """The metadata of an object as the watch has shown it last, if that was lately; it is forgotten then."""
        for key in self._possible_keys(namespace, name):
            if known := self._recent.pop(key, None):
                return known[1]
        return None

    def _possible_keys(self, namespace: str, name: str) -> Iterator[ObjectKey]:
        """Those with and without the namespace: a manifest does not tell whether its kind has namespaces."""
        return (ObjectKey(any_namespace, self._kind, name) for any_namespace in (namespace, ""))

    def _forget_old(self) -> None:
        """Forget what has been remembered for long enough; again when the next one has."""
        loop = asyncio.get_running_loop()
        self._recent = {key: known for key, known in self._recent.items() if known[0] > loop.time()}
        until = next((until for until, _ in self._recent.values()), None)
        self._timer = None if until is None else loop.call_at(until, self._forget_old)


@dataclass(eq=False, slots=True)
class _SharedWatch:
    """An open watch and its readers. `has_begun`: it has shown something."""

    selection: Selection
    present: PresentObjects
    readers: list["WatchReader"] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    has_begun: bool = False
    is_whole: bool = False

    @property
    def needs_whole(self) -> bool:
        return any(reader.whole for reader in self.readers)


class ObjectWatches:
    """The shared watches of one cluster."""

    def __init__(self, watches: Opener, background: Background) -> None:
        self._watches = watches
        self._background = background
        self._open: dict[Selection, _SharedWatch] = {}

    def reader(self, whole: bool) -> "WatchReader":
        """A new reader, which needs nothing yet. `whole`: metadata is not enough for it."""
        return WatchReader(self, whole)

    def join(self, selection: Selection, reader: "WatchReader") -> _SharedWatch:
        """Open the watch of a selection for a reader, or show it the one that is open."""
        watch = self._open.setdefault(selection, _SharedWatch(selection, PresentObjects(selection.kind)))
        watch.readers.append(reader)
        self.restart(watch)
        return watch

    def leave(self, watch: _SharedWatch, reader: "WatchReader") -> None:
        """Close the watch unless others need it; with metadata alone if that is enough for them."""
        watch.readers.remove(reader)
        if not watch.readers and watch.task:
            watch.task.cancel()
            del self._open[watch.selection]
        elif watch.is_whole != watch.needs_whole:
            self.restart(watch)

    def restart(self, watch: _SharedWatch) -> None:
        """Begin a watch with a list, unless it is about to."""
        if watch.task and not watch.has_begun and watch.is_whole == watch.needs_whole:
            return
        if watch.task:
            watch.task.cancel()
        watch.has_begun, watch.present.synced, watch.is_whole = False, False, watch.needs_whole
        selection = replace(watch.selection, metadata_only=not watch.is_whole)
        watch.task = self._background.keep(f"objects {selection}", partial(self._read, watch, selection))

    async def _read(self, watch: _SharedWatch, selection: Selection) -> None:
        async with aclosing(watch.present.follow(self._watches, selection)) as batches:
            async for facts in batches:
                watch.has_begun = True
                for reader in tuple(watch.readers):
                    await reader.put(watch, facts)
                del facts  # otherwise the last objects would stay in memory until the next change


class WatchReader:
    """What one reader needs, and the facts about it; `facts` has one consumer."""

    def __init__(self, watches: ObjectWatches, whole: bool) -> None:
        self.whole = whole
        self._watches = watches
        self._needed: dict[Selection, _SharedWatch] = {}
        self._batches = asyncio.Queue[tuple[_SharedWatch, list[Fact]]](1)

    def need(self, selections: Collection[Selection]) -> None:
        """Need these selections and no others from now on."""
        for selection in [known for known in self._needed if known not in selections]:
            self._watches.leave(self._needed.pop(selection), self)
        for selection in selections:
            if selection not in self._needed:
                self._needed[selection] = self._watches.join(selection, self)

    def present(self, selection: Selection) -> PresentObjects:
        """Which objects of a needed selection exist."""
        return self._needed[selection].present

    async def put(self, watch: _SharedWatch, facts: list[Fact]) -> None:
        """Hand over facts, when those before are taken."""
        await self._batches.put((watch, facts))

    async def facts(self) -> AsyncGenerator[tuple[Selection, list[Fact]], None]:
        """Yield facts about needed selections, until cancelled. Called again after a crash of its consumer, it begins
        with what exists."""
        for watch in self._needed.values():
            self._watches.restart(watch)
        while True:
            watch, facts = await self._batches.get()
            if self._needed.get(watch.selection) is watch:  # else it was closed meanwhile
                yield watch.selection, facts
            del watch, facts
