"""OpenAPI v3 documents of the built-in group versions, as a real API server published them.

A document is read only when it is needed, since all of them are 5 MB.
"""

import gzip
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from kubetypes.openapi import builtin_kinds
from kubetypes.openapi.schemas import REFERENCE, Schema


def document(group: str, version: str) -> bytes:
    """The OpenAPI v3 document of a built-in group version as JSON. Raises `FileNotFoundError` without one."""
    return gzip.decompress(files(__package__).joinpath(f"{group or 'core'}_{version}.json.gz").read_bytes())


class SchemaDefinitions(Mapping[str, dict[str, Any]]):
    """`components.schemas` of a built-in group version, read once, when the first one is looked up."""

    def __init__(self, group: str, version: str) -> None:
        self._of = (group, version)

    def __getitem__(self, name: str) -> dict[str, Any]:
        return _schemas(*self._of)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_schemas(*self._of))

    def __len__(self) -> int:
        return len(_schemas(*self._of))


def kind_schema(api_version: str, kind: str) -> Schema | None:
    """The schema of a built-in kind in a version; None for other kinds and versions."""
    builtin = builtin_kinds.of_kind(api_version, kind)
    if builtin is None or not builtin.schema:
        return None
    group, _, version = api_version.rpartition("/")
    return Schema({"$ref": REFERENCE + builtin.schema}, SchemaDefinitions(group, version))


@cache
def _schemas(group: str, version: str) -> dict[str, dict[str, Any]]:
    schemas: dict[str, dict[str, Any]] = orjson.loads(document(group, version))["components"]["schemas"]
    return schemas
