"""How values of one schema are owned: as one, field by field, or element by element.

A `Shape` is what remains of a `Schema` when only that is asked. The rules by which the API server reads a schema are
those of https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy: maps are granular and lists
atomic unless the schema says otherwise; where nothing is known of a value, its own type decides and lists are atomic.

Objects of built-in kinds are Go structs in the API server, and some of a struct's fields are there even in an empty
object (`spec`, `strategy`, the list `containers`): they are `standing`, and no manager owns that they exist.
"""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

from kubesandbox.builtin.types import Field, Type, type_of
from kubesandbox.kinds import Kind
from kubetypes.json_values import JSON
from kubetypes.openapi.schemas import Schema

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"

TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": TEXT}
ATOMIC: dict[str, Any] = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "x-kubernetes-preserve-unknown-fields": True,
}
OWNERS: dict[str, Any] = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["uid"],
    "items": {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {name: TEXT for name in ("apiVersion", "kind", "name", "uid")}
        | {name: {"type": "boolean"} for name in ("blockOwnerDeletion", "controller")},
    },
}
METADATA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "annotations": TEXTS,
        "creationTimestamp": {"type": "string", "format": "date-time"},
        "deletionGracePeriodSeconds": {"type": "integer"},
        "deletionTimestamp": {"type": "string", "format": "date-time"},
        "finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "generateName": TEXT,
        "generation": {"type": "integer"},
        "labels": TEXTS,
        "managedFields": {"type": "array", "items": ATOMIC},
        "name": TEXT,
        "namespace": TEXT,
        "ownerReferences": OWNERS,
        "resourceVersion": TEXT,
        "selfLink": TEXT,
        "uid": TEXT,
    },
}
OBJECT: dict[str, dict[str, Any]] = {"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA}
"""What every object has, for custom kinds: their own schema says nothing of it."""

EMPTY: dict[str, JSON] = {"struct": {}, "string": "", "bool": False, "quantity": "0"} | dict.fromkeys(
    ("pointer", "slice", "map", "any", "bytes", "time", "microtime")
)
"""What an empty Go value is in JSON; numbers are 0."""

STRUCTS = ("struct", "time", "microtime", "quantity", "intorstring")

SCALARS = {"integer": "numeric", "number": "numeric", "boolean": "boolean", "string": "string"}


class Shape:
    """A place in a schema.

    `types` says what may stand here: any of `map`, `list`, `scalar`; `scalar` is `string`, `numeric`, `boolean` or
    `untyped`. `atomic` is about maps. Lists are atomic unless `associative`; then `keys` tell elements apart, none for
    sets. `go` is the type that stands behind it for built-in kinds, where no value can be of another type.
    """

    def __init__(self, schema: Schema, go: Type | None = None, preserves: bool = False) -> None:
        self._schema = schema
        self.go = go.inner if go is not None and go.kind == "pointer" else go
        self._preserves = preserves or schema.preserves_unknown
        kind = "" if schema.name == RAW_EXTENSION else "string" if schema.name == QUANTITY else schema.type
        known = {"object": "map", "array": "list"}.get(kind, "scalar")
        self.types = frozenset((known,) if kind else ("map", "list", "scalar"))
        loose = schema.name == QUANTITY or schema.format not in ("", "byte")
        self.scalar = "untyped" if loose and kind == "string" else SCALARS.get(kind, "untyped")
        self.atomic = schema.atomic or schema.name == RAW_EXTENSION
        self.associative, self.keys = _told_apart(schema)

    @cached_property
    def fields(self) -> Mapping[str, "Shape"]:
        """The fields that the schema names."""
        known = self.go.fields if self.go else {}
        named = {
            name: self._below(schema, known[name].type if name in known else None)
            for name, schema in self._schema.properties.items()
        }
        if self._schema.embedded:
            return named | {name: Shape(Schema(raw)) for name, raw in OBJECT.items()}
        return named

    @cached_property
    def element(self) -> "Shape | None":
        """Every other field; None if there may be none."""
        schema = self._schema.additional
        if schema is not None:
            return self._below(schema, self.go and self.go.elem) if schema.raw else deduced()
        refused = self._schema.raw.get("additionalProperties") is False
        free = not refused and (self._preserves or not self._schema.properties)
        return deduced() if free else None

    @cached_property
    def item(self) -> "Shape":
        """Elements of the list."""
        items = self._schema.items
        return untyped() if items is None else self._below(items, self.go and self.go.elem)

    @cached_property
    def key_defaults(self) -> dict[str, JSON]:
        """What stands for a key that an element leaves out."""
        items = self._schema.items
        known = {} if items is None else items.properties
        return {key: known[key].raw["default"] for key in self.keys if key in known and "default" in known[key].raw}

    @cached_property
    def standing(self) -> dict[str, JSON]:
        """The fields of a Go struct that are there even when empty, with that value."""
        fields = self.go.fields.values() if self.go else ()
        return {one.name: EMPTY.get(one.type.kind, 0) for one in fields if _stands(one)}

    def at(self, name: str) -> "Shape | None":
        """The shape of a field or of a map's value."""
        return self.fields.get(name) or self.element

    def _below(self, schema: Schema, go: Type | None) -> "Shape":
        return Shape(schema, go, self._preserves)


def _told_apart(schema: Schema) -> tuple[bool, tuple[str, ...]]:
    if "x-kubernetes-list-type" in schema.raw:
        return schema.list_type in ("map", "set"), tuple(sorted(schema.list_map_keys))
    merged = "merge" in schema.patch_strategies
    return merged, (schema.patch_merge_key,) if merged and schema.patch_merge_key else ()


def _stands(one: Field) -> bool:
    """`omitempty` does not leave out structs."""
    return not one.omit or (one.type.kind in STRUCTS and one.omit == "omitempty")


@lru_cache(maxsize=1)
def deduced() -> Shape:
    """Nothing is known: maps are granular, lists atomic."""
    return Shape(Schema({"additionalProperties": {}}))


@lru_cache(maxsize=1)
def untyped() -> Shape:
    """Nothing is known and nothing is looked into."""
    return Shape(Schema({"x-kubernetes-map-type": "atomic", "additionalProperties": {}}))


@lru_cache(maxsize=1024)
def shape_of(kind: Kind) -> Shape:
    """The shape of whole objects."""
    return custom_shape(kind.schema) if kind.custom else Shape(kind.schema, type_of(kind.api_version, kind.kind))


def custom_shape(schema: Schema) -> Shape:
    """The shape of custom objects: what their schema says, and the metadata of every object."""
    raw = schema.raw or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return Shape(Schema({**raw, "properties": {**raw.get("properties", {}), **OBJECT}}))
