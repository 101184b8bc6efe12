"""The records of all releases: one task at a time holds a release, and its revisions are known without requests.

    async with store.hold("dashboard", "kube-system") as release:
        release.history                      # labels, from memory
        await release.read_previous()        # whole records, as few as needed
        await release.create(record)

No other task of this process touches a release that is held. A release whose records are of the other kind, because an
earlier process had another `--helm-driver`, is read from there; holding it moves its records to our kind.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from hookrunner import log
from hookrunner.errors import Denied
from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified
from hookrunner.kube.watch import Watches
from hookrunner.model.releases import Head
from hookrunner.model.resources import ObjectKey
from hookrunner.model.watching import ObjectSeen, Report, Synced
from hookrunner.releases.records.record_storage import RecordStorage
from hookrunner.releases.records.release_history import ReleaseHistory, UnreadableRecords
from hookrunner.releases.records.revisions import ReleaseRevision, RevisionCache, revision_of

_LOG = log.get("releases.archive")


class ReleaseStore:
    """The records of one cluster, and `others`, those of the other kind; `unreadable` are of both. Every method
    raises KubeError if the API server refuses a request."""

    def __init__(self, records: RecordStorage, others: RecordStorage, watches: Watches) -> None:
        self._records = records
        self._others = others
        self._watches = watches
        self._caches: defaultdict[str, RevisionCache] = defaultdict(RevisionCache)
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._listing_lock = asyncio.Lock()
        self._fresh: set[str] = set()
        self._listed_once: set[str] = set()
        self.unreadable = UnreadableRecords()
        self._of_other_kind: dict[str, dict[str, ReleaseHistory]] = {}

    async def list_heads(self, namespace: str) -> dict[str, Head]:
        """List the records; the latest revision of each release, by name."""
        self._caches[namespace].replace(*await self._records.list_revisions(namespace))
        if namespace not in self._of_other_kind:
            self._of_other_kind[namespace] = await self._list_other_kind(namespace)
        self._fresh.add(namespace)
        self._listed_once.add(namespace)
        return self._caches[namespace].heads()

    async def list_strays(self) -> dict[str, Head]:
        """List records in the whole cluster; the latest revision of each of our releases in another namespace than the
        operator's."""
        cache = RevisionCache()
        for revision in await self._records.list_strays():
            cache.keep(revision)
        return cache.heads()

    @asynccontextmanager
    async def hold(self, name: str, namespace: str) -> AsyncIterator[ReleaseHistory]:
        """Hold a release: no other task here touches it meanwhile. After an error the records are listed again, because
        the cache may have caused it."""
        async with self._locks[namespace, name]:
            await self._ensure_fresh(namespace)
            release = self._release(name, namespace)
            try:
                if other := self._of_other_kind[namespace].get(name):
                    await release.migrate_from(other)
                    del self._of_other_kind[namespace][name]
                yield release
            except BaseException:
                self._fresh.discard(namespace)
                raise

    async def get_for_reading(self, name: str, namespace: str) -> ReleaseHistory:
        """A release for reading; another task may hold it."""
        await self._ensure_fresh(namespace)
        release, other = self._release(name, namespace), self._of_other_kind[namespace].get(name)
        return other if other and release.is_part_of(other) else release

    async def has_other_kind(self, name: str, namespace: str) -> bool:
        """Does the release have records of the other kind?"""
        await self._ensure_fresh(namespace)
        return name in self._of_other_kind[namespace]

    def get_cached(self, name: str, namespace: str) -> ReleaseHistory:
        """A release as it is cached, without a request."""
        return self._release(name, namespace)

    async def watch_changes(self, namespace: str) -> AsyncGenerator[str, None]:
        """Yield the name of each release whose latest revision another client has changed, when that change has ended.
        Runs until it is closed, whatever happens to the API server."""
        reader = _Reader(self._caches[namespace], silent=namespace not in self._listed_once)
        async with aclosing(self._watches.open(self._records.selection(namespace))) as batches:
            async for reports in batches:
                changed = reader.changed(reports)
                for name in [
                    name for name in changed if not self._locks[namespace, name].locked()
                ]:  # otherwise it was us
                    yield name

    async def _ensure_fresh(self, namespace: str) -> None:
        async with self._listing_lock:
            if namespace not in self._fresh:
                await self.list_heads(namespace)

    async def _list_other_kind(self, namespace: str) -> dict[str, ReleaseHistory]:
        cache, kind = RevisionCache(), self._others.kind
        try:
            cache.replace(*await self._others.list_revisions(namespace))
        except Denied:
            if not any(head.owned for head in self._caches[namespace].heads().values()):
                hint = f"if an earlier process had another --helm-driver, grant get, list and delete of {kind}s"
                _LOG.info(f"release records in {kind}s are not read: no right to list them", hint=hint)
        return {name: ReleaseHistory(name, namespace, cache, self._others, self.unreadable) for name in cache.heads()}

    def _release(self, name: str, namespace: str) -> ReleaseHistory:
        return ReleaseHistory(name, namespace, self._caches[namespace], self._records, self.unreadable)


class _Reader:
    """Takes the facts of a watch into a cache. A list counts when it is complete; a `silent` first list reports
    nothing."""

    def __init__(self, cache: RevisionCache, silent: bool) -> None:
        self._cache = cache
        self._silent = silent
        self._listed: dict[ObjectKey, ReleaseRevision] = {}
        self._informer = Informer(self._listed)

    def changed(self, reports: list[Report]) -> list[str]:
        """The names of the releases that have another head by these reports."""
        return [name for fact in self._informer.facts(reports) for name in sorted(self._take_in(fact))]

    def _take_in(self, fact: Fact) -> set[str]:
        match fact:
            case Synced(version):
                changed = self._cache.replace(self._listed.values(), int(version))
                self._listed.clear()
                silent, self._silent = self._silent, False
                return set() if silent else changed
            case Deleted(key) if self._informer.is_relisting:
                self._listed.pop(key, None)
            case Added(seen) | Modified(seen) | Deleted(_, ObjectSeen() as seen):
                if revision := revision_of(seen.obj["metadata"]):
                    return self._update(seen, revision)
        return set()

    def _update(self, seen: ObjectSeen, revision: ReleaseRevision) -> set[str]:
        if self._informer.is_relisting:
            self._listed[seen.key] = revision
            return set()
        return {revision.name} if self._cache.observe(seen.change, revision) else set()
