"""The labels of release records: what is known of a revision without reading its record.

revision = revision_of(metadata)          # None: Helm would not find it as a record
revision.head                             # the release's state, if this is its latest revision
labels = release_labels(head, checksum)   # the same, as it is written
"""

from collections.abc import Mapping
from dataclasses import field

from hookrunner.model.releases import Head, ServiceAccount
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

DIGEST = "hookrunner.io/digest"
NOTE = "hookrunner.io/note"
CHECKSUM = "moduleChecksum"
UNMANAGED = "maintenance.deckhouse.io/no-resource-reconciliation"
"""The last two are addon-operator's."""

HOME = "hookrunner.io/home"
"""On records in other namespaces than the operator's: that namespace, so that it finds them again."""

ADDON = "hookrunner.io/addon"
VERSION = "hookrunner.io/version"
"""On records of an addon's release: its unit, and the version of its package. Such records have no checksum: without it
addon-operator takes them for those of another client."""

PREDECESSOR = "hookrunner.io/predecessor"
"""On all records of an addon's release that was installed to take the place of another one: `<succession>.<name>`."""

ACCOUNT = "hookrunner.io/account"
ACCOUNT_NAMESPACE = "hookrunner.io/account-namespace"
"""On records of an addon's release: the ServiceAccount as which its objects were written, if it was one."""

OURS = frozenset({DIGEST, NOTE, CHECKSUM, UNMANAGED, HOME, ADDON, VERSION, PREDECESSOR, ACCOUNT, ACCOUNT_NAMESPACE})
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
        succession, _, predecessor = self.labels.get(PREDECESSOR, "").partition(".")
        return Head(
            name=self.name,
            namespace=self.namespace,
            revision=self.number,
            status=self.status,
            digest=digest if valid else "",
            owned=DIGEST in self.labels or CHECKSUM in self.labels,
            unmanaged=self.labels.get(UNMANAGED) == "true",
            note=self.labels.get(NOTE, "") if valid else "",
            addon=self.labels.get(ADDON, ""),
            version=version_of(self.labels),
            predecessor=predecessor,
            succession=int(succession) if succession.isdecimal() else 0,
            account=_account_of(self.labels),
        )


def release_labels(head: Head, checksum: str) -> dict[str, str]:
    """The labels that `ReleaseRevision.head` reads, and those that addon-operator needs to take the release back."""
    labels = {DIGEST: f"{head.digest}.v{head.revision}", UNMANAGED: "true" if head.unmanaged else "false"}
    labels |= {ADDON: head.addon, VERSION: _as_label(head.version)} if head.addon else {CHECKSUM: checksum}
    labels |= {PREDECESSOR: f"{head.succession}.{head.predecessor}"} if head.predecessor else {}
    if account := head.account:
        labels |= {ACCOUNT: account.name, ACCOUNT_NAMESPACE: account.namespace}
    return labels | ({NOTE: head.note} if head.note else {})


def _account_of(labels: Mapping[str, str]) -> ServiceAccount | None:
    name, namespace = labels.get(ACCOUNT), labels.get(ACCOUNT_NAMESPACE)
    return ServiceAccount(namespace, name) if name and namespace else None


def _as_label(version: str) -> str:
    """A version as the value of a label, which may have no `+`."""
    return version.replace("_", "__").replace("+", "_")


def version_of(labels: Mapping[str, str]) -> str:
    """The package's version in the labels of a record, empty without one."""
    return "_".join(part.replace("_", "+") for part in labels.get(VERSION, "").split("__"))


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
