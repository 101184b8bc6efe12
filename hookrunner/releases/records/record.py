"""A revision of a release as Helm stores it: the document and its packed text, and the labels of its record.

Helm 3 and 4 read and write JSON, packed by gzip, as base64. Unknown fields of documents that other clients wrote are
kept.

Helm copies a record's labels to the revisions that it makes itself, so a digest counts only with the number of the
revision that it was written for.
Source: https://helm.sh/docs/topics/advanced/#storage-backends; observed with helm 4.1.
"""

import base64
import binascii
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from enum import StrEnum

import orjson

from hookrunner import log, safe_files
from hookrunner.errors import ReleaseFailed
from hookrunner.model.json_objects import NO_OBJECTS, JsonObjects
from hookrunner.model.releases import DesiredRelease, HelmHook
from hookrunner.releases.records.record_labels import ReleaseRevision
from kubetypes import json_values
from kubetypes.bounds import RELEASE_RECORD, TooLarge
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import YAML_1_1, BadDocument, documents

APPLY_METHOD = "csa"
"""How a stock helm 4 should continue our releases: by merging on the client side. An object that we have created and
not changed since has no applied field (`object_writer`), and server-side apply would find a conflict in each."""

_log = log.get(__name__)
_GZIP = b"\x1f\x8b\x08"

_LARGEST = 1024 * 1024
"""Bytes that the data of a Secret or a ConfigMap may have.
Source: https://kubernetes.io/docs/concepts/configuration/secret/#restriction-data-size"""

QUICK_TO_PARSE = 8 * 1024
"""Characters of a manifest that are parsed in a few milliseconds: a thread would cost more than it saves."""

JSON_IS_QUICKER = 16
"""So many times less, at least, is it to read, write and compare objects as JSON than to parse their manifest."""

MOST_UNPACKED = RELEASE_RECORD.size
"""Bytes of a document. Packed it has 768 KiB at most, because a Secret holds 1 MiB. Manifests shrink to a tenth or a
twentieth, thousands of similar objects to a hundredth; zeros, which are never needed, to a thousandth."""


class RevisionStatus(StrEnum):
    """The status of a revision, in Helm's words."""

    PENDING_INSTALL = "pending-install"
    PENDING_UPGRADE = "pending-upgrade"
    PENDING_ROLLBACK = "pending-rollback"
    DEPLOYED = "deployed"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    UNINSTALLING = "uninstalling"
    UNINSTALLED = "uninstalled"


