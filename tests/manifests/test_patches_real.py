"""Built-in kinds whose OpenAPI documents hookrunner lacks: a real API server confirms what is assumed of them.

Level: control plane."""

import json
from collections.abc import Iterator

import pytest

from kubetypes.json_values import JSON
from kubetypes.openapi import builtin_kinds
from kubetypes.openapi.documents import kind_schema
from kubetypes.openapi.schemas import REFERENCE, Schema
from tests.controlplane.cluster import Cluster

WITHOUT_A_SPEC = ("authentication.k8s.io/v1", "authorization.k8s.io/v1")
"""Reviews are asked and never installed."""
_KEYS = ("x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key")


@pytest.mark.cluster
def test_no_list_merges_in_specs_of_kinds_without_a_document(cluster: Cluster) -> None:
    served = builtin_kinds.document()["served"].items()
    missing = [(version, kind) for version, kinds in served for kind in kinds if kind_schema(version, kind) is None]
    merging = {
        f"{version} {kind}: {path}"
        for version, kind in missing
        if version not in WITHOUT_A_SPEC
        for path in merging_lists(cluster, version, kind)
    }
    assert merging == set()


def merging_lists(cluster: Cluster, api_version: str, kind: str) -> Iterator[str]:
    """Fields that strategic merge patch treats otherwise than JSON merge patch."""
    schemas = json.loads(cluster.kubectl("get", "--raw", f"/openapi/v3/apis/{api_version}"))["components"]["schemas"]
    group, _, version = api_version.rpartition("/")
    wanted = {"group": group, "version": version, "kind": kind}
    name = next(name for name, raw in schemas.items() if wanted in raw.get("x-kubernetes-group-version-kind", ()))
    root = Schema({"$ref": REFERENCE + name}, schemas)
    for field, schema in root.properties.items():
        if field not in ("metadata", "status"):
            yield from _merging(schema, field)


def _merging(schema: Schema, path: str) -> Iterator[str]:
    raw: JSON = schema.raw
    if any(key in raw for key in _KEYS):
        yield path
    for name, inner in schema.properties.items():
        if name != "metadata":  # of templates; known by its own schema, and no list in it is of use there
            yield from _merging(inner, f"{path}.{name}")
    if schema.items:
        yield from _merging(schema.items, f"{path}[]")
