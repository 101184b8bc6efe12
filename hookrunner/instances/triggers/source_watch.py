"""Watches sources of packages that are objects of the cluster, and runs the instances whose channel or package changed.

    watch = SourceWatch(location, addons, watches)
    async for names in watch.changes(): ...     # addons whose channel or package is another one, until cancelled

A run finds out whether the change matters to its instance: it compares the digests of packages, and does nothing if
they are equal. A package may be several objects, which a user writes one after another, so a change counts when none
has followed for a moment. The first list counts as a change too: a run may have read the source before it.

Directories are read before each run, and web servers asked from time to time (--addon-refresh): neither can be watched.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing

from hookrunner.kube.informer import Added, Deleted, Informer, Modified, Opener
from hookrunner.model.addons import Addon
from hookrunner.model.events import Report, Synced
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.packages.cluster_source import PACKAGE_LABEL, watched_selections
from hookrunner.packages.source_locations import ClusterLocation
from hookrunner.waits import Batches

SETTLED = 0.5
"""Seconds without a change after which a package counts as written."""


class WatchedObjects:
    """The objects of one selection by their versions. `read` yields the components whose packages have changed, and ""
    for a channel, or for what may be any of them."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, tuple[str, str]] = {}
        self._informer = Informer(self._known)
        self._is_listed = False

    def read(self, reports: Iterable[Report]) -> Iterable[str]:
        """What has changed."""
        for fact in self._informer.facts(reports):
            match fact:
                case Added(seen) | Modified(seen):
                    labels = seen.obj["metadata"].get("labels") or {}
                    present = str(labels.get(PACKAGE_LABEL) or ""), seen.version
                    before, self._known[seen.key] = self._known.get(seen.key), present
                    if self._is_listed and present != before:
                        yield from {present[0], before[0] if before else present[0]}
                case Deleted(key):
                    yield self._known.pop(key, ("", ""))[0]
                case Synced() if not self._is_listed:
                    self._is_listed = True
                    yield ""


class SourceWatch:
    """One source. `addons` are those that use it, by name."""

    def __init__(self, location: ClusterLocation, addons: Mapping[str, Addon], watches: Opener) -> None:
        self._location = location
        self._addons = addons
        self._watches = watches
        self._changed = Batches[str]()

    async def follow(self, index: int) -> None:
        """Watch the channels (0) or the packages (1), until cancelled."""
        await self._follow(watched_selections(self._location)[index])

    async def changes(self) -> AsyncIterator[set[str]]:
        """Yield the names of addons when their channels or packages have changed."""
        while True:
            yield {*await self._changed.next_calm_batch(SETTLED)}

    async def _follow(self, selection: Selection) -> None:
        watched = WatchedObjects()
        async with aclosing(self._watches.open(selection)) as batches:
            async for reports in batches:
                if components := {*watched.read(reports)}:
                    self._note(components)

    def _note(self, components: set[str]) -> None:
        """These components have changed; "" is any of them."""
        every = "" in components
        self._changed.add(name for name, addon in self._addons.items() if every or addon.component in components)
