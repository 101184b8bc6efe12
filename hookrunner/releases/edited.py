"""Which fields of a release's object has somebody else changed since we applied it?

    edited(applied, metadata)                    what is not ours (any more), by metadata alone: `("/spec/replicas",)`
    edited(applied, live["metadata"], live)      … of that, what has another value

The API server keeps account of who has set which field. A field that we applied is ours until somebody sets it to
something else. So an object that nobody has touched has none that is not ours, whatever defaults, units and admission
webhooks have made of its values; and what others have added was never ours. Only for what is not ours are values
compared, for it may have been taken over with the same value, and then leniently.

A number of replicas that was set through the subresource `scale` is an autoscaler's, unless it was kubectl that did it;
`caBundle` is for whoever issues certificates.
Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
"""

from collections.abc import Iterator
from functools import reduce
from typing import Final

import orjson

from hookrunner.model.resources import JSON
from hookrunner.releases.alike import alike
from hookrunner.releases.fields import union
from hookrunner.releases.ownership import MANAGER, plain
from hookrunner.values import pointers

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
    ours: JSON = reduce(union, sets, {})
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
