"""The kinds that a stock Kubernetes serves, as a real API server names them.

`kinds.json.gz` is written by `tests/controlplane/kinds_data.py`, never by hand.
"""

import gzip
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import orjson


class BuiltinKind(NamedTuple):
    """A kind in one version. `api_version` is `v1` or `group/version`, `schema` the name of its OpenAPI definition."""

    api_version: str
    kind: str
    plural: str
    short_names: tuple[str, ...]
    namespaced: bool
    schema: str


@cache
def document() -> dict[str, Any]:
    """`version` (as in `/version`), `served` (the names of all kinds of a real API server, by apiVersion) and `groups`,
    each with its `kinds`, in the server's order. Not to be changed."""
    packed = files(__package__).joinpath("kinds.json.gz").read_bytes()
    data: dict[str, Any] = orjson.loads(gzip.decompress(packed))
    return data


@cache
def names() -> dict[tuple[str, str], BuiltinKind]:
    """The kinds of `groups`, by group and kind."""
    return {
        (group["group"], kind["kind"]): BuiltinKind(
            f"{group['group']}/{group['version']}".lstrip("/"),
            kind["kind"],
            kind["plural"],
            tuple(kind["shortNames"]),
            kind["namespaced"],
            kind["schema"],
        )
        for group in document()["groups"]
        for kind in group["kinds"]
    }


def of_kind(api_version: str, kind: str) -> BuiltinKind | None:
    """The kind of a manifest's `apiVersion` and `kind`; None if `groups` does not have it in this version."""
    builtin = names().get((api_version.rpartition("/")[0], kind))
    return builtin if builtin and builtin.api_version == api_version else None
