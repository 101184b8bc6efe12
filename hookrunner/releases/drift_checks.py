"""Checks of one object of a release: when to read it, and which of its fields another client has changed.

    changed_fields(applied, metadata)                   # fields that are not ours, by metadata: ("/spec/replicas",)
    changed_fields(applied, live["metadata"], live)     # … those of them that have another value

Objects that change again and again are read ever more rarely: without this, two controllers that disagree on a field
would overwrite each other indefinitely.

The API server records who has set which field. A field that we applied is ours until another client sets it to another
value. So an object that no other client has changed has only our fields, whatever defaults, units and admission
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

from hookrunner.controllers.work_queue import WorkQueue
from hookrunner.errors import KubeError
from hookrunner.releases.manifest_objects import MANAGER, ObjectId, plain
from hookrunner.values import pointers
from hookrunner.waits import Pauses
from kubetypes.field_sets import Fields, union
from kubetypes.json_values import JSON
from kubetypes.quantities import BadQuantity, quantity

_FIRST, _FACTOR, _LONGEST = 1.0, 4.0, 3600.0
"""Seconds from the first hint of a change until the object is read, because edits seldom come alone; the factor for
each time that it was found changed before; and the longest delay."""

_QUIET = 3 * _LONGEST
"""Seconds after which an object that was not found changed starts with the first delay again."""


_RETRY_SOON, _RETRY_LATER = 5.0, 60.0
"""Seconds."""


class DriftBackoff:
    """The delays before objects that change are read: exponential for each object."""

    def __init__(self) -> None:
        self._waits: dict[ObjectId, tuple[float, float]] = {}

    def delay(self, object_id: ObjectId, now: float) -> float:
        """Seconds until the object is read. `now` is any monotonic time."""
        delay, changed_at = self._waits.get(object_id, (_FIRST, now))
        return _FIRST if now - changed_at > _QUIET else delay

    def mark_changed(self, object_id: ObjectId, now: float) -> None:
        """Note that the object was found changed."""
        self._waits[object_id] = (min(self.delay(object_id, now) * _FACTOR, _LONGEST), now)

    def forget(self, object_id: ObjectId) -> None:
        """Forget the changes of an object that belongs to no release any more."""
        self._waits.pop(object_id, None)


class RecheckQueue(WorkQueue[ObjectId]):
    """Objects to read again, for one reader that takes one after the other."""

    def __init__(self) -> None:
        super().__init__("rechecks", Pauses(_RETRY_SOON, _RETRY_LATER))

    def retry(self, object_id: ObjectId, error: KubeError) -> None:
        """Read the object again after a failure: soon while the API server is unreachable, without a right less and
        less often."""
        if error.brief:
            self.add_after(object_id, _RETRY_SOON)
        else:
            self.add_rate_limited(object_id)


_AMOUNTS = frozenset(
    {"limits", "requests", "hard", "capacity", "default", "defaultRequest", "min", "max", "overhead", "podFixed"}
    | {"sizeLimit", "storage", "divisor", "averageValue", "targetAverageValue"}
)
"""Names of fields below which values are amounts of resources."""


def is_equivalent(manifest: JSON, live: JSON, path: tuple[str, ...] = ()) -> bool:
    """Do two values mean the same? `manifest` is from the manifest, `live` what the API server made of it: it may have
    more fields, and items of other names; None stands for an absent value. `path` leads to the value."""
    if isinstance(manifest, dict) and isinstance(live, dict | None):
        return all(is_equivalent(value, (live or {}).get(key), (*path, key)) for key, value in manifest.items())
    if live is None:
        return not manifest
    if isinstance(manifest, list):
        return isinstance(live, list) and _lists(manifest, live, path)
    if manifest == live and isinstance(manifest, bool) == isinstance(live, bool):
        return True
    return not _AMOUNTS.isdisjoint(path) and _amount(manifest) == _amount(live) is not None


def _lists(manifest: list[JSON], live: list[JSON], path: tuple[str, ...]) -> bool:
    """Item by item; if all items have names, by name, ignoring further live items."""
    if all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in (*manifest, *live)):
        named = {item["name"]: item for item in live}
        return all(is_equivalent(item, named.get(item["name"]), path) for item in manifest)
    return len(manifest) == len(live) and all(is_equivalent(*pair, path) for pair in zip(manifest, live, strict=True))


def _amount(value: JSON) -> object:
    """The number of an amount, None if it is not an amount."""
    try:
        return quantity(str(value))
    except BadQuantity:
        return None


_METADATA_PARTS = ("labels", "annotations", "finalizers", "ownerReferences")
"""The parts of an object's metadata that a release may set."""

_UNSEEN: Final = object()
"""Stands for an unknown value: it differs from every value."""

