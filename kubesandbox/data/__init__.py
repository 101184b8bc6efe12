"""What a real API server says of the built-in kinds: written by `tests/controlplane/kinds_data.py`, never by hand.

An OpenAPI document is read only when a client asks for it, since all of them are 5 MB. The names of kinds, which
hookrunner uses too, are in `kubetypes/builtin_kinds.py`.
"""

import gzip
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import orjson


def openapi(group: str, version: str) -> bytes:
    """The OpenAPI v3 document of a built-in group version as JSON. Raises `FileNotFoundError` without one."""
    return _unpacked(f"{group or 'core'}_{version}.json.gz")


@cache
def custom_openapi(*, namespaced: bool) -> str:
    """The document of a custom kind with every subresource; names stand in it as `@tokens@`."""
    return _unpacked(f"custom_{'namespaced' if namespaced else 'cluster'}.json.gz").decode()


def _unpacked(name: str) -> bytes:
    return gzip.decompress(files(__name__).joinpath(name).read_bytes())


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


@cache
def _schemas(group: str, version: str) -> dict[str, dict[str, Any]]:
    schemas: dict[str, dict[str, Any]] = orjson.loads(openapi(group, version))["components"]["schemas"]
    return schemas
