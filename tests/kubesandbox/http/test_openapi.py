"""OpenAPI v3: documents equal to a real API server's, and the stock kubectl's questions answered by them.

Level: control plane."""

from typing import Any

import orjson
import pytest

from kubesandbox.http import openapi
from kubesandbox.kinds import Kind, Kinds, Subresource, builtin
from tests.controlplane.kinds_data import GROUPS
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCALE = Subresource("scale", "autoscaling", "v1", "Scale", ("get", "patch", "update"))
SCALE_PATHS = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
EITHER = [{"type": "integer"}, {"type": "string"}]
RICH = {
    "type": "object",
    "description": 'A zebra "with" stripes',
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["colour"],
            "properties": {
                "colour": {
                    "type": "string",
                    "default": "black",
                    "maxLength": 7,
                    "example": "white",
                    "x-kubernetes-validations": [{"rule": "self != 'zz'", "message": "no"}],
                },
                "replicas": {"type": "integer", "format": "int32", "nullable": True, "minimum": 0},
                "port": {"x-kubernetes-int-or-string": True},
                "either": {"x-kubernetes-int-or-string": True, "anyOf": EITHER},
                "both": {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": EITHER}, {"pattern": "^[0-9]"}]},
                "odd": {"x-kubernetes-int-or-string": True, "anyOf": [{"minimum": 1}]},
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "map": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
                "open": {"type": "object", "additionalProperties": True},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                },
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                    "required": ["kind"],
                },
                "choice": {"type": "string", "enum": ["a", "b"], "nullable": False},
            },
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    },
}


def definition(group: str, kind: str, scope: str, **version: Any) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    versions = [{"name": "v1beta2", "served": True, "storage": True, **version}]
    return {"group": group, "scope": scope, "names": names, "versions": versions}


def served(spec: dict[str, Any]) -> Kind:
    names, (version,) = spec["names"], spec["versions"]
    below = {name: SCALE for name in version.get("subresources", {})}
    scope = spec["scope"] == "Namespaced"
    return Kind(
        spec["group"], version["name"], names["kind"], names["plural"], scope, subresources=below, definition=spec
    )


@pytest.fixture
def kinds() -> Kinds:
    return Kinds(builtin())


def published(oracle: Oracle, group: str, kinds: int) -> Any:
    """The real server's document, once it tells of all kinds."""

    def document() -> Any:
        real = oracle.ask("GET", f"/openapi/v3/apis/{group}/v1beta2")[1]
        schemas = real.get("components", {}).get("schemas", {}) if isinstance(real, dict) else {}
        return real if len([name for name in schemas if name.endswith("List")]) == kinds else None

    return oracle.until(document)


def test_documents_of_custom_kinds_are_those_of_the_real_server(oracle: Oracle, kinds: Kinds) -> None:
    group = f"{oracle.unique('openapi')}.a-b.example.com"
    both = {"status": {}, "scale": SCALE_PATHS}
    selectable = [{"jsonPath": ".spec.colour"}]
    specs = [
        definition(
            group,
            "Zebra",
            "Namespaced",
            schema={"openAPIV3Schema": RICH},
            subresources=both,
            selectableFields=selectable,
        ),
        definition(group, "Ant", "Cluster", schema={"openAPIV3Schema": {"type": "object"}}),
        definition(
            group, "Glasses", "Namespaced", schema={"openAPIV3Schema": {"type": "object"}}, subresources={"status": {}}
        ),
    ]
    for spec in specs:
        meta = {"name": f"{spec['names']['plural']}.{group}"}
        oracle.made(DEFINITIONS, {"apiVersion": "apiextensions.k8s.io/v1", "metadata": meta, "spec": spec})
        kinds.replace(group, spec["names"]["plural"], [served(spec)])
    real = published(oracle, group, len(specs))
    for spec in specs:
        oracle.remove(f"{DEFINITIONS}/{spec['names']['plural']}.{group}")
    ours = openapi.document(kinds, f"apis/{group}/v1beta2")
    assert ours is not None
    assert orjson.loads(ours.body()) == real


def test_documents_of_built_in_kinds_are_served_as_they_came(kinds: Kinds, oracle: Oracle) -> None:
    ours = openapi.document(kinds, "apis/apps/v1")
    assert ours is not None
    assert orjson.loads(ours.body()) == oracle.ask("GET", ours.url)[1]


def test_the_index_names_every_group_version_by_its_hash(kinds: Kinds, oracle: Oracle) -> None:
    told: Any = openapi.index(kinds)["paths"]
    paths = [f"apis/{group}/{version}" if group else "api/v1" for group, version in GROUPS.items()]
    assert told == oracle.read("/openapi/v3", lambda body: {path: body["paths"][path] for path in paths})


def test_the_hash_of_a_custom_group_changes_with_its_schema(kinds: Kinds) -> None:
    def digest(schema: dict[str, Any]) -> str:
        spec = definition("example.com", "Zebra", "Namespaced", schema={"openAPIV3Schema": schema})
        kinds.replace("example.com", "zebras", [served(spec)])
        found = openapi.document(kinds, "apis/example.com/v1beta2")
        assert found is not None
        return found.digest

    first, second, again = digest({"type": "object"}), digest(RICH), digest({"type": "object"})
    assert first != second
    assert first == again


def test_what_is_not_served_has_no_document(kinds: Kinds) -> None:
    assert openapi.document(kinds, "apis/apps/v2") is None
    kinds.replace("example.com", "zebras", [])
    assert "apis/example.com/v1beta2" not in str(openapi.index(kinds))


@each(
    ("group", "identifier"),
    [("kd1.example.com", "kd1ExampleCom"), ("a-b.c", "aBC"), ("3d.example.com", "dExampleCom"), ("x.1y", "x1y")],
)
def test_operations_are_named_after_the_group(group: str, identifier: str) -> None:
    spec = definition(group, "Zebra", "Namespaced", schema={"openAPIV3Schema": {"type": "object"}})
    kinds = Kinds([served(spec)])
    found = openapi.document(kinds, f"apis/{group}/v1beta2")
    assert found is not None
    assert f'"tags":["{identifier}_v1beta2"]'.encode() in found.body()


def test_version_2_describes_nothing() -> None:
    told = orjson.loads(openapi.empty_v2(protobuf=False))
    assert (told["swagger"], told["paths"]) == ("2.0", {})
    packed = openapi.empty_v2(protobuf=True)
    assert packed.startswith(b"\n\x032.0\x12")
    assert packed.endswith(b"B\x00")
