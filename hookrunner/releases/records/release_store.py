"""The records of all releases, one release at a time in one hand, and what of them is known without asking.

    async with archive.held("dashboard", "kube-system") as release:
        release.history                      # labels, from memory
        await release.past()                 # whole records, as few as needed
        await release.create(record)

Nothing of ours touches a release that is in somebody's hands. One whose records are of the other kind, since its last
life had another `--helm-driver`, is seen as it is there; in our hands its records become those of our kind.
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
from hookrunner.releases.records.revisions import Revision, RevisionCache, revision_of

_LOG = log.get("releases.archive")


class ReleaseStore:
    """The records of one cluster, and `others`, those of the other kind; `unreadable` are of both. Everything raises
    KubeError where the API does not do what is asked."""

    def __init__(self, records: RecordStorage, others: RecordStorage, watches: Watches) -> None:
        self._records = records
        self._others = others
        self._watches = watches
        self._ledgers: defaultdict[str, RevisionCache] = defaultdict(RevisionCache)
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._looking = asyncio.Lock()
        self._trusted: set[str] = set()
        self._looked_at: set[str] = set()
        self.unreadable = UnreadableRecords()
        self._elsewhere: dict[str, dict[str, ReleaseHistory]] = {}

    async def heads(self, namespace: str) -> dict[str, Head]:
        """The latest revision of each release, by name, after a look at the cluster."""
        self._ledgers[namespace].relisted(*await self._records.list_revisions(namespace))
        if namespace not in self._elsewhere:
            self._elsewhere[namespace] = await self._look_elsewhere(namespace)
        self._trusted.add(namespace)
        self._looked_at.add(namespace)
        return self._ledgers[namespace].heads()

    async def strays(self) -> dict[str, Head]:
        """The latest revision of each release that we have in another namespace than the operator's, after a look at
        the whole cluster."""
        ledger = RevisionCache()
        for revision in await self._records.list_strays():
            ledger.keep(revision)
        return ledger.heads()

    @asynccontextmanager
    async def held(self, name: str, namespace: str) -> AsyncIterator[ReleaseHistory]:
        """A release, which nobody else here touches meanwhile. After an error its records are looked at anew: what we
        know of them may be what was wrong."""
        async with self._locks[namespace, name]:
            await self._look(namespace)
            release = self._release(name, namespace)
            try:
                if there := self._elsewhere[namespace].get(name):
                    await release.bring_over(there)
                    del self._elsewhere[namespace][name]
                yield release
            except BaseException:
                self._trusted.discard(namespace)
                raise

    async def seen(self, name: str, namespace: str) -> ReleaseHistory:
        """A release, to be read: it may be in somebody's hands."""
        await self._look(namespace)
        here, there = self._release(name, namespace), self._elsewhere[namespace].get(name)
        return there if there and here.part_of(there) else here

    async def elsewhere(self, name: str, namespace: str) -> bool:
        """Are there records of the other kind?"""
        await self._look(namespace)
        return name in self._elsewhere[namespace]

    def known(self, name: str, namespace: str) -> ReleaseHistory:
        """A release as it is known without a look."""
        return self._release(name, namespace)

    async def changes(self, namespace: str) -> AsyncGenerator[str, None]:
        """The name of each release whose latest revision somebody else has changed, when that is done; for ever,
        whatever happens to the API server."""
        reader = _Reader(self._ledgers[namespace], silent=namespace not in self._looked_at)
        async with aclosing(self._watches.open(self._records.selection(namespace))) as batches:
            async for reports in batches:
                changed = reader.changed(reports)
                for name in [name for name in changed if not self._locks[namespace, name].locked()]:  # else it was us
                    yield name

    async def _look(self, namespace: str) -> None:
        async with self._looking:
            if namespace not in self._trusted:
                await self.heads(namespace)

    async def _look_elsewhere(self, namespace: str) -> dict[str, ReleaseHistory]:
        ledger, kind = RevisionCache(), self._others.kind
        try:
            ledger.relisted(*await self._others.list_revisions(namespace))
        except Denied:
            if not any(head.owned for head in self._ledgers[namespace].heads().values()):
                hint = f"if an earlier life had another --helm-driver, let it get, list and delete {kind}s"
                _LOG.info(f"records of releases that are {kind}s are not looked for: no right to list them", hint=hint)
        return {name: ReleaseHistory(name, namespace, ledger, self._others, self.unreadable) for name in ledger.heads()}

    def _release(self, name: str, namespace: str) -> ReleaseHistory:
        return ReleaseHistory(name, namespace, self._ledgers[namespace], self._records, self.unreadable)


class _Reader:
    """Takes the facts of a watch into a ledger. A list counts when it is complete; a `silent` first one is no news."""

    def __init__(self, ledger: RevisionCache, silent: bool) -> None:
        self._ledger = ledger
        self._silent = silent
        self._listed: dict[ObjectKey, Revision] = {}
        self._informer = Informer(self._listed)

    def changed(self, reports: list[Report]) -> list[str]:
        """The names of the releases that have another head by these reports."""
        return [name for fact in self._informer.facts(reports) for name in sorted(self._take_in(fact))]

    def _take_in(self, fact: Fact) -> set[str]:
        match fact:
            case Synced(version):
                changed = self._ledger.relisted(self._listed.values(), int(version))
                self._listed.clear()
                silent, self._silent = self._silent, False
                return set() if silent else changed
            case Deleted(key) if self._informer.is_relisting:
                self._listed.pop(key, None)
            case Added(seen) | Modified(seen) | Deleted(_, ObjectSeen() as seen):
                if revision := revision_of(seen.obj["metadata"]):
                    return self._update(seen, revision)
        return set()

    def _update(self, seen: ObjectSeen, revision: Revision) -> set[str]:
        if self._informer.is_relisting:
            self._listed[seen.key] = revision
            return set()
        return {revision.name} if self._ledger.hear(seen.change, revision) else set()
