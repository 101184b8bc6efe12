"""Fields that a kind does not have, without a cluster: of built-in kinds, and of custom ones whose definition is given.

for unknown in unknown_fields(obj, custom_kinds(documents)): print(unknown.path, unknown.known)
fields_beside(kind_schema("apps/v1", "Deployment"), ".spec.repicas")         # the names of all fields of `spec`
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from kubetypes.openapi.custom_kinds import CustomKinds
from kubetypes.openapi.documents import kind_schema
from kubetypes.openapi.schemas import Schema

NO_CUSTOM_KINDS: CustomKinds = MappingProxyType({})
_ITEM = re.compile(r'\[(?:"(?:[^"\\]|\\.)*"|[^"\]])*\]')


class UnknownField(NamedTuple):
    """A field by its path, as the API server writes it (`.spec.containers[0].resource`); `known` are the fields that
    exist in its place."""

    path: str
    known: tuple[str, ...]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


def unknown_fields(obj: dict[str, Any], custom: CustomKinds = NO_CUSTOM_KINDS) -> Iterator[UnknownField]:
    """The fields of an object that its kind does not have; none for a kind that is neither built in nor in `custom`."""
    api_version, kind = str(obj.get("apiVersion")), str(obj.get("kind"))
    if schema := kind_schema(api_version, kind):
        yield from _unknown(obj, schema, "", is_custom=False)
    elif schema := custom.get((api_version, kind)):
        yield from _unknown(obj, schema, "", is_custom=True)


def _unknown(value: Any, schema: Schema, path: str, is_custom: bool) -> Iterator[UnknownField]:
    if isinstance(value, list):
        for index, item in enumerate(value if schema.items else ()):
            yield from _unknown(item, schema.items or schema, f"{path}[{index}]", is_custom)
    # A built-in struct without fields holds any JSON; of a custom one without fields the API server keeps nothing.
    has_fields = schema.properties or schema.additional or (is_custom and schema.type == "object")
    if not isinstance(value, dict) or not has_fields:
        return
    whole = _common_fields() if schema.embedded else {}
    for key, below in value.items():
        if common := whole.get(key):
            yield from _unknown(below, common, f"{path}.{key}", is_custom=False)
        elif child := schema.field(key):
            yield from _unknown(below, child, f"{path}.{key}", is_custom)
        elif not schema.preserves_unknown:
            yield UnknownField(f"{path}.{key}", (*{**schema.properties, **whole},))


@cache
def _common_fields() -> dict[str, Schema]:
    """What all objects have: apiVersion, kind and metadata."""
    schema = kind_schema("v1", "ConfigMap")
    return {key: schema.properties[key] for key in ("apiVersion", "kind", "metadata")} if schema else {}


def fields_beside(schema: Schema | None, path: str) -> tuple[str, ...]:
    """The fields that a kind has in the place of an unknown one; empty if nothing is known, also because a schema that
    an API server has published is malformed."""
    with suppress(AttributeError, LookupError, TypeError):
        return _fields_at(schema, path)
    return ()


def _fields_at(schema: Schema | None, path: str) -> tuple[str, ...]:
    while schema:
        if item := _ITEM.match(path):
            schema, path = schema.items, path[item.end() :]
            continue
        key = next((key for key in schema.properties if re.match(rf"\.{re.escape(key)}(?=[.\[])", path)), "")
        if not key:
            return tuple(schema.properties)
        schema, path = schema.properties[key], path[len(key) + 1 :]
    return ()
