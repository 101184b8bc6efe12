"""What is known of the records of releases without reading any: their labels, kept up to date by what we write and by
what a watch tells.

Helm copies a record's labels to the revisions that it makes itself, so a digest counts only with the number of the
revision that it was written for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hookrunner.model.bindings import Change
from hookrunner.model.releases import Head
from hookrunner.model.resources import JSON
from hookrunner.releases.codec import PENDING, Status

DIGEST = "hookrunner.io/digest"
NOTE = "hookrunner.io/note"
CHECKSUM = "moduleChecksum"
UNMANAGED = "maintenance.deckhouse.io/no-resource-reconciliation"
"""The last two are addon-operator's (addon-operator.md §6.3, §6.7)."""

HOME = "hookrunner.io/home"
"""On records in other namespaces than the operator's: that namespace, so that it finds them again."""

OURS = frozenset({DIGEST, NOTE, CHECKSUM, UNMANAGED, HOME})
HELMS_OWN = frozenset({"name", "owner", "status", "version", "createdAt", "modifiedAt"})


@dataclass(frozen=True, slots=True)
class Revision:
    """The labels of one record. `version` is its resourceVersion."""

    name: str
    namespace: str
    number: int
    status: str
    labels: Mapping[str, str] = field(default_factory=dict)
    version: int = 0

    @property
    def head(self) -> Head:
        """What it says of its release if it is the latest."""
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


def labelled(head: Head, checksum: str) -> dict[str, str]:
    """The labels that tell of a revision what `Revision.head` reads, and what addon-operator needs to take it back."""
    labels = {
        DIGEST: f"{head.digest}.v{head.revision}",
        CHECKSUM: checksum,
        UNMANAGED: "true" if head.unmanaged else "false",
    }
    return labels | ({NOTE: head.note} if head.note else {})


def revision_of(metadata: JSON) -> Revision | None:
    """The revision whose record has this metadata; None if it is none that Helm would find."""
    labels = metadata.get("labels") or {}
    number = labels.get("version", "")
    if not labels.get("name") or not number.isdecimal():
        return None
    return Revision(
        name=labels["name"],
        namespace=metadata["namespace"],
        number=int(number),
        status=labels.get("status", ""),
        labels={key: value for key, value in labels.items() if key not in HELMS_OWN},
        version=int(metadata.get("resourceVersion") or 0),
    )


class Ledger:
    """The records of one namespace. A record that we removed is remembered until the watch has told of it, so that
    older news of it do not bring it back."""

    def __init__(self) -> None:
        self._known: dict[str, dict[int, Revision]] = {}
        self._removed: dict[tuple[str, int], int] = {}

    def relisted(self, revisions: Iterable[Revision], version: int) -> set[str]:
        """These were all there were at this resourceVersion. Which releases' heads has somebody else changed?"""
        listed = {(revision.name, revision.number): revision for revision in revisions}
        gone = [one for known in self._known.values() for one in known.values() if one.version <= version]
        told = {one.name for one in gone if (one.name, one.number) not in listed and self.hear(Change.DELETED, one)}
        return told | {one.name for one in listed.values() if self.hear(None, one)}

    def keep(self, revision: Revision) -> None:
        """It was written, or heard of."""
        self._known.setdefault(revision.name, {})[revision.number] = revision

    def remove(self, name: str, number: int) -> None:
        """We removed it."""
        if gone := self._drop(name, number):
            self._removed[name, number] = gone.version

    def history(self, name: str) -> tuple[Revision, ...]:
        """The revisions of a release, the latest last."""
        known = self._known.get(name, {})
        return tuple(known[number] for number in sorted(known))

    def head(self, name: str) -> Head | None:
        """The latest revision of a release."""
        known = self._known.get(name)
        return known[max(known)].head if known else None

    def heads(self) -> dict[str, Head]:
        """Of all releases."""
        return {name: known[max(known)].head for name, known in self._known.items()}

    def hear(self, change: Change | None, revision: Revision) -> bool:
        """Take in what a watch told of one record. Has somebody else changed the release's head?

        Our own writes are known already, with their resourceVersions or higher ones. What is pending is at work: that
        is told when it has come to an end.
        """
        before = self.head(revision.name)
        self._take_in(change, revision)
        after = self.head(revision.name)
        return before != after and (after is None or after.status not in {*PENDING, Status.UNINSTALLING})

    def _take_in(self, change: Change | None, revision: Revision) -> None:
        key = revision.name, revision.number
        known = self._known.get(revision.name, {}).get(revision.number)
        last = known.version if known else self._removed.get(key, -1)
        if change is Change.DELETED:
            self._removed.pop(key, None)
            if revision.version >= last:
                self._drop(*key)
        elif revision.version > last:
            self.keep(revision)

    def _drop(self, name: str, number: int) -> Revision | None:
        known = self._known.get(name, {})
        dropped = known.pop(number, None)
        if not known:
            self._known.pop(name, None)
        return dropped
