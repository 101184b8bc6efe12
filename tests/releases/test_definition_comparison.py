"""What differs between a definition in a file and in the cluster. Level: pure."""

from typing import Any

from hookrunner.releases.definition_comparison import merged
from kubetypes.json_values import JSON
from tests.fakes.objects import definition
from tests.tables import each


def cluster_wide(*, schema: JSON = None, labels: JSON = None, **spec: JSON) -> Any:
    found = definition("x.io", "A", "v1", schema=schema or {"type": "object"}, scope="Cluster", **spec)
    return found | {"metadata": found["metadata"] | {"labels": labels}}


def served(crd: Any) -> Any:
    """As the API server keeps it."""
    names = crd["spec"]["names"] | {"singular": "a", "listKind": "AList"}
    kept = {"conversion": {"strategy": "None"}} | crd["spec"] | {"names": names}
    return crd | {"metadata": crd["metadata"] | {"resourceVersion": "1"}, "spec": kept, "status": {"conditions": []}}


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "default": 0}}}
HOOK = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"service": {"name": "a"}}, "conversionReviewVersions": ["v1"]},
}


@each(
    "wanted",
    [
        cluster_wide(schema=SCHEMA),
        cluster_wide(schema=SCHEMA | {"description": "", "nullable": False, "required": [], "definitions": {}}),
        cluster_wide(
            schema=SCHEMA | {"x-unknown": 1, "properties": {"a": SCHEMA["properties"]["a"] | {"helm-only": True}}}
        ),
        cluster_wide(schema=SCHEMA, preserveUnknownFields=False),
    ],
    ids=["same", "empty", "unknown", "flag"],
)
def test_server_defaults_and_omissions_are_no_difference(wanted: Any) -> None:
    assert merged(served(cluster_wide(schema=SCHEMA)), wanted) is None


@each(
    "schema",
    [
        {"type": "object"},
        SCHEMA | {"properties": {"a": {"type": "integer", "minimum": 0}}},
        SCHEMA | {"properties": {"a": {"type": "integer", "default": 0}}},
        SCHEMA | {"properties": {"a": SCHEMA["properties"]["a"] | {"description": "new"}}},
        SCHEMA | {"required": ["a"]},
        SCHEMA | {"allOf": [{"required": ["a"]}]},
    ],
)
def test_another_schema_is_a_difference(schema: Any) -> None:
    update = merged(served(cluster_wide(schema=SCHEMA)), cluster_wide(schema=schema))
    assert update
    assert update["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


def test_labels_are_added_to_present_ones() -> None:
    update = merged(served(cluster_wide(labels={"theirs": "1"})), cluster_wide(labels={"ours": "2"}))
    assert update
    assert update["metadata"]["labels"] == {"theirs": "1", "ours": "2"}
    assert merged(served(cluster_wide(labels={"theirs": "1", "ours": "2"})), cluster_wide(labels={"ours": "2"})) is None


def test_a_conversion_that_is_set_in_the_cluster_stays() -> None:
    existing = served(cluster_wide(conversion=HOOK))
    assert merged(existing, cluster_wide()) is None
    update = merged(existing, cluster_wide(labels={"a": "b"}, conversion={"strategy": "None"}))
    assert update
    assert update["spec"]["conversion"] == HOOK


def test_conversion_of_the_file_is_set_if_the_cluster_has_none() -> None:
    update = merged(served(cluster_wide()), cluster_wide(conversion=HOOK))
    assert update
    assert update["spec"]["conversion"] == HOOK
