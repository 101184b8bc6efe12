"""Fields that a built-in kind does not have. Level: pure."""

from typing import Any

from kubetypes.openapi.documents import kind_schema
from kubetypes.openapi.schemas import Schema
from kubetypes.openapi.unknown_fields import fields_beside, unknown_fields
from tests.tables import each

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a", "labels": {"any.thing": "x"}, "anotations": {}},
    "spec": {"repicas": 1, "template": {"spec": {"containers": [{"name": "a"}, {"resource": {}}]}}},
}


def test_each_field_that_the_kind_does_not_have_is_named_with_those_that_exist() -> None:
    found = {unknown.path: unknown for unknown in unknown_fields(DEPLOYMENT)}
    assert [*found] == [".metadata.anotations", ".spec.repicas", ".spec.template.spec.containers[1].resource"]
    assert "replicas" in found[".spec.repicas"].known


@each("obj", [{}, {"apiVersion": "x.io/v1", "kind": "Deployment", "spec": {"a": 1}}])
def test_nothing_is_known_of_other_kinds(obj: dict[str, object]) -> None:
    assert [*unknown_fields(obj)] == []


def test_keys_of_maps_are_never_unknown() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"annotations": {"a": "b"}}, "data": {"a.b": "c"}}
    assert [*unknown_fields(obj)] == []


@each(
    ("path", "known"),
    [
        (".spec.repicas", "replicas"),
        ('.spec.template.spec.containers[name="a.b"].resource', "resources"),
        (".spec.template.spec.containers[0].resource", "resources"),
        (".specs", "spec"),
    ],
)
def test_fields_beside_an_unknown_one(path: str, known: str) -> None:
    assert known in fields_beside(kind_schema("apps/v1", "Deployment"), path)
    assert fields_beside(kind_schema("x.io/v1", "Deployment"), path) == ()


@each("raw", [{"properties": []}, {"properties": {"a": 1}}, {"$ref": "x"}, {"properties": {"a": {"items": 5}}}])
def test_nothing_is_known_beside_a_field_of_a_malformed_schema(raw: Any) -> None:
    assert fields_beside(Schema(raw), ".a[0].b") == ()
