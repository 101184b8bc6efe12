"""Which fields of a release's object has another client changed since we applied it?

    edited(applied, metadata)                    fields that are not ours, by metadata alone: `("/spec/replicas",)`
    edited(applied, live["metadata"], live)      … those of them that have another value

The API server records who has set which field. A field that we applied is ours until another client sets it to another
value. So an object that nobody else has touched has only fields of ours, whatever defaults, units and admission
webhooks have made of its values; and fields that others have added were never ours. Values are compared only for fields
that are not ours, because another client may have taken a field over with the same value. That comparison is lenient:
the API server leaves out what is empty, fills in what is missing, and writes amounts of resources in its own way
(`1000m` is `1`).

A number of replicas that was set through the subresource `scale` belongs to an autoscaler, unless kubectl set it;
`caBundle` belongs to the issuer of certificates.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

from collections.abc import Iterator
from functools import reduce
from typing import Final

import orjson

from hookrunner.model.resources import JSON
from hookrunner.releases.ownership import MANAGER, plain
from hookrunner.values import pointers
from kubetypes.field_sets import Fields, union
from kubetypes.quantities import BadQuantity, quantity

_AMOUNTS = frozenset(
    {"limits", "requests", "hard", "capacity", "default", "defaultRequest", "min", "max", "overhead", "podFixed"}
    | {"sizeLimit", "storage", "divisor", "averageValue", "targetAverageValue"}
)
"""Below fields of these names are amounts of resources."""


def alike(manifest: JSON, live: JSON, path: tuple[str, ...] = ()) -> bool:
    """`live` may have more fields, and items of other names; None is for what is not there. `path` leads here."""
    if isinstance(manifest, dict) and isinstance(live, dict | None):
        return all(alike(value, (live or {}).get(key), (*path, key)) for key, value in manifest.items())
    if live is None:
        return not manifest
    if isinstance(manifest, list):
        return isinstance(live, list) and _lists(manifest, live, path)
    if manifest == live and isinstance(manifest, bool) == isinstance(live, bool):
        return True
    return not _AMOUNTS.isdisjoint(path) and _amount(manifest) == _amount(live) is not None


def _lists(manifest: list[JSON], live: list[JSON], path: tuple[str, ...]) -> bool:
    """Item by item; where all have names, by name, whatever else is there."""
    if all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in (*manifest, *live)):
        named = {item["name"]: item for item in live}
        return all(alike(item, named.get(item["name"]), path) for item in manifest)
    return len(manifest) == len(live) and all(alike(*pair, path) for pair in zip(manifest, live, strict=True))


def _amount(value: JSON) -> object:
    """The number that an amount stands for, None if it is none."""
    try:
        return quantity(str(value))
    except BadQuantity:
        return None


METADATA_PARTS = ("labels", "annotations", "finalizers", "ownerReferences")
"""What of an object's metadata a release may set."""

_UNSEEN: Final = object()
"""A value that is not known: it differs from all."""

_NEVER_OURS = frozenset({"apiVersion", "kind", "status", "stringData"})
_CERTIFICATES = "caBundle"
_WHOLE, _PERHAPS = "!", "?"
"""Marks in a set of fields where one ends: what was applied is ours to its last part. Of what was created or updated it
may also be said of a map or a list of which we no longer have any part: an update counts the container itself."""

_Path = tuple[str, ...]


def edited(applied: JSON, metadata: JSON, live: JSON = _UNSEEN) -> tuple[str, ...]:
    """JSON pointers of the fields; what is in a list counts by its place in what was applied.

    `applied` is the object as it was sent, `metadata` that of the object in the cluster.
    """
    entries = [entry for entry in metadata.get("managedFields") or () if _counts(entry)]
    ends = [_WHOLE if entry["operation"] == "Apply" else _PERHAPS for entry in entries]
    sets = [_marked(entry["fieldsV1"], end) for entry, end in zip(entries, ends, strict=True)]
    nothing: Fields = {}
    ours = reduce(union, sets, nothing)
    return tuple(pointers.text(path) for path in _edited(_compared(applied), ours, live, ()))


def _counts(entry: JSON) -> bool:
    """Are these fields ours, or an autoscaler's, who has them by right?"""
    if not entry.get("fieldsV1"):
        return False
    if entry.get("subresource") == "scale":
        return not entry.get("manager", "").startswith("kubectl")
    return entry.get("manager") == MANAGER and not entry.get("subresource")


def _marked(fields: JSON, end: str) -> JSON:
    return {key: _marked(below, end) for key, below in fields.items() if key != "."} or {end: {}}


def _compared(applied: JSON) -> JSON:
    """What of an object is looked at."""
    metadata = {key: applied["metadata"][key] for key in METADATA_PARTS if key in applied["metadata"]}
    return {key: value for key, value in plain(applied).items() if key not in _NEVER_OURS} | {"metadata": metadata}


def _edited(applied: JSON, ours: JSON, live: JSON, path: _Path) -> Iterator[_Path]:
    """`ours` are the fields that we manage here, empty for none."""
    if applied is None or _WHOLE in ours or path[-1:] == (_CERTIFICATES,):
        return
    if isinstance(applied, dict) and applied and live is not None:
        for key, value in applied.items():
            yield from _edited(value, ours.get(f"f:{key}", {}), _field(live, key), (*path, key))
    elif isinstance(applied, list) and ours.keys() - {_PERHAPS}:
        for place, item in enumerate(applied):
            fields, below = _item(item, ours, live)
            yield from _edited(item, fields, below, (*path, str(place)))
    elif _PERHAPS in ours and not (isinstance(applied, dict | list) and applied):
        return
    elif live is _UNSEEN or not alike(applied, live, path):
        yield path


def _field(live: JSON, key: str) -> JSON:
    if live is _UNSEEN:
        return live
    return live.get(key) if isinstance(live, dict) else None


def _item(item: JSON, ours: JSON, live: JSON) -> tuple[JSON, JSON]:
    """What we manage of an item of a list of which we manage something, and that item in the list that is there."""
    keys = [(orjson.loads(key[2:]), below) for key, below in ours.items() if key[:2] in ("k:", "v:")]
    fields: JSON = next((below for wanted, below in keys if _is(item, wanted)), {})
    if live is _UNSEEN:
        return fields, live
    there = live if isinstance(live, list) else []
    names = {name for wanted, _ in keys if isinstance(wanted, dict) for name in wanted}
    wanted = {name: item[name] for name in names if name in item} if isinstance(item, dict) else item
    return fields, next((one for one in there if _is(one, wanted)), None)


def _is(item: JSON, wanted: JSON) -> bool:
    """Is it the item with these keys, or of this value? Keys that one of them lacks were filled in by the server."""
    if not isinstance(wanted, dict) or not isinstance(item, dict):
        return bool(item == wanted)
    shared = item.keys() & wanted.keys()
    return bool(shared) and all(item[key] == wanted[key] for key in shared)
