"""Pruning: fields that the schema does not know go away, and nulls that no field may have.

The same walk says which they were, for `fieldValidation: Strict` and `Warn`.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
"""

from typing import NoReturn

from kubesandbox.status import Refused, bad_request, shown
from kubesandbox.structural.metadata import MalformedMetadata, decoded
from kubetypes.json_values import JSON
from kubetypes.openapi.schemas import Schema

TYPE_FIELDS = ("apiVersion", "kind", "metadata")
EMPTY = Schema({})
TOO_LARGE = 2**63


def pruned(obj: JSON, schema: Schema) -> tuple[JSON, list[str]]:
    """A custom object without what its schema does not know, and paths of what went (`spec.foo`, `spec.list[0].foo`).

    The result is new; parts under `x-kubernetes-preserve-unknown-fields` are shared with `obj`. The object's metadata
    and that of embedded resources is read into the fields of ObjectMeta. Raises `Refused` (400) where it does not fit.
    """
    try:
        metadata, strange = decoded(obj.get("metadata"))
        walk = _Walk()
        body = {key: value for key, value in obj.items() if key not in TYPE_FIELDS}
        kept = walk.value(body, schema, "")
    except MalformedMetadata as error:
        raise _cannot_be_handled(obj, str(error)) from None
    kept = {key: value for key, value in kept.items() if key not in TYPE_FIELDS}
    whole = {key: obj[key] for key in ("apiVersion", "kind") if key in obj} | {"metadata": metadata} | kept
    return whole, [f"metadata.{path}" for path in strange] + sorted(walk.unknown) + sorted(walk.strange)


def unknown(value: JSON, schema: Schema) -> list[str]:
    """The paths of undeclared fields in any part of an object. Raises `MalformedMetadata` for metadata that does not
    fit."""
    walk = _Walk()
    walk.value(value, schema, "")
    return sorted(walk.unknown)


def _cannot_be_handled(obj: JSON, why: str) -> Refused:
    kind = obj["kind"]
    version = obj["apiVersion"].rpartition("/")[2]
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


class _Walk:
    """Goes through an object once. `unknown` are undeclared fields, `strange` those of embedded metadata."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.strange: list[str] = []

    def value(self, value: JSON, schema: Schema, path: str) -> JSON:
        if isinstance(value, dict):
            return self._object(value, schema, path)
        if isinstance(value, list):
            return self._list(value, schema, path)
        # What is more than 64 bits hold is read as a float by the API server.
        return float(value) if type(value) is int and not -TOO_LARGE <= value < TOO_LARGE else value

    def _object(self, value: dict[str, JSON], schema: Schema, path: str) -> dict[str, JSON]:
        keeps, embedded = schema.preserves_unknown, schema.embedded
        properties, additional = schema.properties, schema.additional
        before = f"{path}." if path else ""
        result = {}
        for key, inner in value.items():
            if embedded and key in TYPE_FIELDS:
                result[key] = self._type_field(key, inner, f"{before}{key}")
                continue
            place = properties.get(key) or additional
            if place is not None:
                if inner is not None or place.nullable or place.raw.get("default") is not None:
                    result[key] = self.value(inner, place, f"{before}{key}")
            elif keeps:
                result[key] = inner
            else:
                self.unknown.append(f"{before}{key}")
        return result

    def _list(self, value: list[JSON], schema: Schema, path: str) -> list[JSON]:
        inner = schema.items
        if inner is None and schema.preserves_unknown:
            return value
        items = inner or EMPTY
        return [self.value(one, items, f"{path}[{index}]") for index, one in enumerate(value)]

    def _type_field(self, key: str, value: JSON, path: str) -> JSON:
        """`apiVersion`, `kind` and `metadata` of an embedded resource."""
        if key != "metadata":
            return value if isinstance(value, str) else _must_be_text(value, path)
        try:
            metadata, strange = decoded(value)
        except MalformedMetadata as error:
            raise MalformedMetadata(f"{path}: Invalid value: {shown(value)}: {error}") from None
        self.strange += [f"{path}.{one}" for one in strange]
        return metadata


def _must_be_text(value: JSON, path: str) -> NoReturn:
    raise MalformedMetadata(f"{path}: Invalid value: {shown(value)}: must be a string")
