"""The history of one release: its revisions from memory, whole records as they are asked for, and every change of them.

A record that cannot be read is reported once, and remembered for as long as it stays in the cluster unchanged.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hookrunner import log
from hookrunner.errors import ReleaseFailed
from hookrunner.model.releases import Head
from hookrunner.releases.records import revisions
from hookrunner.releases.records.record import ReleaseRecord, RevisionStatus
from hookrunner.releases.records.record_storage import RecordStorage
from hookrunner.releases.records.revisions import Revision, RevisionCache

_LOG = log.get("releases.archive")

_Key: TypeAlias = tuple[str, str, int, int]


class UnreadableRecords:
    """Of one cluster."""

    def __init__(self) -> None:
        self._problems: dict[_Key, str] = {}
        self._told: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def __contains__(self, revision: Revision) -> bool:
        return _key(revision) in self._problems

    def note(self, revision: Revision, problem: str) -> None:
        """One more, which cannot be read for this reason."""
        text = f"{problem}; objects that only it knows of stay where they are: look for such, then delete it"
        _LOG.warn("A revision cannot be read.", error=text)
        self._problems[_key(revision)] = text
        self._told.put_nowait((revision.name, text))

    def among(self, history: Iterable[Revision]) -> list[str]:
        """What is wrong with those of a history, for a person."""
        return [self._problems[_key(revision)] for revision in history if revision in self]

    async def found(self) -> AsyncIterator[tuple[str, str]]:
        """The name of a release and what is wrong with a record of it, as that is found out; for one reader."""
        while True:
            yield await self._told.get()


def _key(revision: Revision) -> _Key:
    return revision.namespace, revision.name, revision.number, revision.version


@dataclass(frozen=True, slots=True)
class PreviousRevisions:
    """The labels of all revisions, the latest last, and the records of those that `needed` names and can be read."""

    history: tuple[Revision, ...] = ()
    records: tuple[ReleaseRecord, ...] = ()

    @property
    def latest(self) -> ReleaseRecord | None:
        """The head's record."""
        found = self.records[-1] if self.records else None
        return found if found and found.revision == self.history[-1].number else None

    @property
    def deployed(self) -> ReleaseRecord | None:
        """The last that was brought about."""
        return next((record for record in reversed(self.records) if record.status == RevisionStatus.DEPLOYED), None)

    @property
    def tidy(self) -> bool:
        """Is what the head's record says what is in the cluster?"""
        return self.latest is not None and self.latest.status == RevisionStatus.DEPLOYED

    @property
    def next(self) -> int:
        """The number of a new revision."""
        return self.history[-1].number + 1 if self.history else 1


@dataclass(frozen=True, slots=True)
class ReleaseHistory:
    """Those of one kind. Everything raises KubeError where the API does not do what is asked."""

    name: str
    namespace: str
    _ledger: RevisionCache
    _records: RecordStorage
    _unreadable: UnreadableRecords
    _read: dict[tuple[int, int], ReleaseRecord] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Of its records."""
        return self._records.kind

    @property
    def history(self) -> tuple[Revision, ...]:
        """The labels of its records, the latest last."""
        return self._ledger.history(self.name)

    @property
    def head(self) -> Head | None:
        """The latest."""
        return self._ledger.head(self.name)

    async def past(self) -> PreviousRevisions:
        """Its history with those records whose objects may be in the cluster. What only those know of that cannot be
        read is left where it is."""
        found = await asyncio.gather(*map(self.readable, revisions.needed(self.history)))
        return PreviousRevisions(self.history, tuple(record for record in found if record))

    async def readable(self, revision: Revision) -> ReleaseRecord | None:
        """The record; None, which is told once, if it cannot be read."""
        if revision in self._unreadable:
            return None
        try:
            return await self.read(revision)
        except ReleaseFailed as error:
            self._unreadable.note(revision, str(error))
            return None

    async def read(self, revision: Revision) -> ReleaseRecord:
        """Raises ReleaseFailed, naming the record, if it cannot be read."""
        key = revision.number, revision.version
        if key not in self._read:
            self._read[key] = await self._records.read(revision)
        return self._read[key]

    @property
    def problems(self) -> list[str]:
        """What is known to be wrong with its records."""
        return self._unreadable.among(self.history)

    @property
    def broken(self) -> bool:
        """Is it known that its head cannot be read?"""
        return bool(self.history) and self.history[-1] in self._unreadable

    async def create(self, record: ReleaseRecord) -> None:
        """Add a revision."""
        self._ledger.keep(await self._records.create(record))

    async def update(self, record: ReleaseRecord) -> None:
        """Write a revision anew."""
        (known,) = (revision for revision in self.history if revision.number == record.revision)
        self._ledger.keep(await self._records.update(record, known))

    async def delete(self, revision: Revision) -> None:
        """Drop a revision."""
        await self._records.delete(revision)
        self._ledger.remove(self.name, revision.number)

    def part_of(self, other: "ReleaseHistory") -> bool:
        """Is each of its revisions also the other's?"""
        others = [replace(revision, version=0) for revision in other.history]
        return all(replace(revision, version=0) in others for revision in self.history)

    async def bring_over(self, there: "ReleaseHistory") -> None:
        """Write the records of the other kind anew as ours, the latest last, then remove them: wherever the process
        dies, one history is a part of the other. If neither is, both were written for themselves, and ours counts."""
        kind, release = there.kind, f"{self.namespace}/{self.name}"
        if not (self.part_of(there) or there.part_of(self)):
            hint = f"kubectl delete {kind.lower()} -n {self.namespace} -l owner=helm,name={self.name}"
            _LOG.warn(f"a release has a second history, of {kind}s, which is left alone", release=release, hint=hint)
            return
        _LOG.info(f"the records of a release, which are {kind}s, become {self.kind}s", release=release)
        present = {revision.number for revision in self.history}
        readable = [(revision, record) for revision in there.history if (record := await there.readable(revision))]
        for revision, record in readable:
            if revision.number not in present:
                await self.create(record)
        for revision, _ in readable:
            await there.delete(revision)
