"""What a real API server says of the built-in kinds: written by `tests/controlplane/kinds_data.py`, never by hand.

`kinds.json` is read at the start; an OpenAPI document only when somebody asks for it, since all of them are 5 MB.
"""

import gzip
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any

import orjson


def kinds() -> dict[str, Any]:
    """`version` (as in `/version`) and `groups`, each with its `kinds`, in the API server's order."""
    data: dict[str, Any] = orjson.loads(files(__name__).joinpath("kinds.json").read_bytes())
    return data


def openapi(group: str, version: str) -> bytes:
    """The OpenAPI v3 document of a built-in group version, as JSON in gzip. `FileNotFoundError` if there is none."""
    return files(__name__).joinpath(f"{group or 'core'}_{version}.json.gz").read_bytes()


class Definitions(Mapping[str, dict[str, Any]]):
    """`components.schemas` of a built-in group version, read when the first one is looked up."""

    def __init__(self, group: str, version: str) -> None:
        self._of = (group, version)

    def __getitem__(self, name: str) -> dict[str, Any]:
        return self._schemas[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    @cached_property
    def _schemas(self) -> dict[str, dict[str, Any]]:
        document = orjson.loads(gzip.decompress(openapi(*self._of)))
        schemas: dict[str, dict[str, Any]] = document["components"]["schemas"]
        return schemas
