"""Managed fields of one object: what a write to it leaves, and server-side apply. `writes.py` describes the input."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kubesandbox.fields import last_applied, ownership
from kubesandbox.fields.checks import check, check_live
from kubesandbox.fields.differences import Differences, UnknownVersion, check_versions, ownable, shape_in
from kubesandbox.fields.elements import NoElement
from kubesandbox.fields.entries import (
    APPLY,
    UPDATE,
    Entries,
    ManagedFieldsEntry,
    Unreadable,
    capped,
    read,
    read_foreign,
    written,
)
from kubesandbox.fields.merge import merged, owned
from kubesandbox.fields.ownership import pruned, reconciled
from kubesandbox.fields.shapes import shape_of
from kubesandbox.kinds import Kind
from kubesandbox.status import Refused
from kubetypes.field_sets import Fields, difference, intersection, of, union
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

BEFORE_FIRST_APPLY = "before-first-apply"
RESET: tuple[JSON, ...] = ([], [{}])
SERVER_GIVEN = ("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation")
UNOWNED = of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(("f:metadata", f"f:{name}") for name in (*SERVER_GIVEN, "managedFields", "resourceVersion")),
)


@dataclass(frozen=True, slots=True)
class Write:
    """Who writes: the field manager's name, the time (RFC 3339, UTC, whole seconds), and where to ("" or `status`)."""

    manager: str
    time: str
    subresource: str = ""


def updated(live: JSON | None, new: JSON, kind: Kind, write: Write) -> JSON:
    """`new` with its managed fields, after a create (`live` is None), an update or a patch."""
    entries = _known(live, new, kind, write)
    bare = managed_by(new, ())
    if live is not None and not entries:
        return bare
    try:
        check_live(live or {}, kind)
        entries = _taken(entries, Differences(managed_by(live or {}, ()), bare, kind, write.subresource), kind, write)
    except (NoElement, UnknownVersion, Refused):
        return bare
    return settled(live, managed_by(new, written(entries, managed(live) or ())))


def applied(live: JSON | None, config: JSON, kind: Kind, write: Write, force: bool) -> JSON:
    """The live object with a configuration applied, and its managed fields. Raises `Refused`."""
    check(config, kind)
    check_live(live or {}, kind)
    entries = _tracked(live, kind, write)
    check_versions(entries.values(), kind)
    mine = _stated(config, kind, write)
    last = entries.get(mine.identity)
    entries[mine.identity] = mine
    base = live or {}
    result = pruned(merged(base, config, shape_of(kind)), last, entries, kind)
    found = Differences(managed_by(base, ()), managed_by(result, ()), kind, write.subresource)
    others = {who: one for who, one in entries.items() if who != mine.identity}
    fought = {who: lost for who, one in others.items() if (lost := _lost(one, found))}
    if fought and not force and (left := last_applied.not_inherited(fought, base, kind, write.manager)):
        raise ownership.refused(left, entries)
    kept = _yielded(others, found)
    time = write.time if result != base else last.time if last else None
    if fields := difference(mine.fields, UNOWNED):
        kept[mine.identity] = replace(mine, fields=fields, time=time)
    if write.manager == last_applied.KUBECTL:
        result = last_applied.refreshed(result, config)
    return settled(live, managed_by(result, written(kept, managed(live) or ())))


def settled(live: JSON | None, new: JSON) -> JSON:
    """`new`, with the times of `live` if nothing else is different: a write that changes nothing leaves no trace."""
    before, after = managed(live), managed(new)
    if not before or not after or before == after or _timeless(before) != _timeless(after):
        return new
    same = {**new, "metadata": {**new["metadata"], "managedFields": before}}
    return same if same == live else new


def managed(obj: JSON | None) -> list[JSON] | None:
    """`metadata.managedFields`, None without it."""
    found: list[JSON] | None = ((obj or {}).get("metadata") or {}).get("managedFields")
    return found


def _timeless(entries: Sequence[Mapping[str, JSON]]) -> list[dict[str, JSON]]:
    return [{key: value for key, value in entry.items() if key != "time"} for entry in entries]


def managed_by(obj: JSON, entries: Sequence[JSON]) -> JSON:
    """The object with these managed fields."""
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key != "managedFields"}
    return {**obj, "metadata": {**metadata, "managedFields": list(entries)} if entries else metadata}


def _known(live: JSON | None, new: JSON, kind: Kind, write: Write) -> Entries:
    """The entries that a write starts from: those that the client sent, if they can be used, or the live ones."""
    before, sent = managed(live) or [], managed(new)
    if write.subresource or sent is None or sent == before != [] or (kind.custom and not sent):
        return _read(before, kind)
    if sent in RESET:
        return {}
    try:
        return _reconciled(read_foreign(sent), kind) or _read(before, kind)
    except Unreadable:
        return _read(before, kind)


def _read(entries: Sequence[Mapping[str, JSON]], kind: Kind) -> Entries:
    """The entries of a live object. Only the schemas of custom kinds can have changed since they were written."""
    return _reconciled(read(entries), kind) if kind.custom else read(entries)


def _reconciled(entries: Entries, kind: Kind) -> Entries:
    shapes = {who: shape_in(kind, one.api_version) for who, one in entries.items()}
    return {
        who: replace(one, fields=reconciled(one.fields, shape)) if (shape := shapes[who]) else one
        for who, one in entries.items()
    }


def _taken(entries: Entries, found: Differences, kind: Kind, write: Write) -> Entries:
    """The entries after the writer took what it changed."""
    kept = _yielded(entries, found)
    if fields := difference(found.written.taken, UNOWNED):
        mine = ManagedFieldsEntry(write.manager, UPDATE, kind.api_version, write.subresource, write.time, fields)
        before = kept.get(mine.identity)
        kept[mine.identity] = replace(mine, fields=union(fields, before.fields)) if before else mine
    return capped(kept)


def _yielded(entries: Entries, found: Differences) -> Entries:
    """The entries without changed and removed fields; entries of unknown versions are dropped."""
    kept = {}
    for who, entry in entries.items():
        changed = found.of(entry.api_version)
        if changed is None:
            continue
        fields = difference(difference(entry.fields, changed.taken), changed.removed)
        if fields:
            kept[who] = entry if fields is entry.fields else replace(entry, fields=fields)
    return kept


def _lost(entry: ManagedFieldsEntry, found: Differences) -> Fields:
    changed = found.of(entry.api_version)
    return intersection(entry.fields, changed.taken) if changed else {}


def _tracked(live: JSON | None, kind: Kind, write: Write) -> Entries:
    """The live entries; an object that was not tracked so far gets one for all that is in it."""
    entries = _read(managed(live) or (), kind)
    if entries or live is None:
        return entries
    first = replace(write, manager=BEFORE_FIRST_APPLY)
    return _taken({}, Differences({"metadata": {}}, live, kind, write.subresource), kind, first)


def _stated(config: JSON, kind: Kind, write: Write) -> ManagedFieldsEntry:
    """What the applier claims."""
    fields = ownable(owned(config, shape_of(kind)), kind, write.subresource)
    return ManagedFieldsEntry(write.manager, APPLY, kind.api_version, write.subresource, None, fields)
