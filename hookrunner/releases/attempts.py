"""The next revision of a release: which number it has and what its record says, without doing anything.

An attempt that failed or was interrupted is made again under its own number as long as the same is wanted, so that a
release that always fails does not push its own history out (user-pains.md R14).
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import orjson

from hookrunner.model.releases import Head, Wanted
from hookrunner.model.resources import JSON
from hookrunner.releases.codec import APPLY_METHOD, Record, Status, now, recorded
from hookrunner.releases.ledger import OURS, Revision, labelled

PINNED = "pinned"
ROLLED_BACK = "rolled-back"

_VERBS = {Status.PENDING_INSTALL: "install", Status.PENDING_ROLLBACK: "rollback"}
_FAILED = " failed: "
_WHEN = "modtime"
"""What tells of a chart only when it was packed."""


@dataclass(frozen=True, slots=True)
class Past:
    """The labels of all revisions, the latest last, and the records of those that `needed` names and can be read."""

    history: tuple[Revision, ...] = ()
    records: tuple[Record, ...] = ()

    @property
    def latest(self) -> Record | None:
        """The head's record."""
        found = self.records[-1] if self.records else None
        return found if found and found.revision == self.history[-1].number else None

    @property
    def deployed(self) -> Record | None:
        """The last that was brought about."""
        return next((record for record in reversed(self.records) if record.status == Status.DEPLOYED), None)

    @property
    def tidy(self) -> bool:
        """Is what the head's record says what is in the cluster?"""
        return self.latest is not None and self.latest.status == Status.DEPLOYED

    @property
    def next(self) -> int:
        """The number of a new revision."""
        return self.history[-1].number + 1 if self.history else 1


@dataclass(frozen=True, slots=True)
class Attempt:
    """A revision to be brought about: its record while it is pending, and its objects. `known` says that there is a
    record of this number already."""

    record: Record
    objects: tuple[JSON, ...]
    known: bool = False

    @property
    def verb(self) -> str:
        """As Helm's hooks call it: install, upgrade or rollback."""
        return _VERBS.get(Status(self.record.status), "upgrade")

    def ended(self, error: str = "") -> Record:
        """The record of a revision that was brought about, or not: then with the reason, in Helm's words."""
        verb, status = self.verb.capitalize(), Status.FAILED if error else Status.DEPLOYED
        what = f'{"Release" if verb == "Install" else verb} "{self.record.name}"'
        done = f"{verb} complete"
        if verb == "Rollback":
            what = done = self.record.document["info"]["description"]
        return self.record.turned(status, what + _FAILED + error if error else done)


def noted(past: Past, wanted: Wanted) -> Record | None:
    """The head's record with what is wanted now noted on it, if that leads to the very same objects and hooks. Raises
    ReleaseFailed if its objects cannot be read.

    Its manifest stays as it was written: addon-operator, which writes the same objects otherwise, knows it by its
    checksum when it takes the release back (§6.3).
    """
    latest = past.latest
    if latest is None or latest.status != Status.DEPLOYED:
        return None
    new = recorded(wanted, latest.revision, Status.DEPLOYED)
    if _hooks(latest) != _hooks(new) or _objects(latest) != _objects(new):
        return None
    old, chart = latest.document.get("chart") or {}, wanted.rendered.chart
    chart = old if chart | {_WHEN: ""} == old | {_WHEN: ""} else chart
    noted = latest.document | {"config": wanted.values, "chart": chart}
    return Record(noted, _labels(past, wanted, latest.revision, latest.manifest))


def attempt(past: Past, wanted: Wanted) -> Attempt:
    """The revision that leads to what is wanted. One that failed or was interrupted on the way there is made again: a
    rollback as it was, another unless it had objects that are not wanted now, which only its record knows of."""
    latest = past.latest
    again = latest is not None and latest.status != Status.DEPLOYED and past.history[-1].head.digest == wanted.digest
    if latest and again and past.history[-1].head.note:
        description = latest.document["info"]["description"].partition(_FAILED)[0]
        return Attempt(latest.turned(Status.PENDING_ROLLBACK, description), latest.objects, known=True)
    known = latest is not None and again and _keys(latest.objects) <= _keys(wanted.rendered.objects)
    number = past.history[-1].number if known else past.next
    record = recorded(wanted, number, _pending(past.history), _first_deployed(past))
    labels = _labels(past, wanted, number, record.manifest)
    return Attempt(replace(record, labels=labels), wanted.rendered.objects, known)


def rollback(past: Past, target: Record, digest: str, note: str) -> Attempt:
    """A new revision like an earlier one, which stands for a digest that it was not made from."""
    info = target.document["info"] | {"first_deployed": _first_deployed(past) or now(), "last_deployed": now()}
    record = Record(target.document | {"info": info, "version": past.next, "apply_method": APPLY_METHOD})
    head = replace(past.history[-1].head, revision=past.next, digest=digest, note=note)
    labels = _others(past) | labelled(head, checksum(record.manifest))
    pending = record.turned(Status.PENDING_ROLLBACK, f"Rollback to {target.revision}")
    return Attempt(replace(pending, labels=labels), target.objects)


def checksum(manifest: str) -> str:
    """As addon-operator has it (§6.3)."""
    return hashlib.md5(manifest.encode(), usedforsecurity=False).hexdigest()


def _labels(past: Past, wanted: Wanted, number: int, manifest: str) -> dict[str, str]:
    head = Head(wanted.name, wanted.namespace, number, "", wanted.digest, True, wanted.terms.unmanaged)
    return _others(past) | labelled(head, checksum(manifest))


def _others(past: Past) -> dict[str, str]:
    """Labels that a person put on the release stay, as with Helm."""
    labels = past.history[-1].labels if past.history else {}
    return {key: value for key, value in labels.items() if key not in OURS}


def _first_deployed(past: Past) -> str:
    """Since when there has been the release, "" if it is new or nobody knows."""
    return str(past.records[-1].document["info"].get("first_deployed", "")) if past.records else ""


def _pending(history: Sequence[Revision]) -> Status:
    """An upgrade needs something to have been there, and not to have been uninstalled since."""
    there = any(revision.status in (Status.DEPLOYED, Status.SUPERSEDED) for revision in history)
    gone = bool(history) and history[-1].status in (Status.UNINSTALLING, Status.UNINSTALLED)
    return Status.PENDING_UPGRADE if there and not gone else Status.PENDING_INSTALL


def _keys(objects: Iterable[JSON]) -> set[tuple[str, ...]]:
    return {
        (obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"].get("name", ""))
        for obj in objects
    }


def _objects(record: Record) -> list[bytes]:
    """Whatever their order."""
    return sorted(orjson.dumps(obj, option=orjson.OPT_SORT_KEYS) for obj in record.objects)


def _hooks(record: Record) -> list[tuple[JSON, ...]]:
    """What makes hooks differ: not when they ran."""
    stored = record.document.get("hooks") or ()
    return [(hook["manifest"], hook.get("events"), hook.get("weight", 0)) for hook in stored]