_NEVER_OURS = frozenset({"apiVersion", "kind", "status", "stringData"})
_CERTIFICATES = "caBundle"
_OWNERS = ("metadata", "ownerReferences")
"""A list whose items are owned as a whole, `structType=atomic`, so that no field below an item shows an owner.
Source: https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/types.go"""
_WHOLE, _PERHAPS = "!", "?"
"""Marks the end of a field in a set. An applied field is ours with all its parts. A created or updated field may also
be a map or a list of which no part is ours any more: an update also counts the container itself."""

_Path = tuple[str, ...]


def state_of(metadata: JSON) -> bytes:
    """A text that differs between two states of an object if more than the status differs. Kinds without a generation
    have no relevant status."""
    version = metadata.get("generation") or metadata.get("resourceVersion")
    return orjson.dumps([version, *(metadata.get(part) for part in _METADATA_PARTS)])


def changed_fields(applied: JSON, metadata: JSON, live: JSON = _UNSEEN) -> tuple[str, ...]:
    """JSON pointers of the changed fields; items of lists by their index in the applied object.

    `applied` is the object as it was sent, `metadata` that of the live object.
    """
    entries = [entry for entry in metadata.get("managedFields") or () if _is_permitted(entry)]
    is_whole = _is_untouched(metadata)
    ends = [_WHOLE if is_whole or entry["operation"] == "Apply" else _PERHAPS for entry in entries]
    sets = [_mark_ends(entry["fieldsV1"], end) for entry, end in zip(entries, ends, strict=True)]
    nothing: Fields = {}
    ours = reduce(union, sets, nothing)
    return tuple(pointers.text(path) for path in _edited(_comparable(applied), ours, live, ()))


def _is_untouched(metadata: JSON) -> bool:
    """Has no other client written the object, or only its status? Who takes a part of a map or a list has an
    entry of its own. Who only removes parts has none, but raises the generation; of kinds without one, the API server
    leaves out what is empty then, and with it the field."""
    writers = [entry for entry in metadata.get("managedFields") or () if not entry.get("subresource")]
    return metadata.get("generation", 1) == 1 and all(entry.get("manager") == MANAGER for entry in writers)


def _is_permitted(entry: JSON) -> bool:
    """Are these fields ours, or an autoscaler's, which may change them?"""
    if not entry.get("fieldsV1"):
        return False
    if entry.get("subresource") == "scale":
        return not entry.get("manager", "").startswith("kubectl")
    return entry.get("manager") == MANAGER and not entry.get("subresource")


def _mark_ends(fields: JSON, end: str) -> JSON:
    return {key: _mark_ends(below, end) for key, below in fields.items() if key != "."} or {end: {}}


def _comparable(applied: JSON) -> JSON:
    """The parts of an object that are compared."""
    metadata = {key: applied["metadata"][key] for key in _METADATA_PARTS if key in applied["metadata"]}
    return {key: value for key, value in plain(applied).items() if key not in _NEVER_OURS} | {"metadata": metadata}


def _edited(applied: JSON, ours: JSON, live: JSON, path: _Path) -> Iterator[_Path]:
    """`ours` are the fields that we manage here, empty for none."""
    if applied is None or _WHOLE in ours or path[-1:] == (_CERTIFICATES,):
        return
    if _PERHAPS in ours and path[:-1] == _OWNERS:
        return
    if isinstance(applied, dict) and applied and live is not None:
        for key, value in applied.items():
            yield from _edited(value, ours.get(f"f:{key}", {}), _field(live, key), (*path, key))
    elif isinstance(applied, list) and ours.keys() - {_PERHAPS}:
        for index, item in enumerate(applied):
            fields, below = _item(item, ours, live)
            yield from _edited(item, fields, below, (*path, str(index)))
    elif _PERHAPS in ours and not (isinstance(applied, dict | list) and applied):
        return
    elif live is _UNSEEN or not is_equivalent(applied, live, path):
        yield path


def _field(live: JSON, key: str) -> JSON:
    if live is _UNSEEN:
        return live
    return live.get(key) if isinstance(live, dict) else None


def _item(item: JSON, ours: JSON, live: JSON) -> tuple[JSON, JSON]:
    """The fields that we manage of a list item, and the same item of the live list."""
    keys = [(orjson.loads(key[2:]), below) for key, below in ours.items() if key[:2] in ("k:", "v:")]
    fields: JSON = next((below for wanted, below in keys if _matches(item, wanted)), {})
    if live is _UNSEEN:
        return fields, live
    live_items = live if isinstance(live, list) else []
    names = {name for wanted, _ in keys if isinstance(wanted, dict) for name in wanted}
    wanted = {name: item[name] for name in names if name in item} if isinstance(item, dict) else item
    return fields, next((candidate for candidate in live_items if _matches(candidate, wanted)), None)


def _matches(item: JSON, wanted: JSON) -> bool:
    """Has the item these keys, or this value? Keys that one of them lacks were filled in by the server."""
    if not isinstance(wanted, dict) or not isinstance(item, dict):
        return bool(item == wanted)
    shared = item.keys() & wanted.keys()
    return bool(shared) and all(item[key] == wanted[key] for key in shared)