PENDING = frozenset({RevisionStatus.PENDING_INSTALL, RevisionStatus.PENDING_UPGRADE, RevisionStatus.PENDING_ROLLBACK})


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """One revision. `document` is Helm's JSON; `labels` are those of the record that are not Helm's own. `known` are
    the manifest's objects if they were parsed before: Python takes longer to parse YAML than Helm to render it."""

    document: JSON
    labels: Mapping[str, str] = field(default_factory=dict)
    known: JsonObjects = field(default=NO_OBJECTS, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The release's name."""
        return str(self.document["name"])

    @property
    def namespace(self) -> str:
        """The release's, and the record's."""
        return str(self.document["namespace"])

    @property
    def revision(self) -> int:
        """Counted from 1."""
        return int(self.document["version"])

    @property
    def status(self) -> str:
        """One of `RevisionStatus`, or a status of a later Helm."""
        return str(self.document["info"]["status"])

    @property
    def manifest(self) -> str:
        """YAML documents."""
        return str(self.document.get("manifest") or "")

    @property
    def objects(self) -> tuple[JSON, ...]:
        """The manifest's objects, lists taken apart; those of a large one only in a thread. Raises ReleaseFailed."""
        if self.known:
            return tuple(orjson.loads(text) for text in self.known)
        return tuple(part for obj in self._read(self.manifest) for part in _items(obj))

    @property
    def work(self) -> int:
        """The work of reading its objects, in characters of a manifest to parse, about."""
        return self.known.work // JSON_IS_QUICKER if self.known else len(self.manifest)

    @property
    def without_chart(self) -> "ReleaseRecord":
        """The same without what only Helm reads: for the way to another process."""
        return ReleaseRecord({key: self.document.get(key) for key in ("name", "namespace", "version", "manifest")})

    @property
    def hooks(self) -> tuple[HelmHook, ...]:
        """Raises ReleaseFailed."""
        return tuple(_hook(hook, self._read(hook["manifest"])) for hook in self.document.get("hooks") or ())

    def with_status(self, status: RevisionStatus, description: str, **more: JSON) -> "ReleaseRecord":
        """The same with another status. `more` goes into `info`."""
        info = self.document["info"] | {"status": str(status), "description": description} | more
        return replace(self, document=self.document | {"info": info})

    def with_runs(self, runs: Mapping[tuple[str, str], JSON]) -> "ReleaseRecord":
        """The same with its hooks' last runs, by path and name."""
        hooks = [
            hook | {"last_run": runs.get((hook.get("path", ""), hook["name"]), hook.get("last_run"))}
            for hook in self.document.get("hooks") or ()
        ]
        return replace(self, document=self.document | {"hooks": hooks})

    def _read(self, manifest: str) -> list[JSON]:
        try:
            return [document for document in documents(manifest.encode(), YAML_1_1) if document]
        except BadDocument as error:
            raise ReleaseFailed(
                f"revision {self.revision} of release {self.name}: document {error.number}: {error}"
            ) from None


def new_record(
    desired: DesiredRelease, revision: int, status: RevisionStatus, first_deployed: str = ""
) -> ReleaseRecord:
    """The record of a revision before its rollout. `first_deployed` is the time of the first revision, RFC 3339."""
    moment = now()
    document = {
        "name": desired.name,
        "info": {
            "first_deployed": first_deployed or moment,
            "last_deployed": moment,
            "description": "",
            "status": str(status),
            "notes": desired.rendered.notes,
        },
        "chart": desired.rendered.chart,
        "config": desired.values,
        "manifest": desired.rendered.manifest,
        "hooks": [_hook_as_json(hook) for hook in desired.rendered.hooks],
        "version": revision,
        "namespace": desired.namespace,
        "apply_method": APPLY_METHOD,
    }
    return ReleaseRecord(document, known=JsonObjects.of(desired.rendered.objects))


def packed(document: JSON) -> str:
    """Pack a document as Helm stores it; a Secret has the base64 of this text. Raises ReleaseFailed if it is so large
    that it could not be read again."""
    text = orjson.dumps(document)
    if len(text) > MOST_UNPACKED:
        raise ReleaseFailed(
            f"revision {document['version']} of release {document['name']} has {len(text):,} bytes, and a record may "
            f"have {MOST_UNPACKED:,}: split the module, or make its manifest smaller"
        )
    try:
        json_values.check(text, RELEASE_RECORD)
    except TooLarge as error:
        raise ReleaseFailed(f"revision {document['version']} of release {document['name']} has {error}") from None
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()


def packed_to_fit(record: ReleaseRecord) -> str:
    """The text of a record. If it would be too large, the chart's files other than templates are left out.

    Raises ReleaseFailed if it is too large even then.
    """
    text = packed(record.document)
    if len(text) <= _LARGEST:
        return text
    _log.warn(
        "release record is too large, the chart's files other than templates are left out",
        release=record.name,
        revision=record.revision,
        bytes=len(text),
        allowed=_LARGEST,
    )
    text = packed(record.document | {"chart": record.document["chart"] | {"files": []}})
    if len(text) > _LARGEST:
        what = f"revision {record.revision} of release {record.name} takes {len(text):,} bytes, packed"
        raise ReleaseFailed(
            f"{what}, and a record may have {_LARGEST:,}: split the module, or make its manifest smaller"
        )
    return text


def unpacked(text: str | bytes) -> JSON:
    """Unpack the document of a stored text. Raises ReleaseFailed if it is not a record."""
    return parsed(inflated(text))


def inflated(text: str | bytes) -> bytes:
    """The JSON of a stored text. Raises ReleaseFailed."""
    try:
        raw = base64.b64decode(text, validate=True)
        return safe_files.unpack(raw, MOST_UNPACKED) if raw.startswith(_GZIP) else raw
    except (binascii.Error, ValueError) as error:
        raise _no_record(error) from None


def parsed(text: bytes) -> JSON:
    """The document of this JSON. Raises ReleaseFailed."""
    try:
        document = json_values.loads(text, RELEASE_RECORD)
        document["info"]["status"], document["name"], document["namespace"], int(document["version"])
    except (ValueError, TypeError, KeyError) as error:
        raise _no_record(error) from None
    return document


def _no_record(error: Exception) -> ReleaseFailed:
    return ReleaseFailed(f"not a valid Helm release record: {error or type(error).__name__}")


def now() -> str:
    """The present time as Go writes it."""
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def _items(obj: JSON) -> list[JSON]:
    """An object, or those of a `List`, which are applied one by one."""
    if obj.get("kind", "").endswith("List") and isinstance(obj.get("items"), list):
        return list(obj["items"])
    return [obj]


def _hook_as_json(hook: HelmHook) -> JSON:
    return {
        "name": hook.name,
        "kind": hook.kind,
        "path": hook.path,
        "manifest": hook.text,
        "events": list(hook.events),
        "last_run": {"phase": ""},
        "weight": hook.weight,
        "delete_policies": list(hook.delete_policies),
    }


def _hook(stored: JSON, documents: list[JSON]) -> HelmHook:
    """Fields that Helm leaves out of a hook are empty or 0; one without a policy has the default policy."""
    return HelmHook(
        name=stored["name"],
        kind=stored["kind"],
        path=stored.get("path", ""),
        text=stored["manifest"],
        obj=documents[0] if documents else {},
        events=tuple(stored.get("events") or ()),
        weight=stored.get("weight", 0),
        delete_policies=tuple(stored.get("delete_policies") or ("before-hook-creation",)),
    )


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


def live_revisions(history: Sequence[ReleaseRevision]) -> Sequence[ReleaseRevision]:
    """The revisions whose objects may be in the cluster: from the last deployed one on. A `helm` that died between two
    writes leaves no deployed revision; then the last superseded one was the last deployed."""
    for status in (RevisionStatus.DEPLOYED, RevisionStatus.SUPERSEDED):
        for index in range(len(history) - 1, -1, -1):
            if history[index].status == status:
                return history[index:]
    return history
