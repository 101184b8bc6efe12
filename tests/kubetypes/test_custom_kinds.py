"""Fields that a custom kind does not have, by the definition that lies beside its objects. Level: pure."""

from copy import deepcopy
from typing import Any

from kubetypes.openapi.custom_kinds import custom_kinds
from kubetypes.openapi.unknown_fields import unknown_fields
from tests.tables import each

FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "ports": {"type": "array", "items": {"type": "object", "properties": {"number": {"type": "integer"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": FREE,
        "half": {**FREE, "properties": {"inner": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "empty": {"type": "object"},
        "template": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": FREE}},
    },
}


def widget_crd(spec: Any = SPEC, **fields: Any) -> dict[str, Any]:
    versions = [
        {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}},
        {"name": "v2"},
    ]
    names = {"kind": "Widget", "plural": "widgets"}
    return {
        "kind": "CustomResourceDefinition",
        "spec": {"group": "x.io", "names": names, "versions": versions, **fields},
    }


def unknown_of(spec: Any, *definitions: Any, **metadata: Any) -> dict[str, tuple[str, ...]]:
    obj = {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "a", **metadata}, "spec": spec}
    return {
        unknown.path: unknown.known for unknown in unknown_fields(obj, custom_kinds(definitions or (widget_crd(),)))
    }


def test_unknown_fields_of_a_custom_kind_are_named_with_those_that_exist() -> None:
    found = unknown_of({"repicas": 1, "ports": [{"number": 1}, {"nmber": 2}]}, anotations={})
    assert [*found] == [".metadata.anotations", ".spec.repicas", ".spec.ports[1].nmber"]
    assert "annotations" in found[".metadata.anotations"]
    assert "replicas" in found[".spec.repicas"]
    assert found[".spec.ports[1].nmber"] == ("number",)


def test_keys_of_maps_and_of_what_is_kept_are_never_unknown() -> None:
    known = {"replicas": 1, "labels": {"a.b": "c"}, "free": {"any": {"deep": 1}}, "half": {"other": 1}}
    assert unknown_of(known) == {}
    assert [*unknown_of({"half": {"inner": {"b": ""}}})] == [".spec.half.inner.b"]


def test_of_an_object_without_fields_nothing_is_kept() -> None:
    assert unknown_of({"empty": {"any": 1}}) == {".spec.empty.any": ()}


def test_whole_objects_inside_have_the_fields_of_every_object() -> None:
    template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}, "lables": {}}, "specs": {}}
    assert [*unknown_of({"template": template})] == [".spec.template.metadata.lables", ".spec.template.specs"]


def test_versions_without_a_schema_and_kinds_that_keep_all_fields_are_not_known() -> None:
    assert [*custom_kinds([widget_crd()])] == [("x.io/v1", "Widget")]
    assert unknown_of({"repicas": 1}, widget_crd(preserveUnknownFields=True)) == {}


@each(
    "spec",
    [
        5,
        {"properties": []},
        {"properties": {"a": 1}},
        {"items": [{}]},
        {"allOf": 5},
        {"allOf": [{"$ref": "#/x"}]},
        {"$ref": "#/components/schemas/x"},
        {"additionalProperties": "yes"},
        {"additionalProperties": {"properties": 1}},
    ],
)
def test_definition_that_the_api_server_refuses_says_nothing(spec: Any) -> None:
    assert unknown_of({"a": {"b": [1]}}, widget_crd(spec)) == {}


def test_documents_of_any_shape_are_passed_over() -> None:
    broken = deepcopy(widget_crd())
    broken["spec"]["versions"] = 5
    assert custom_kinds([None, [], "x", {}, {"kind": "CustomResourceDefinition", "spec": 1}, broken]) == {}
