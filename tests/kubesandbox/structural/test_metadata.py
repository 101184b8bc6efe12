"""The metadata of custom objects, read into the fields that there are as a real API server reads it.

Level: control plane."""

from typing import Any

import pytest

from kubesandbox.status import Refused
from kubesandbox.structural import prune
from kubetypes.openapi.schemas import Schema
from tests.kubesandbox.oracle import Oracle
from tests.kubesandbox.structural.widgets import Raw, Widgets, widgets
from tests.tables import each

METADATA: list[Any] = [
    *(
        {"labels": {"a": 1}},
        {"labels": [1]},
        {"labels": "x"},
        {"labels": {"a": None}},
        {"labels": None},
        {"labels": {}},
    ),
    *(
        {"generation": "x"},
        {"generation": 1.5},
        {"name": 5},
        {"finalizers": "a"},
        {"finalizers": [1]},
        {"finalizers": []},
    ),
    *({"ownerReferences": [{"foo": 1}]}, {"ownerReferences": [{"name": 1}]}, {"ownerReferences": {}}),
    *({"ownerReferences": [5]}, {"creationTimestamp": 5}, {"creationTimestamp": "nope"}, {"creationTimestamp": None}),
    *({"annotations": {"a": True}}, {"annotations": {"a": {}}}, {"namespace": ""}, {"foo": {"bar": 1}}),
    *({"managedFields": [{"manager": 5}]}, {"deletionGracePeriodSeconds": "x"}, "x", 5, []),
]
KEPT = ("name", "labels", "annotations", "finalizers")


@pytest.fixture(scope="module")
def served(oracle: Oracle) -> Any:
    """Widgets whose schema says nothing."""
    with widgets(oracle, {"type": "object"}) as served:
        yield served


def _ours(obj: Raw) -> Any:
    try:
        kept, unknown = prune.pruned(obj, Schema({"type": "object"}))
    except Refused as refused:
        return refused.code, refused.message
    return {key: kept["metadata"][key] for key in KEPT if key in kept["metadata"]}, unknown


def _theirs(oracle: Oracle, served: Widgets, obj: Raw) -> Any:
    code, answer = oracle.ask("POST", served.path, obj, dryRun="All", fieldValidation="Strict")
    if code == 400 and "unknown field" in answer["message"]:
        unknown = answer["message"].partition("strict decoding error: ")[2]
        code, answer = oracle.ask("POST", served.path, obj, dryRun="All", fieldValidation="Ignore")
    else:
        unknown = ""
    if code == 400:
        return code, answer["message"]
    paths = [one.removeprefix('unknown field "').removesuffix('"') for one in unknown.split(", ") if one]
    if code == 422:
        # Well formed, though not right, which is not asked here.
        return {"name": "a"}, paths
    return {key: answer["metadata"][key] for key in KEPT if key in answer["metadata"]}, paths


@each("metadata", METADATA, ids=str)
def test_metadata_is_read_as_by_the_api_server(oracle: Oracle, served: Widgets, metadata: Any) -> None:
    whole = {"name": "a"} | metadata if isinstance(metadata, dict) else metadata
    obj = served.named({"metadata": whole})
    assert _ours(obj) == _theirs(oracle, served, obj)
