"""Which words of JSON Schema a definition may use, and how the `x-kubernetes-*` ones go together.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation
"""

from collections.abc import Iterator
from dataclasses import replace

from kubesandbox.status import Cause, forbidden_field, required, unsupported, wrong
from kubesandbox.structural import checks, rules
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

TYPES = ("array", "boolean", "integer", "number", "object", "string")
TYPE_FIELDS = ("apiVersion", "kind", "metadata")
NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
UNIQUE = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the object a schema applies. `no_default` says why a default may not stand here."""

    no_default: str = ""
    in_metadata: bool = False


def unconvertible(schema: JSON) -> bool:
    """Whether the schema cannot even be looked at as a structural one, because of a word that is not supported."""
    if any(schema.get(key) for key in NOT_SUPPORTED) or isinstance(schema.get("items"), list):
        return True
    inner = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    inner += [schema.get("not"), *(one for key in ("allOf", "anyOf", "oneOf") for one in schema.get(key) or ())]
    return any(unconvertible(one) for one in inner if isinstance(one, dict))


def unrecognized_formats(schema: JSON) -> Iterator[str]:
    """Formats that are not checked, for the schema's type."""
    form, kind = schema.get("format") or "", schema.get("type") or ""
    if form and not checks.checked_format((kind,) if kind else (), form):
        yield form
    for _, inner, _ in _inside(schema, _Place(), root=False):
        yield from unrecognized_formats(inner)


def problems(schema: JSON, field: str) -> Iterator[Cause]:
    """What may not be said in a schema at all, and what may not be said together."""
    yield from _problems(schema, field, _Place(), root=True)


def _problems(schema: JSON, field: str, place: _Place, *, root: bool = False) -> Iterator[Cause]:
    yield from _words(schema, field, place)
    for key, inner, there in _inside(schema, place, root=root):
        yield from _problems(inner, f"{field}.{key}", there)
    yield from list_type_problems(schema, field)
    yield from rules.problems(schema, field)


def _words(schema: JSON, field: str, place: _Place) -> Iterator[Cause]:
    kind = schema.get("type") or ""
    if kind and kind not in TYPES:
        yield unsupported(f"{field}.type", kind, TYPES)
    if schema.get("default") is not None and place.no_default:
        yield forbidden_field(f"{field}.default", f"must not be set {place.no_default}")
    yield from (
        forbidden_field(f"{field}.{key}", f"{key} is not supported") for key in NOT_SUPPORTED if schema.get(key)
    )
    listed = isinstance(schema.get("items"), list)
    mixed = schema.get("properties") and schema.get("additionalProperties") not in (None, True)
    embedded = place.in_metadata and schema.get("x-kubernetes-embedded-resource")
    rules = (
        (kind == "null", "type", "type cannot be set to null, use nullable as an alternative"),
        (listed, "items", "items must be a schema object and not an array"),
        (embedded, "x-kubernetes-embedded-resource", "must not be used inside of resource meta"),
        (schema.get("uniqueItems"), "uniqueItems", UNIQUE),
        (mixed, "additionalProperties", "additionalProperties and properties are mutual exclusive"),
    )
    yield from (forbidden_field(f"{field}.{key}", why) for broken, key, why in rules if broken)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield wrong(f"{field}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")


def _inside(schema: JSON, place: _Place, *, root: bool) -> Iterator[tuple[str, JSON, _Place]]:
    """The schemas inside a schema: how they are called in paths, and where they apply."""
    if isinstance(schema.get("additionalProperties"), dict):
        why = "inside additionalProperties applying to object metadata"
        yield (
            "additionalProperties",
            schema["additionalProperties"],
            replace(place, no_default=why) if place.in_metadata else place,
        )
    whole = root or schema.get("x-kubernetes-embedded-resource")
    for key, inner in (schema.get("properties") or {}).items():
        there = place
        if whole and key in TYPE_FIELDS:
            there = _Place(f"in top-level {key}" if root else place.no_default, in_metadata=True)
        yield f"properties[{key}]", inner, there
    if schema.get("not") is not None:
        yield "not", schema["not"], place
    for key in ("allOf", "oneOf", "anyOf"):
        for index, inner in enumerate(schema.get(key) or ()):
            yield f"{key}[{index}]", inner, place
    if isinstance(schema.get("items"), dict):
        yield "items", schema["items"], place


# ── lists and maps ────────────────────────────────────────────────────────────────────────────────────────────────────

# How elements are distinguished and merged: whether `x-kubernetes-list-type`, `-list-map-keys` and `-map-type` are
# stated correctly.
#
# https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy


LIST_TYPE = "x-kubernetes-list-type"
MAP_TYPE = "x-kubernetes-map-type"
KEYS = "x-kubernetes-list-map-keys"


def list_type_problems(schema: JSON, field: str) -> Iterator[Cause]:
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
