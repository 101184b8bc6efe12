"""The revisions of releases by the labels of their records, and what a history calls for. Reads no record.

`RevisionCache` holds the labels, kept up to date by our own writes and by a watch. The functions below it are pure: is
the head what is wanted, what did a dead process leave behind, which records can go.

Helm copies a record's labels to the revisions that it makes itself, so a digest counts only with the number of the
revision that it was written for.

Only this process writes the records of its releases while it runs, so a revision that is pending or uninstalling when
we look was left by a process that has died: it is taken up again. (A `helm` that runs at the very same time would be
overtaken; another `helm` would do the same to it.)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.informer import Relist
from hookrunner.model.bindings import Change
from hookrunner.model.releases import DesiredRelease, Head
from hookrunner.releases.records.record import PENDING, ReleaseRecord, RevisionStatus
from kubetypes.json_values import JSON

DIGEST = "hookrunner.io/digest"
NOTE = "hookrunner.io/note"
CHECKSUM = "moduleChecksum"
UNMANAGED = "maintenance.deckhouse.io/no-resource-reconciliation"
"""The last two are addon-operator's."""

HOME = "hookrunner.io/home"
"""On records in other namespaces than the operator's: that namespace, so that it finds them again."""

OURS = frozenset({DIGEST, NOTE, CHECKSUM, UNMANAGED, HOME})
HELMS_OWN = frozenset({"name", "owner", "status", "version", "createdAt", "modifiedAt"})


@dataclass(frozen=True, slots=True)
class ReleaseRevision:
    """The labels of one record. `version` is its resourceVersion."""

    name: str
    namespace: str
    number: int
    status: str
    labels: Mapping[str, str] = field(default_factory=dict)
    version: int = 0

    @property
    def head(self) -> Head:
        """The head of its release, if this is the latest revision."""
        digest, _, number = self.labels.get(DIGEST, "").rpartition(".v")
        valid = number == str(self.number)
        return Head(
            name=self.name,
            namespace=self.namespace,
            revision=self.number,
            status=self.status,
            digest=digest if valid else "",
            owned=DIGEST in self.labels or CHECKSUM in self.labels,
            unmanaged=self.labels.get(UNMANAGED) == "true",
            note=self.labels.get(NOTE, "") if valid else "",
        )


def release_labels(head: Head, checksum: str) -> dict[str, str]:
    """The labels that `ReleaseRevision.head` reads, and those that addon-operator needs to take the release back."""
    labels = {
        DIGEST: f"{head.digest}.v{head.revision}",
        CHECKSUM: checksum,
        UNMANAGED: "true" if head.unmanaged else "false",
    }
    return labels | ({NOTE: head.note} if head.note else {})


def revision_of(metadata: JSON) -> ReleaseRevision | None:
    """The revision of a record with this metadata; None if Helm would not find it as a record."""
    labels = metadata.get("labels") or {}
    number = labels.get("version", "")
    if not labels.get("name") or not number.isdecimal():
        return None
    return ReleaseRevision(
        name=labels["name"],
        namespace=metadata["namespace"],
        number=int(number),
        status=labels.get("status", ""),
        labels={key: value for key, value in labels.items() if key not in HELMS_OWN},
        version=int(metadata.get("resourceVersion") or 0),
    )


