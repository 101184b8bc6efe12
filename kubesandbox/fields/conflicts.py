"""The refusal of an apply that would change what others own."""

from collections.abc import Mapping
from http import HTTPStatus

import orjson

from kubesandbox.fields.elements import paths, shown
from kubesandbox.fields.entries import UPDATE, Entries, ManagedFieldsEntry
from kubesandbox.status import Cause, Refused
from kubetypes.field_sets import Fields

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
