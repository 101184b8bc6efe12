"""Fields that an applier no longer states are removed, unless another manager owns them."""

from collections.abc import Iterable

from kubesandbox.fields.differences import shape_in
from kubesandbox.fields.entries import Entries, ManagedFieldsEntry
from kubesandbox.fields.merge import named, owned, removed
from kubesandbox.fields.shapes import Shape
from kubesandbox.kinds import Kind
from kubetypes.field_sets import Fields, difference, intersection, union
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