class RevisionCache:
    """The revisions of one namespace. A record that we deleted is remembered until the watch reports its deletion, so
    that older watch events do not bring it back."""

    def __init__(self) -> None:
        self._known: dict[str, dict[int, ReleaseRevision]] = {}
        self._removed: dict[tuple[str, int], int] = {}

    def replace(self, revisions: Iterable[ReleaseRevision], version: int) -> set[str]:
        """Replace the cache by a list at this resourceVersion. Names of the releases whose heads other clients have
        changed."""
        listed = {(revision.name, revision.number): revision for revision in revisions}
        relist = Relist[tuple[str, int]]()
        # Newer ones are our own writes.
        relist.begin(key for key, revision in self._revisions() if revision.version <= version)
        for key in listed:
            relist.see(key)
        gone = [self._known[name][number] for name, number in sorted(relist.end())]
        changed = {revision.name for revision in gone if self.observe(Change.DELETED, revision)}
        return changed | {revision.name for revision in listed.values() if self.observe(None, revision)}

    def _revisions(self) -> Iterator[tuple[tuple[str, int], ReleaseRevision]]:
        for name, known in self._known.items():
            for number, revision in known.items():
                yield (name, number), revision

    def keep(self, revision: ReleaseRevision) -> None:
        """Note that a record was written or seen."""
        self._known.setdefault(revision.name, {})[revision.number] = revision

    def remove(self, name: str, number: int) -> None:
        """Note that we deleted a record."""
        if gone := self._drop(name, number):
            self._removed[name, number] = gone.version

    def history(self, name: str) -> tuple[ReleaseRevision, ...]:
        """The revisions of a release, the latest last."""
        known = self._known.get(name, {})
        return tuple(known[number] for number in sorted(known))

    def head(self, name: str) -> Head | None:
        """The latest revision of a release."""
        known = self._known.get(name)
        return known[max(known)].head if known else None

    def heads(self) -> dict[str, Head]:
        """The latest revisions of all releases, by name."""
        return {name: known[max(known)].head for name, known in self._known.items()}

    def observe(self, change: Change | None, revision: ReleaseRevision) -> bool:
        """Take in a watch event of one record. Has another client changed the release's head?

        Our own writes are known already, with their resourceVersions or higher ones. A pending revision is still in
        progress: the change counts when it has ended.
        """
        before = self.head(revision.name)
        self._take_in(change, revision)
        after = self.head(revision.name)
        return before != after and (after is None or after.status not in {*PENDING, RevisionStatus.UNINSTALLING})

    def _take_in(self, change: Change | None, revision: ReleaseRevision) -> None:
        key = revision.name, revision.number
        known = self._known.get(revision.name, {}).get(revision.number)
        last = known.version if known else self._removed.get(key, -1)
        if change is Change.DELETED:
            self._removed.pop(key, None)
            if revision.version >= last:
                self._drop(*key)
        elif revision.version > last:
            self.keep(revision)

    def _drop(self, name: str, number: int) -> ReleaseRevision | None:
        known = self._known.get(name, {})
        dropped = known.pop(number, None)
        if not known:
            self._known.pop(name, None)
        return dropped


_UNFINISHED = frozenset({RevisionStatus.DEPLOYED, RevisionStatus.UNINSTALLING, *PENDING})


def is_in_sync(history: Sequence[ReleaseRevision], desired: DesiredRelease) -> bool:
    """Is the head in sync with the desired release? An unmanaged release that stays unmanaged always is."""
    if not history or history[-1].status != RevisionStatus.DEPLOYED:
        return False
    head, unmanaged = history[-1].head, desired.options.unmanaged
    return head.unmanaged == unmanaged and (unmanaged or head.digest == desired.digest)


def live_revisions(history: Sequence[ReleaseRevision]) -> Sequence[ReleaseRevision]:
    """The revisions whose objects may be in the cluster: from the last deployed one on. A `helm` that died between two
    writes leaves no deployed revision; then the last superseded one was the last deployed."""
    for status in (RevisionStatus.DEPLOYED, RevisionStatus.SUPERSEDED):
        for index in range(len(history) - 1, -1, -1):
            if history[index].status == status:
                return history[index:]
    return history


def leftovers(history: Sequence[ReleaseRevision]) -> list[ReleaseRevision]:
    """Revisions before a deployed head whose records say that they are deployed, pending or uninstalling."""
    deployed = history and history[-1].status == RevisionStatus.DEPLOYED
    return unfinished(history, history[-1].number) if deployed else []


def unfinished(history: Sequence[ReleaseRevision], head: int) -> list[ReleaseRevision]:
    """Older revisions still marked deployed, pending or uninstalling although a later one is deployed."""
    return [revision for revision in history if revision.number < head and revision.status in _UNFINISHED]


def corrected(record: ReleaseRecord) -> ReleaseRecord:
    """The corrected record of a leftover."""
    if record.status == RevisionStatus.DEPLOYED:
        return record.with_status(RevisionStatus.SUPERSEDED, record.document["info"].get("description", ""))
    return record.with_status(RevisionStatus.FAILED, f"Interrupted while {record.status}")


def surplus(history: Sequence[ReleaseRevision], keep: int) -> list[ReleaseRevision]:
    """The revisions to delete if `keep` (0 is all) should stay: the oldest, but never the last deployed nor the
    head."""
    kept = {revision.number for revision in (*live_revisions(history)[:1], *history[-1:])}
    spare = [revision for revision in history if revision.number not in kept]
    return spare[: max(0, len(history) - keep)] if keep else []


def find_earlier(history: Sequence[ReleaseRevision], name: str, number: int | None) -> ReleaseRevision:
    """The revision of a number, or the last one before the head that was deployed. Raises ReleaseFailed."""
    deployed = (RevisionStatus.DEPLOYED, RevisionStatus.SUPERSEDED)
    for revision in reversed(history):
        if revision.number == number or (number is None and revision in history[:-1] and revision.status in deployed):
            return revision
    existing = ", ".join(f"{revision.number} ({revision.status})" for revision in history) or "none"
    desired = f"revision {number}" if number else "earlier revision that was deployed"
    raise ReleaseFailed(f"release {name} has no {desired}; it has: {existing}")
