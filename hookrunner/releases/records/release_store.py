"""The records of all releases: one task at a time holds a release, and its revisions are known without requests.

    async with store.hold("dashboard", "kube-system") as release:
        release.history                      # labels, from memory
        await release.read_previous()        # whole records, as few as needed
        await release.create(record)

No other task of this process touches a release that is held. A release with later records of the other kind, because an
earlier process had another `--helm-driver`, is refused: its objects would be installed again, and some forgotten.

A record that cannot be read is reported once, and remembered for as long as it stays in the cluster unchanged.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import field
from typing import TypeAlias
from weakref import WeakValueDictionary

from hookrunner import log
from hookrunner.errors import Denied, KubeError, ReleaseFailed
from hookrunner.kube import refusals
from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.kube.watch import Watches
from hookrunner.model.events import ObjectSeen, Synced
from hookrunner.model.releases import Head
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.model.status import some
from hookrunner.releases.records.record import (
    PreviousRevisions,
    ReleaseRecord,
    ReleaseRevision,
    live_revisions,
    revision_of,
)
from hookrunner.releases.records.record_storage import RecordStorage, RevisionCache
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)

_Key: TypeAlias = tuple[str, str, int, int]


class UnreadableRecords:
    """The unreadable records of one cluster."""

    def __init__(self) -> None:
        self._problems: dict[_Key, str] = {}
        self._found: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def __contains__(self, revision: ReleaseRevision) -> bool:
        return _key(revision) in self._problems

    def note(self, revision: ReleaseRevision, problem: str) -> None:
        """Note a record that cannot be read, and why."""
        text = f"{problem}; objects that only this record names are left in the cluster: delete them, then the record"
        _log.warn("a revision cannot be read", reason=text)
        self._problems[_key(revision)] = text
        self._found.put_nowait((revision.name, text))

    def among(self, history: Iterable[ReleaseRevision]) -> list[str]:
        """The problems of a history, for a person."""
        return [self._problems[_key(revision)] for revision in history if revision in self]

    async def watch(self) -> AsyncIterator[tuple[str, str]]:
        """Yield the name of a release and the problem of a record whenever one is found; for one reader."""
        while True:
            yield await self._found.get()


def _key(revision: ReleaseRevision) -> _Key:
    return revision.namespace, revision.name, revision.number, revision.version


@dataclass(frozen=True, slots=True)
class ReleaseHistory:
    """Its records of one kind. Every method raises KubeError if the API server refuses a request."""

    name: str
    namespace: str
    _cache: RevisionCache
    _records: RecordStorage
    _unreadable: UnreadableRecords
    _read: dict[tuple[int, int], ReleaseRecord] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of its records."""
        return self._records.kind

    @property
    def history(self) -> tuple[ReleaseRevision, ...]:
        """Its revisions, the latest last."""
        return self._cache.history(self.name)

    @property
    def head(self) -> Head | None:
        """The latest revision."""
        return self._cache.head(self.name)

    async def read_previous(self) -> PreviousRevisions:
        """Read its history with the records whose objects may be in the cluster. Objects that only unreadable records
        name are left in the cluster."""
        records = await asyncio.gather(*map(self.read_or_report, live_revisions(self.history)))
        return PreviousRevisions(self.history, tuple(record for record in records if record))

    async def read_or_report(self, revision: ReleaseRevision) -> ReleaseRecord | None:
        """Read a record; None if it cannot be read, which is reported once."""
        if revision in self._unreadable:
            return None
        try:
            return await self.read(revision)
        except ReleaseFailed as error:
            self._unreadable.note(revision, str(error))
            return None

    async def read(self, revision: ReleaseRevision) -> ReleaseRecord:
        """Read a record. Raises ReleaseFailed, naming the record, if it cannot be read."""
        key = revision.number, revision.version
        if key not in self._read:
            self._read[key] = await self._records.read(revision)
        return self._read[key]

    @property
    def problems(self) -> list[str]:
        """The known problems of its records."""
        return self._unreadable.among(self.history)

    @property
    def broken(self) -> bool:
        """Is it known that its head cannot be read?"""
        return bool(self.history) and self.history[-1] in self._unreadable

    async def create(self, record: ReleaseRecord) -> None:
        """Write a new revision."""
        self._cache.keep(await self._records.write(record))

    async def update(self, record: ReleaseRecord) -> None:
        """Replace a revision."""
        (known,) = (revision for revision in self.history if revision.number == record.revision)
        self._cache.keep(await self._records.write(record, known))

    async def delete(self, revision: ReleaseRevision) -> None:
        """Delete a revision."""
        await self._records.delete(revision)
        self._cache.remove(self.name, revision.number)


