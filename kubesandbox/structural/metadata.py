"""ObjectMeta in custom objects and in resources embedded in them, read as the API server reads it: into fixed fields.

What fits no field is unknown and goes, what is empty goes, a null is as if nothing were there, and a value of another
type is refused in the words of Go's JSON reader. Whether names and labels are well formed is asked elsewhere.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/
"""

import re
from collections.abc import Iterator
from dataclasses import field
from typing import NoReturn

from kubesandbox import names
from kubesandbox.builtin import metadata
from kubesandbox.status import Cause, required, wrong
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.openapi.schemas import Schema

JSON_NAMES = {str: "string", int: "number", float: "number", bool: "bool", dict: "object", list: "array"}
RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
ANYTHING = "any"
TIME = "time"
LABELS = "map[string]string"
TEXTS = "[]string"

OWNER_REFERENCE = {
    "apiVersion": "string",
    "kind": "string",
    "name": "string",
    "uid": "string",
    "controller": "bool",
    "blockOwnerDeletion": "bool",
}
MANAGED_FIELDS_ENTRY = {
    "manager": "string",
    "operation": "string",
    "apiVersion": "string",
    "time": TIME,
    "fieldsType": "string",
    "fieldsV1": ANYTHING,
    "subresource": "string",
}
OBJECT_META = {
    "name": "string",
    "generateName": "string",
    "namespace": "string",
    "selfLink": "string",
    "uid": "string",
    "resourceVersion": "string",
    "generation": "int64",
    "creationTimestamp": TIME,
    "deletionTimestamp": TIME,
    "deletionGracePeriodSeconds": "int64",
    "labels": LABELS,
    "annotations": LABELS,
    "ownerReferences": "[]OwnerReference",
    "finalizers": TEXTS,
    "managedFields": "[]ManagedFieldsEntry",
}
STRUCTS = {"OwnerReference": OWNER_REFERENCE, "ManagedFieldsEntry": MANAGED_FIELDS_ENTRY}
# Kept when empty: they have no `omitempty`, and pointers tell 0 and false from nothing.
KEPT_EMPTY = {"OwnerReference": ("apiVersion", "kind", "name", "uid"), "ManagedFieldsEntry": (), "ObjectMeta": ()}
POINTERS = ("deletionGracePeriodSeconds", "controller", "blockOwnerDeletion")


class MalformedMetadata(Exception):
    """A value of another type than its field's; says so as Go does."""


@dataclass(slots=True)
class _ReadPosition:
    """The current field of the metadata, as Go's messages name it, and the unknown fields so far."""

    struct: str = "ObjectMeta"
    path: tuple[str, ...] = ()
    unknown: list[str] = field(default_factory=list)

    def refuse(self, value: JSON, wanted: str) -> NoReturn:
        given = JSON_NAMES.get(type(value), "null")
        if isinstance(value, float) and wanted == "int64":
            given = f"number {value}"
        place = f"struct field {self.struct}.{'.'.join(self.path)}" if self.path else "value"
        raise MalformedMetadata(f"json: cannot unmarshal {given} into Go {place} of type {wanted}")


def decoded(metadata: JSON) -> tuple[dict[str, JSON], list[str]]:
    """The known fields without empty ones, and the paths of unknown ones (`labelz`).

    Raises `MalformedMetadata`.
    """
    position = _ReadPosition()
    if metadata is None:
        return {}, []
    if not isinstance(metadata, dict):
        position.refuse(metadata, "v1.ObjectMeta")
    return _struct(metadata, OBJECT_META, "", position), position.unknown


def _struct(value: dict[str, JSON], fields: dict[str, str], where: str, position: _ReadPosition) -> dict[str, JSON]:
    struct, path = position.struct, position.path
    found = {}
    for key, inner in value.items():
        if key not in fields:
            position.unknown.append(f"{where}{key}")
        elif inner is not None:
            position.path = (*path, key)
            found[key] = _value(inner, fields[key], f"{where}{key}", position)
            position.struct, position.path = struct, path
    kept = {key: inner for key, inner in found.items() if inner not in ("", 0, {}, []) or key in POINTERS}
    return kept | {key: found.get(key, "") for key in KEPT_EMPTY[struct]}


