"""What differs between a definition in a file and in the cluster."""

from typing import Any

from hookrunner.releases.definition_comparison import merged
from tests.tables import each


def definition(*, versions: Any = None, schema: Any = None, labels: Any = None, **spec: Any) -> Any:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema or {"type": "object"}},
    }
    whole = {
        "group": "x.io",
        "scope": "Cluster",
        "names": {"kind": "A", "plural": "as"},
        "versions": versions or [version],
    }
    return {"metadata": {"name": "as.x.io", "labels": labels}, "spec": whole | spec}


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
        definition(schema=SCHEMA),
        definition(schema=SCHEMA | {"description": "", "nullable": False, "required": [], "definitions": {}}),
        definition(
            schema=SCHEMA | {"x-unknown": 1, "properties": {"a": SCHEMA["properties"]["a"] | {"helm-only": True}}}
        ),
        definition(schema=SCHEMA, preserveUnknownFields=False),
    ],
    ids=["same", "empty", "unknown", "flag"],
)
def test_server_defaults_and_omissions_are_no_difference(wanted: Any) -> None:
    assert merged(served(definition(schema=SCHEMA)), wanted) is None


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
    update = merged(served(definition(schema=SCHEMA)), definition(schema=schema))
    assert update
    assert update["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


def test_labels_are_added_to_present_ones() -> None:
    update = merged(served(definition(labels={"theirs": "1"})), definition(labels={"ours": "2"}))
    assert update
    assert update["metadata"]["labels"] == {"theirs": "1", "ours": "2"}
    assert merged(served(definition(labels={"theirs": "1", "ours": "2"})), definition(labels={"ours": "2"})) is None


def test_a_conversion_that_is_set_in_the_cluster_stays() -> None:
    existing = served(definition(conversion=HOOK))
    assert merged(existing, definition()) is None
    update = merged(existing, definition(labels={"a": "b"}, conversion={"strategy": "None"}))
    assert update
    assert update["spec"]["conversion"] == HOOK


def test_conversion_of_the_file_is_set_if_the_cluster_has_none() -> None:
    update = merged(served(definition()), definition(conversion=HOOK))
    assert update
    assert update["spec"]["conversion"] == HOOK