class ReleaseStore:
    """The records of one cluster; `others` are those of the other kind, which are only looked for. Every method raises
    KubeError if the API server refuses a request."""

    def __init__(self, records: RecordStorage, others: RecordStorage, watches: Watches) -> None:
        self._records = records
        self._others = others
        self._watches = watches
        self._caches: defaultdict[str, RevisionCache] = defaultdict(RevisionCache)
        self._locks = WeakValueDictionary[tuple[str, str], asyncio.Lock]()
        """Each as long as a task holds it or waits for it: releases come and go."""
        self._listing_lock = asyncio.Lock()
        self._fresh: set[str] = set()
        self._listed_once: set[str] = set()
        self.unreadable = UnreadableRecords()
        self._elsewhere: dict[str, dict[str, Head]] = {}
        """The releases of a namespace whose latest record is of the other kind."""

    async def list_heads(self, namespace: str) -> dict[str, Head]:
        """List the records; the latest revision of each release, by name."""
        self._caches[namespace].replace(*await self._records.list_revisions(namespace))
        if namespace not in self._elsewhere:
            self._elsewhere[namespace] = await self._find_elsewhere(namespace)
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
        the cache may have caused it. Raises ReleaseFailed if its records are of the other kind."""
        async with self._locks.setdefault((namespace, name), asyncio.Lock()):
            await self._ensure_fresh(namespace)
            self._refuse_elsewhere(name, namespace, foreign=True)
            release = self.get_cached(name, namespace)
            try:
                yield release
            except BaseException:
                self._fresh.discard(namespace)
                raise

    async def get_for_reading(self, name: str, namespace: str) -> ReleaseHistory:
        """A release for reading; another task may hold it. Raises ReleaseFailed if it is ours, with records of the
        other kind."""
        await self._ensure_fresh(namespace)
        self._refuse_elsewhere(name, namespace, foreign=False)
        return self.get_cached(name, namespace)

    async def read_heads(self, namespace: str) -> Mapping[str, Head]:
        """The latest revision of each release that has records of either kind, by name."""
        await self._ensure_fresh(namespace)
        return {**self._caches[namespace].heads(), **self._elsewhere[namespace]}

    def get_cached(self, name: str, namespace: str) -> ReleaseHistory:
        """A release as it is cached, without a request."""
        return ReleaseHistory(name, namespace, self._caches[namespace], self._records, self.unreadable)

    async def watch_changes(self, namespace: str) -> AsyncGenerator[str, None]:
        """Yield the name of each release whose latest revision another client has changed, when that change has ended.
        Runs until it is closed, whatever happens to the API server."""
        reader = _Reader(self._caches[namespace], silent=namespace not in self._listed_once)
        async with aclosing(reader.follow(self._watches, self._records.selection(namespace))) as batches:
            async for changed in batches:
                for name in [name for name in changed if (namespace, name) not in self._locks]:  # otherwise it was us
                    yield name

    async def _ensure_fresh(self, namespace: str) -> None:
        async with self._listing_lock:
            if namespace not in self._fresh:
                await self.list_heads(namespace)

    async def _find_elsewhere(self, namespace: str) -> dict[str, Head]:
        cache, heads = RevisionCache(), self._caches[namespace].heads()
        try:
            with tolerated_refusals():
                cache.replace(*await self._others.list_revisions(namespace))
        except Denied:
            if not any(head.owned for head in heads.values()):
                kinds = f"{self._others.kind}s"
                hint = f"if an earlier process had another --helm-driver, grant list of {kinds}"
                _log.info(f"release records in {kinds} are not read: no right to list them", hint=hint)
        others = cache.heads().items()
        later = {name: head for name, head in others if name not in heads or heads[name].revision < head.revision}
        ours = [name for name, head in later.items() if head.owned]
        if ours and namespace not in self._listed_once:
            _log.error("releases have records of another --helm-driver", releases=some(ours), hint=self._way_out())
        return later

    def _refuse_elsewhere(self, name: str, namespace: str, foreign: bool) -> None:
        """Raise ReleaseFailed if the release has records of the other kind, which are looked for again the next time.
        `foreign`: also if another tool wrote them."""
        head = self._elsewhere[namespace].get(name)
        if head and (head.owned or foreign):
            self._fresh.discard(namespace)
            del self._elsewhere[namespace]
            kinds = f"its records are {self._others.kind}s, not {self._records.kind}s"
            raise ReleaseFailed(f"release {namespace}/{name}: {kinds}: {self._way_out()}")

    def _way_out(self) -> str:
        before = f"start with --helm-driver {self._others.kind.lower()} as before"
        return f"{before}, or move them (docs/operations.md, Another --helm-driver)"


class _Reader:
    """Takes the facts of a watch into a cache. A list counts when it is complete; a `silent` first list reports
    nothing."""

    def __init__(self, cache: RevisionCache, silent: bool) -> None:
        self._cache = cache
        self._silent = silent
        self._listed: dict[ObjectKey, ReleaseRevision] = {}
        self._informer = Informer(self._listed)

    async def follow(self, watches: Watches, selection: Selection) -> AsyncGenerator[list[str], None]:
        """Yield the names of the releases that have another head, by each batch of the watch."""
        async with aclosing(self._informer.follow(watches, selection)) as batches:
            async for facts in batches:
                yield [name for fact in facts for name in sorted(self._take_in(fact))]
                del facts

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


@contextmanager
def naming_release(release: ReleaseHistory) -> Iterator[None]:
    """Add the release's name to every error."""
    try:
        yield
    except (KubeError, ReleaseFailed) as error:
        text = f"release {release.namespace}/{release.name}: {error}"
        if isinstance(error, ReleaseFailed):
            raise type(error)(text, error.brief, error.invalid, error.lacks_rights) from error
        raise ReleaseFailed(text, error.brief, lacks_rights=refusals.lacks_rights(error)) from error
