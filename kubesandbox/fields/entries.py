"""`metadata.managedFields`: who owns which fields of an object, by what kind of write, since when."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

import orjson

from kubesandbox.fields.elements import canonical, ordered
from kubesandbox.times import rfc3339
from kubetypes.field_sets import LEAF, SELF, Fields, member, node_of, union
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

APPLY = "Apply"
UPDATE = "Update"
MOST_UPDATERS = 10
NAMES = ("manager", "operation", "apiVersion", "subresource", "fieldsType")
ANCIENT = "ancient-changes"


@dataclass(frozen=True, slots=True)
class ManagedFieldsEntry:
    """One manager's fields. `time` is RFC 3339 in UTC, None for an apply that has never changed a value."""

    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str | None
    fields: Fields

    @property
    def identity(self) -> str:
        """There is one entry for each of these. An apply takes its entry along when it changes the version."""
        version = {} if self.operation == APPLY else {"apiVersion": self.api_version}
        subresource = {"subresource": self.subresource} if self.subresource else {}
        manager = {"manager": self.manager} if self.manager else {}
        return orjson.dumps(manager | {"operation": self.operation} | version | subresource).decode()

    def json(self) -> dict[str, JSON]:
        """As it stands in the object."""
        time = {} if self.time is None else {"time": self.time}
        subresource = {"subresource": self.subresource} if self.subresource else {}
        manager = {"manager": self.manager} if self.manager else {}
        head = manager | {"operation": self.operation, "apiVersion": self.api_version}
        return head | time | {"fieldsType": "FieldsV1", "fieldsV1": self.fields} | subresource


Entries: TypeAlias = dict[str, ManagedFieldsEntry]
"""By identity."""


class Unreadable(ValueError):
    """An entry that cannot be read."""


def read(managed: Sequence[Mapping[str, JSON]]) -> Entries:
    """The entries of an object that this module has written."""
    entries = [_entry(one, one.get("time"), one["fieldsV1"]) for one in managed]
    return {entry.identity: entry for entry in entries}


def read_foreign(managed: Sequence[Mapping[str, JSON]]) -> Entries:
    """The entries that a client sent. Raises `Unreadable`."""
    entries = [_foreign(one) for one in managed]
    return {entry.identity: entry for entry in entries}


def _foreign(sent: Mapping[str, JSON]) -> ManagedFieldsEntry:
    if not isinstance(sent, dict) or not all(isinstance(sent.get(key, ""), str) for key in NAMES):
        raise Unreadable("an entry must be an object with texts")
    if sent.get("operation") not in (APPLY, UPDATE):
        raise Unreadable("operation must be `Apply` or `Update`")
    if not sent.get("apiVersion"):
        raise Unreadable("apiVersion must not be empty")
    if sent.get("fieldsType") != "FieldsV1":
        raise Unreadable("invalid fieldsType")
    return _entry(sent, _utc(sent.get("time") and str(sent["time"])), _canonical(sent.get("fieldsV1")))


def _entry(one: Mapping[str, JSON], time: str | None, fields: Fields) -> ManagedFieldsEntry:
    names = one.get("manager", ""), one["operation"], one["apiVersion"], one.get("subresource", "")
    return ManagedFieldsEntry(*names, time, fields)


def _utc(time: str | None) -> str | None:
    if not time:
        return None
    try:
        return rfc3339(datetime.fromisoformat(time))
    except ValueError as error:
        raise Unreadable("time must be RFC 3339") from error


def _canonical(fields: JSON) -> Fields:
    """Unknown kinds of path elements are left out; keys that are no path elements are an error."""
    if not isinstance(fields, dict | None):
        raise Unreadable("fieldsV1 must be an object")
    result: Fields = {}
    for key, node in (fields or {}).items():
        if key == SELF or (key[1:2] == ":" and key[0] not in "fkvi"):
            continue
        name = canonical(key)
        if name is None:
            raise Unreadable(f"no path element: {key}")
        below = _canonical(node)
        known = node_of(member(node), below) if node else LEAF
        if known is not None:
            result = union(result, {name: known})
    return result


def written(entries: Entries, before: Sequence[Mapping[str, JSON]]) -> list[JSON]:
    """As they stand in the object: applies first, then by time. Those of `before` that have not changed are reused."""
    known = {id(one["fieldsV1"]) for one in before}
    settled = (one if id(one.fields) in known else replace(one, fields=ordered(one.fields)) for one in entries.values())
    return [entry.json() for entry in sorted(settled, key=_place)]


def _place(entry: ManagedFieldsEntry) -> tuple[str, ...]:
    return entry.operation, entry.time or "", entry.manager, entry.api_version, entry.subresource


def capped(entries: Entries) -> Entries:
    """At most ten managers of updates: the oldest are put together, for each version, as `ancient-changes`."""
    updaters = [one for one in entries.values() if one.operation == UPDATE]
    excess = len(updaters) - MOST_UPDATERS
    if excess <= 0:
        return entries
    kept, first = dict(entries), dict[str, ManagedFieldsEntry]()
    for entry in sorted(updaters, key=lambda one: (one.time or "", one.identity)):
        if excess > 0 and entry.api_version in first:
            _put_together(kept, first[entry.api_version], entry)
            excess -= 1
        first.setdefault(entry.api_version, entry)
    return kept


def _put_together(kept: Entries, first: ManagedFieldsEntry, entry: ManagedFieldsEntry) -> None:
    bucket = ManagedFieldsEntry(ANCIENT, UPDATE, entry.api_version, "", entry.time, {})
    before = kept.get(bucket.identity) or kept.pop(first.identity)
    del kept[entry.identity]
    kept[bucket.identity] = replace(bucket, fields=union(entry.fields, before.fields))
