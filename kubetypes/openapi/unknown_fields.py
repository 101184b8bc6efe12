"""Fields that a built-in kind does not have, without a cluster. Nothing is known of other kinds and versions.

for unknown in unknown_fields(obj): print(unknown.path, unknown.known)
fields_beside("apps/v1", "Deployment", ".spec.repicas")         # the names of all fields of `spec`
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kubetypes.openapi.documents import kind_schema
from kubetypes.openapi.schemas import Schema

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


def unknown_fields(obj: dict[str, Any]) -> Iterator[UnknownField]:
    """The fields of an object that its kind does not have; none for a kind that is not built in."""
    schema = kind_schema(str(obj.get("apiVersion")), str(obj.get("kind")))
    if schema:
        yield from _unknown(obj, schema, "")


def _unknown(value: Any, schema: Schema, path: str) -> Iterator[UnknownField]:
    if isinstance(value, list):
        for index, item in enumerate(value if schema.items else ()):
            yield from _unknown(item, schema.items or schema, f"{path}[{index}]")
    if not isinstance(value, dict) or not (schema.properties or schema.additional):
        return
    for key, below in value.items():
        if child := schema.field(key):
            yield from _unknown(below, child, f"{path}.{key}")
        elif not schema.preserves_unknown:
            yield UnknownField(f"{path}.{key}", tuple(schema.properties))


def fields_beside(api_version: str, kind: str, path: str) -> tuple[str, ...]:
    """The fields that a built-in kind has in the place of an unknown one; empty if nothing is known."""
    schema = kind_schema(api_version, kind)
    while schema:
        if item := _ITEM.match(path):
            schema, path = schema.items, path[item.end() :]
            continue
        key = next((key for key in schema.properties if re.match(rf"\.{re.escape(key)}(?=[.\[])", path)), "")
        if not key:
            return tuple(schema.properties)
        schema, path = schema.properties[key], path[len(key) + 1 :]
    return ()
