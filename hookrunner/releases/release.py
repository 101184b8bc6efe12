"""The records of one release: its history from memory, whole records as they are asked for, every change of them."""

import asyncio
from dataclasses import dataclass, field, replace

from hookrunner import log
from hookrunner.errors import ReleaseFailed
from hookrunner.model.releases import Head
from hookrunner.releases import healing
from hookrunner.releases.attempts import Past
from hookrunner.releases.codec import Record
from hookrunner.releases.ledger import Ledger, Revision
from hookrunner.releases.records import Records
from hookrunner.releases.unreadable import Unreadable

_LOG = log.get("releases.archive")


@dataclass(frozen=True, slots=True)
class Release:
    """Those of one kind. Everything raises KubeError where the API does not do what is asked."""

    name: str
    namespace: str
    _ledger: Ledger
    _records: Records
    _unreadable: Unreadable
    _read: dict[tuple[int, int], Record] = field(default_factory=dict)

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

    async def past(self) -> Past:
        """Its history with those records whose objects may be in the cluster. What only those know of that cannot be
        read is left where it is."""
        found = await asyncio.gather(*map(self.readable, healing.needed(self.history)))
        return Past(self.history, tuple(record for record in found if record))

    async def readable(self, revision: Revision) -> Record | None:
        """The record; None, which is told once, if it cannot be read."""
        if revision in self._unreadable:
            return None
        try:
            return await self.read(revision)
        except ReleaseFailed as error:
            self._unreadable.note(revision, str(error))
            return None

    async def read(self, revision: Revision) -> Record:
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

    async def create(self, record: Record) -> None:
        """Add a revision."""
        self._ledger.keep(await self._records.create(record))

    async def update(self, record: Record) -> None:
        """Write a revision anew."""
        (known,) = (revision for revision in self.history if revision.number == record.revision)
        self._ledger.keep(await self._records.update(record, known))

    async def delete(self, revision: Revision) -> None:
        """Drop a revision."""
        await self._records.delete(revision)
        self._ledger.remove(self.name, revision.number)

    def part_of(self, other: "Release") -> bool:
        """Is each of its revisions also the other's?"""
        others = [replace(revision, version=0) for revision in other.history]
        return all(replace(revision, version=0) in others for revision in self.history)

    async def bring_over(self, there: "Release") -> None:
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
