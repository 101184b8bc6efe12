"""How elements are distinguished and merged: are `x-kubernetes-list-type`, `-list-map-keys` and `-map-type` said
rightly?

https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from collections.abc import Iterator

from kubesandbox.status import Cause, forbidden_field, required, unsupported, wrong
from kubetypes.json_values import JSON

LIST_TYPE = "x-kubernetes-list-type"
MAP_TYPE = "x-kubernetes-map-type"
KEYS = "x-kubernetes-list-map-keys"


def problems(schema: JSON, field: str) -> Iterator[Cause]:
    """What is wrong with one schema's list and map types."""
    yield from _kind(schema, field, MAP_TYPE, "object", ("atomic", "granular"))
    yield from _kind(schema, field, LIST_TYPE, "array", ("atomic", "set", "map"))
    list_type, keys = schema.get(LIST_TYPE), schema.get(KEYS) or []
    items = schema.get("items")
    if list_type == "set" and schema.get("type") == "array" and isinstance(items, dict):
        yield from _set_items(items, field)
    if keys and list_type != "map":
        why = f"must be map if {KEYS} is non-empty"
        where = f"{field}.{LIST_TYPE}"
        yield required(where, why) if list_type is None else wrong(where, list_type, why)
    if list_type == "map":
        yield from _map_list(items, keys, field)
    if list_type in ("set", "map") and isinstance(items, dict):
        yield from _no_nulls(items, list_type, keys, f"{field}.items")


def _kind(schema: JSON, field: str, key: str, wanted: str, choices: tuple[str, ...]) -> Iterator[Cause]:
    said = schema.get(key)
    if said is None:
        return
    kind = schema.get("type") or ""
    if kind != wanted:
        why = f"must be {wanted} if {key} is specified"
        yield wrong(f"{field}.type", kind, why) if kind else required(f"{field}.type", why)
    if said not in choices:
        yield unsupported(f"{field}.{key}", said, choices)


def _set_items(items: JSON, field: str) -> Iterator[Cause]:
    """Elements of a set are compared as a whole, so they are atomic."""
    why = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get(LIST_TYPE, "atomic") != "atomic":
        yield wrong(f"{field}.items.{LIST_TYPE}", items[LIST_TYPE], why)
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        # The API server shows the list type here, whatever the map type is.
        yield wrong(f"{field}.items.{MAP_TYPE}", items.get(LIST_TYPE), why)


def _map_list(items: JSON, keys: list[str], field: str) -> Iterator[Cause]:
    if not keys:
        yield required(f"{field}.{KEYS}", "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(f"{field}.items", "must have a schema if x-kubernetes-list-type is map")
    elif not isinstance(items, dict):
        yield wrong(f"{field}.items", items, "must only have a single schema if x-kubernetes-list-type is map")
    elif items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        yield wrong(f"{field}.items.type", items.get("type", ""), why)
    else:
        yield from _keys(items, keys, field)


def _keys(items: JSON, keys: list[str], field: str) -> Iterator[Cause]:
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in properties:
            yield wrong(f"{field}.{KEYS}", keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield wrong(f"{field}.items.properties[{key}].type", items["type"], why)
        if key in keys[:index]:
            yield wrong(f"{field}.{KEYS}", keys, "must not contain duplicate entries")


def _no_nulls(items: JSON, list_type: str, keys: list[str], field: str) -> Iterator[Cause]:
    if items.get("nullable"):
        yield forbidden_field(f"{field}.nullable", f"cannot be nullable when {LIST_TYPE} is {list_type}")
    properties = items.get("properties") or {}
    for key in keys if list_type == "map" else ():
        place, named = f"{field}.properties[{key}]", f"this property is in {KEYS}, so it"
        said = properties.get(key)
        if said is None:
            continue
        if key not in (items.get("required") or ()) and said.get("default") is None:
            yield required(f"{place}.default", f"{named} must have a default or be a required property")
        if said.get("nullable"):
            yield forbidden_field(f"{place}.nullable", f"{named} cannot be nullable")
