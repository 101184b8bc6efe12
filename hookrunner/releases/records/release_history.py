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
from hookrunner.releases.records.revisions import ReleaseRevision, RevisionCache

_LOG = log.get("releases.archive")

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
        _LOG.warn("a revision cannot be read", error=text)
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
class PreviousRevisions:
    """The labels of all revisions, the latest last, and the readable records of those that `live_revisions` names."""

    history: tuple[ReleaseRevision, ...] = ()
    records: tuple[ReleaseRecord, ...] = ()

    @property
    def latest(self) -> ReleaseRecord | None:
        """The head's record, None if it cannot be read."""
        record = self.records[-1] if self.records else None
        return record if record and record.revision == self.history[-1].number else None

    @property
    def deployed(self) -> ReleaseRecord | None:
        """The record of the last deployed revision."""
        return next((record for record in reversed(self.records) if record.status == RevisionStatus.DEPLOYED), None)

    @property
    def is_consistent(self) -> bool:
        """Does the head's record say what is in the cluster?"""
        return self.latest is not None and self.latest.status == RevisionStatus.DEPLOYED

    @property
    def next_number(self) -> int:
        """The number of a new revision."""
        return self.history[-1].number + 1 if self.history else 1


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
        records = await asyncio.gather(*map(self.read_or_report, revisions.live_revisions(self.history)))
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
        self._cache.keep(await self._records.create(record))

    async def update(self, record: ReleaseRecord) -> None:
        """Replace a revision."""
        (known,) = (revision for revision in self.history if revision.number == record.revision)
        self._cache.keep(await self._records.update(record, known))

    async def delete(self, revision: ReleaseRevision) -> None:
        """Delete a revision."""
        await self._records.delete(revision)
        self._cache.remove(self.name, revision.number)

    def is_part_of(self, other: "ReleaseHistory") -> bool:
        """Is each of its revisions also in the other history?"""
        others = [replace(revision, version=0) for revision in other.history]
        return all(replace(revision, version=0) in others for revision in self.history)

    async def migrate_from(self, other: "ReleaseHistory") -> None:
        """Copy the records of the other kind to ours, the latest last, then delete them: wherever the process dies, one
        history is a part of the other. If neither is, both were written independently, and ours counts."""
        kind, release = other.kind, f"{self.namespace}/{self.name}"
        if not (self.is_part_of(other) or other.is_part_of(self)):
            hint = f"kubectl delete {kind.lower()} -n {self.namespace} -l owner=helm,name={self.name}"
            _LOG.warn(f"a release has a second history, of {kind}s, which is ignored", release=release, hint=hint)
            return
        _LOG.info(f"release records are moved from {kind}s to {self.kind}s", release=release)
        present = {revision.number for revision in self.history}
        readable = [
            (revision, record) for revision in other.history if (record := await other.read_or_report(revision))
        ]
        for revision, record in readable:
            if revision.number not in present:
                await self.create(record)
        for revision, _ in readable:
            await other.delete(revision)
