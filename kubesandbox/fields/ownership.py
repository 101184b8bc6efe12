"""What ownership means for an apply: fields that the applier no longer states go unless another manager owns them, and
fields of others are refused.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus

import orjson

from kubesandbox.fields.differences import shape_in
from kubesandbox.fields.elements import paths, shown
from kubesandbox.fields.entries import UPDATE, Entries, ManagedFieldsEntry
from kubesandbox.fields.merge import named, owned, removed
from kubesandbox.fields.shapes import Shape, deduced
from kubesandbox.kinds import Kind
from kubesandbox.status import Cause, Refused
from kubetypes.field_sets import LEAF, SELF, Fields, difference, intersection, union
from kubetypes.json_values import JSON


def pruned(merged: JSON, last: ManagedFieldsEntry | None, entries: Entries, kind: Kind) -> JSON:
    """A merged object without what the applier's `last` entry had and no entry of now has.

    A struct or an element goes with its last field. What the applier did not own itself stays, wherever it stands.
    """
    shape = shape_in(kind, last.api_version) if last else None
    if last is None or shape is None or not difference(last.fields, _all_owned(entries.values(), last.api_version)):
        return merged
    left = removed(merged, named(last.fields, shape), shape) or {}
    for version in _versions(entries.values(), last.api_version):
        left = _with_owned(merged, left, _all_owned(entries.values(), version), shape_in(kind, version))
    gone = difference(named(owned(merged, shape), shape), named(owned(left, shape), shape))
    return removed(merged, intersection(gone, named(last.fields, shape)), shape) or {}


def _versions(entries: Iterable[ManagedFieldsEntry], first: str) -> list[str]:
    return sorted({entry.api_version for entry in entries}, key=lambda one: (one != first, one))


def _all_owned(entries: Iterable[ManagedFieldsEntry], version: str) -> Fields:
    fields: Fields = {}
    for entry in entries:
        if entry.api_version == version:
            fields = union(fields, entry.fields)
    return fields


def _with_owned(merged: JSON, left: JSON, owned_now: Fields, shape: Shape | None) -> JSON:
    """What is left, with all put back that is owned now."""
    if shape is None:
        return left
    keep = union(named(owned(left, shape), shape), named(owned_now, shape))
    return removed(merged, difference(named(owned(merged, shape), shape), keep), shape) or {}


# ── conflicts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

# The refusal of an apply that would change what others own.


REASON = "FieldManagerConflict"


def refused(conflicts: Mapping[str, Fields], entries: Entries) -> Refused:
    """409 of what is fought for, by the identities of those who own it."""
    fields = {who: ["".join(map(shown, path)) for path in paths(conflicts[who])] for who in sorted(conflicts)}
    causes = [_cause(entries[who], field) for who, theirs in fields.items() for field in theirs]
    return Refused(HTTPStatus.CONFLICT, "Conflict", _message(causes, fields, entries), causes=causes)


def _cause(owner: ManagedFieldsEntry, field: str) -> Cause:
    return Cause(REASON, f"conflict with {_said(owner)}", field)


def _message(causes: list[Cause], fields: Mapping[str, list[str]], entries: Entries) -> str:
    if len(causes) == 1:
        return f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    lines = []
    for who, theirs in fields.items():
        lines += [f"conflicts with {_said(entries[who])}:", *(f"- {field}" for field in theirs)]
    return f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)


def _said(entry: ManagedFieldsEntry) -> str:
    name = orjson.dumps(entry.manager).decode()
    subresource = f' with subresource "{entry.subresource}"' if entry.subresource else ""
    return f"{name}{subresource}{f' using {entry.api_version}' if entry.operation == UPDATE else ''}"


# ── sets of another schema ────────────────────────────────────────────────────────────────────────────────────────────

# Sets that were written when a schema was another one, or by hand: what is atomic now is owned as one.
#
# https://kubernetes.io/docs/reference/using-api/server-side-apply/#compatibility-across-topology-changes


def reconciled(fields: Fields, shape: Shape) -> Fields:
    """The set by the present schema; the same object if nothing changes."""
    changed = {}
    for key, node in fields.items():
        below = shape.at(key[2:]) if key.startswith("f:") else shape.item if key != SELF else None
        if node and below is not None and (now := _reconciled(node, below)) is not node:
            changed[key] = now
    return fields | changed if changed else fields


def _reconciled(node: Fields, shape: Shape) -> Fields:
    if "map" in shape.types:
        if shape.element is deduced() and not shape.fields:
            return node
        return LEAF if shape.atomic else reconciled(node, shape)
    if "list" in shape.types:
        return reconciled(node, shape) if shape.associative else LEAF
    return node