def _value(value: JSON, wanted: str, where: str, position: _ReadPosition) -> JSON:
    """A value read as a Go type."""
    if wanted == LABELS:
        return {key: _text(inner, position) for key, inner in _of(dict, value, wanted, position).items()}
    if wanted == TEXTS:
        return [_text(inner, position) for inner in _of(list, value, wanted, position)]
    if wanted.startswith("[]"):
        return _structs(value, wanted[2:], where, position)
    if wanted == TIME:
        return _time(value, position)
    if wanted != ANYTHING:
        _of({"string": str, "int64": int, "bool": bool}[wanted], value, wanted, position)
    return value


def _of(kind: type, value: JSON, wanted: str, position: _ReadPosition) -> JSON:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        position.refuse(value, wanted)
    return value


def _text(value: JSON, position: _ReadPosition) -> str:
    return "" if value is None else str(_of(str, value, "string", position))


def _structs(value: JSON, struct: str, where: str, position: _ReadPosition) -> list[JSON]:
    _of(list, value, f"[]v1.{struct}", position)
    for entry in value:
        if not isinstance(entry, dict | None):
            position.refuse(entry, f"v1.{struct}")
    position.struct = struct
    result = []
    for index, entry in enumerate(value):
        result.append(_struct(entry or {}, STRUCTS[struct], f"{where}[{index}].", position))
    return result


def _time(value: JSON, position: _ReadPosition) -> str:
    text = str(_of(str, value, "string", position))
    if text and not RFC3339.fullmatch(text):
        layout = "2006-01-02T15:04:05Z07:00"
        raise MalformedMetadata(f'parsing time "{text}" as "{layout}": cannot parse "{text}" as "2006"')
    return text


# ── embedded objects ──────────────────────────────────────────────────────────────────────────────────────────────────

# Whole objects inside custom objects (`x-kubernetes-embedded-resource`): their type and metadata are well formed.
#
# https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#rawextension


def problems(value: JSON, schema: Schema, path: str = "") -> Iterator[Cause]:
    """What is wrong with the embedded objects in a value that was pruned."""
    if isinstance(value, dict):
        if schema.embedded:
            yield from _object(value, path)
        for key, inner in value.items():
            if (place := schema.properties.get(key)) is not None:
                yield from problems(inner, place, f"{path}.{key}" if path else key)
            elif schema.additional is not None:
                yield from problems(inner, schema.additional, f"{path}[{key}]")
    elif isinstance(value, list) and schema.items is not None:
        for index, inner in enumerate(value):
            yield from problems(inner, schema.items, f"{path}[{index}]")


def matter(schema: Schema) -> bool:
    """Whether a schema has an embedded object anywhere."""
    inner = [*schema.properties.values(), *filter(None, (schema.additional, schema.items))]
    return schema.embedded or any(map(matter, inner))


def _object(value: dict[str, JSON], path: str) -> Iterator[Cause]:
    yield from (required(f"{path}.{key}") for key in ("apiVersion", "kind") if key not in value)
    yield from _type(value, path)
    held = value.get("metadata") or {}
    field = f"{path}.metadata"
    for key in ("name", "generateName"):
        yield from (wrong(f"{field}.{key}", held[key], said) for said in names.path_segment(held.get(key, "")))
    if namespace := held.get("namespace"):
        yield from (wrong(f"{field}.namespace", namespace, said) for said in names.label(namespace))
    yield from metadata.template(held, field)
    for owner in held.get("ownerReferences") or ():
        rules = ((key, said) for key, said in metadata.OWNER_FIELDS if not owner.get(key))
        yield from (wrong(f"{field}.ownerReferences.{key}", "", said) for key, said in rules)
    for name in held.get("finalizers") or ():
        yield from (wrong(f"{field}.finalizers", name, said) for said in names.qualified(name))


def _type(value: dict[str, JSON], path: str) -> Iterator[Cause]:
    """`apiVersion` and `kind`, where they are there."""
    version, kind = value.get("apiVersion"), value.get("kind")
    if version == "":
        yield wrong(f"{path}.apiVersion", version, "must not be empty")
    elif version is not None and version.count("/") > 1:
        yield wrong(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    if kind == "":
        yield wrong(f"{path}.kind", kind, "must not be empty")
    elif kind is not None and (said := names.old_label(kind.lower())):
        yield wrong(f"{path}.kind", kind, f"may have mixed case, but should otherwise match: {','.join(said)}")
