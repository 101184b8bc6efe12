"""A module's objects in the cluster as a Helm release: installed, upgraded, rolled back, repaired, taken away.

    releases = Releases(client, discovery, watches, Books("secret", keep=10, home="addons"))
    heads = await releases.heads("kube-system")
    settled = await releases.settle(wanted)

A revision is on record, with its whole manifest, before the first of its objects is written, and counts as deployed
after the last: whenever the process dies, the next one knows what may be in the cluster (design.md §4.1). What labels
tell of the records is kept in memory, so a release that is as it is wanted costs no request.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from hookrunner.errors import KubeError, ReleaseFailed
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.model.releases import Adoption, Finding, Head, Settled, Terms, Wanted
from hookrunner.model.resources import JSON
from hookrunner.releases import rollout
from hookrunner.releases.helm_hooks import HelmHooks
from hookrunner.releases.manifest_applier import ManifestApplier
from hookrunner.releases.manifest_objects import Identity, Kinds
from hookrunner.releases.readiness import Readiness
from hookrunner.releases.records import revisions
from hookrunner.releases.records.record import ReleaseRecord, RevisionStatus, now
from hookrunner.releases.records.record_storage import OTHER, Driver, RecordStorage
from hookrunner.releases.records.release_history import PreviousRevisions, ReleaseHistory
from hookrunner.releases.records.release_store import ReleaseStore
from hookrunner.releases.records.revisions import Revision
from hookrunner.releases.rollout import PINNED, ROLLED_BACK, ReleaseRollout, RevisionAttempt, RolloutTools

_DELETING = "Deletion in progress (or silently failed)"


@dataclass(frozen=True, slots=True)
class Books:
    """How releases are put on record: the kind of the records, how many of them stay (0 is all), and the operator's
    namespace, which those in other namespaces name."""

    driver: Driver
    keep: int
    home: str


class Releases:
    """The releases of one cluster. `kinds` are those that their objects may have; who applies definitions tells it.

    Every method raises ReleaseFailed, which names the release, or KubeError if the records themselves cannot be read
    or written. Calls that change one release wait for each other.
    """

    def __init__(self, client: Client, discovery: Discovery, watches: Watches, books: Books) -> None:
        readiness = Readiness(discovery, watches)
        hooks = HelmHooks(client, discovery, readiness)
        self.kinds = Kinds(discovery)
        self._tools = RolloutTools(ManifestApplier(client, self.kinds), hooks, readiness)
        ours, others = (RecordStorage(client, driver, books.home) for driver in (books.driver, OTHER[books.driver]))
        self._archive = ReleaseStore(ours, others, watches)
        self._keep = books.keep

    async def heads(self, namespace: str) -> dict[str, Head]:
        """The latest revision of each release there, by name: one request, of metadata only, and at the first look
        one more, for records of the other kind."""
        return await self._archive.heads(namespace)

    async def strays(self) -> dict[str, Head]:
        """The latest revision of each release of ours in another namespace than the operator's, by name: one request,
        of metadata only. Raises Denied without a right to list all records."""
        return await self._archive.strays()

    async def head(self, name: str, namespace: str) -> Head | None:
        """The latest revision of one release, from memory where the records were looked at before."""
        return (await self._archive.seen(name, namespace)).head

    async def inherit(self, name: str, namespace: str) -> Head | None:
        """The same, after records of ours that are of the other kind have become of this one: the last life of the
        operator had another driver."""
        head = await self.head(name, namespace)
        if head and head.owned and await self._archive.elsewhere(name, namespace):
            async with self._archive.held(name, namespace) as release:
                return release.head
        return head

    async def settle(self, wanted: Wanted) -> Settled:
        """Install or upgrade the release, or do nothing if it is as it is wanted.

        With `rollback_on_failure` a failure brings the last deployed revision back and is raised even so; what has
        failed is not tried again, the head's note then says `rolled-back`.
        """
        async with self._archive.held(wanted.name, wanted.namespace) as release:
            changed = 0
            if release.broken or not revisions.fits(release.history, wanted):
                changed = await self._settled(release, wanted)
            await self._tidied(release)
            return Settled(_head(release), changed)

    def adopted(self, name: str, namespace: str) -> tuple[Adoption, ...]:
        """The objects that a release has taken over since the last call."""
        return self._tools.applying.owners.adopted(Identity(name, namespace))

    async def rollback(self, name: str, namespace: str, revision: int | None, digest: str) -> Head:
        """Bring an earlier revision back, or the last one before this that was deployed, as a new one that is pinned:
        it stands for `digest`, that of what is wanted now, until something else is wanted."""
        async with self._archive.held(name, namespace) as release:
            target = await release.read(revisions.earlier(release.history, name, revision))
            past = await release.past()
            await self._tried(release, past, rollout.rollback(past, target, digest, PINNED), Terms())
            await self._tidied(release)
            return _head(release)

    async def uninstall(self, name: str, namespace: str, timeout: float = 1200.0) -> bool:
        """Take a release away: delete hooks, objects, records. Was there one? `timeout` is for each hook.

        The record says `uninstalling` first and goes last, so that it can be done again.
        """
        async with self._archive.held(name, namespace) as release:
            if not release.history:
                return False
            with _about(release):
                await self._taken_away(release, timeout)
            return True

    async def repair(self, name: str, namespace: str, findings: Collection[Finding], terms: Terms) -> int:
        """Bring objects that are gone or changed back to what the deployed revision says, without a new one; how many
        were written."""
        async with self._archive.held(name, namespace) as release:
            record = (await release.past()).deployed
            if record is None:
                raise ReleaseFailed(f"release {namespace}/{name}: no revision of it is deployed")
            lost = {(one.kind, one.namespace, one.name) for one in findings}
            everything = (await rollout.by_id([record])).values()
            objects = [obj for obj in everything if _key(obj, namespace) in lost or _key(obj, "") in lost]
            with _about(release):
                return await rollout.repair(self._tools, record, objects, terms)

    async def manifest(self, head: Head) -> tuple[JSON, ...]:
        """The objects of the deployed revision, none if there is none."""
        deployed = (await (await self._archive.seen(head.name, head.namespace)).past()).deployed
        return tuple((await rollout.by_id([deployed])).values()) if deployed else ()

    async def values(self, head: Head) -> JSON:
        """The values of the deployed revision; None without a deployed revision whose record can be read."""
        deployed = (await (await self._archive.seen(head.name, head.namespace)).past()).deployed
        return deployed.document.get("config") if deployed else None

    def changes(self, namespace: str) -> AsyncGenerator[str, None]:
        """Names of releases whose latest revision somebody else has changed (`helm rollback`), when that is done.
        Close it with `aclosing`."""
        return self._archive.changes(namespace)

    def problems(self, name: str, namespace: str) -> list[str]:
        """What is known to be wrong with the records of a release, for a person."""
        return self._archive.known(name, namespace).problems

    def broken(self, head: Head) -> bool:
        """Is it known that the record of a head cannot be read? Then nobody knows what was applied, and `settle`
        applies everything as a new revision."""
        return self._archive.known(head.name, head.namespace).broken

    def unreadable(self) -> AsyncIterator[tuple[str, str]]:
        """Names of releases and what is wrong with a record of theirs, as that is found out; for one reader."""
        return self._archive.unreadable.found()

    async def _settled(self, release: ReleaseHistory, wanted: Wanted) -> int:
        past = await release.past()
        if noted := rollout.noted(past, wanted):
            # That the cluster serves other kinds than before is no reason to write, if nothing came of it.
            ours = past.latest if past.history[-1].head.digest else None
            if ours is None or noted.json != ours.json:
                with _about(release):
                    await release.update(noted)
            return 0
        attempt = rollout.attempt(past, wanted)
        try:
            return await self._tried(release, past, attempt, wanted.terms)
        except ReleaseFailed as error:
            if not wanted.terms.rollback_on_failure or attempt.verb != "upgrade" or error.brief:
                raise
            raise ReleaseFailed(f"{error}; {await self._rolled_back(release, wanted)}") from error

    async def _tried(
        self, release: ReleaseHistory, past: PreviousRevisions, attempt: RevisionAttempt, terms: Terms
    ) -> int:
        """Bring a revision about, or put on record why that failed."""
        rollout = ReleaseRollout(self._tools, attempt, past, terms)
        with _about(release):
            await (release.update if attempt.known else release.create)(attempt.record)
            try:
                await rollout.carry_out()
            except (KubeError, ReleaseFailed) as error:
                with suppress(KubeError, ReleaseFailed):
                    await release.update(rollout.ended(str(error)))
                    await self._trimmed(release)
                raise
            await self._deployed(release, rollout.ended())
        return rollout.written

    async def _deployed(self, release: ReleaseHistory, record: ReleaseRecord) -> None:
        """All at once, for a process that dies meanwhile leaves nothing that is not understood."""
        older = revisions.unfinished(release.history, record.revision)
        await _all([release.update(record), *(self._mended(release, revision) for revision in older)])

    async def _rolled_back(self, release: ReleaseHistory, wanted: Wanted) -> str:
        """What was done about it, for a person."""
        past = await release.past()
        if past.deployed is None:
            return "there is no deployed revision to go back to"
        back = rollout.rollback(past, past.deployed, wanted.digest, ROLLED_BACK)
        await self._tried(release, past, back, wanted.terms)
        await self._tidied(release)
        return f"rolled back to revision {past.deployed.revision}, until something else is wanted"

    async def _taken_away(self, release: ReleaseHistory, timeout: float) -> None:
        records = (await release.past()).records
        if not records:
            mend = f"kubectl delete {release.kind.lower()} -n {release.namespace} -l owner=helm,name={release.name}"
            raise ReleaseFailed(
                f"nobody knows its objects, for no revision can be read: remove them by hand, then {mend}"
            )
        await release.update(records[-1].turned(RevisionStatus.UNINSTALLING, _DELETING, deleted=now()))
        await rollout.take_away(self._tools, records, timeout)
        for revision in release.history:
            await release.delete(revision)

    async def _tidied(self, release: ReleaseHistory) -> None:
        """Only the head of what is deployed says so, and no more revisions are kept than are to be."""
        await _all([self._mended(release, revision) for revision in revisions.leftovers(release.history)])
        await self._trimmed(release)

    async def _mended(self, release: ReleaseHistory, revision: Revision) -> None:
        if record := await release.readable(revision):
            await release.update(revisions.mended(record))

    async def _trimmed(self, release: ReleaseHistory) -> None:
        """Drop the oldest records, and first the objects that nobody would know of without them."""
        surplus = revisions.surplus(release.history, self._keep)
        doubtful = [revision for revision in surplus if revision in revisions.needed(release.history)]
        if doubtful and (past := await release.past()).records:
            await rollout.forget(self._tools, past.records, {revision.number for revision in doubtful})
        await _all(map(release.delete, surplus))


async def _all(writes: Iterable[Awaitable[None]]) -> None:
    """Do them side by side. An error is raised when none of them is under way any more."""
    for result in await asyncio.gather(*writes, return_exceptions=True):
        if result:
            raise result


@contextmanager
def _about(release: ReleaseHistory) -> Iterator[None]:
    """Every error names the release."""
    try:
        yield
    except (KubeError, ReleaseFailed) as error:
        raise ReleaseFailed(f"release {release.namespace}/{release.name}: {error}", error.brief) from error


def _head(release: ReleaseHistory) -> Head:
    head = release.head
    assert head is not None, "it has just been written"
    return head


def _key(obj: JSON, namespace: str) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", namespace), obj["metadata"]["name"]
