"""Generated definitions, as documents; `test_definitions_applied.py` has the answers of API servers to them.

Level: pure."""

import pytest

from hookrunner.addons.addon_crd import make_definition, read_definitions, read_spec_schema
from hookrunner.addons.files.addon_file import read_addon
from hookrunner.addons.instance_fields import SHAPES
from hookrunner.errors import BadAddon
from tests.addons.conftest import MakeTree, addon
from tests.tables import each

OWN = {"type": "object", "properties": {"dnsDomain": {"type": "string", "default": "cluster.local"}}}


def test_definition_has_own_and_common_fields() -> None:
    crd = make_definition(addon(description="Names"), OWN)
    assert crd["metadata"] == {"name": "coredns.addons.x-k8s.io"}
    (version,) = crd["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    properties = schema["properties"]["spec"]["properties"]
    assert properties.keys() == {*SHAPES, "dnsDomain"}
    assert (schema["description"], "required" in schema) == ("Names", False)
    assert {"healthy", "errors", "phase", "observedGeneration"} < schema["properties"]["status"]["properties"].keys()
    assert version["subresources"] == {"status": {}}
    assert crd["spec"]["names"] == {
        "kind": "CoreDNS",
        "listKind": "CoreDNSList",
        "plural": "coredns",
        "singular": "coredns",
        "categories": ["cluster-addons"],
    }


def test_descriptions_name_the_addons_defaults() -> None:
    crd = make_definition(addon(channel="next", timeout="5m", adopt=True), OWN)
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert [spec[name]["description"].rpartition("Default: ")[2] for name in ("channel", "timeout", "adopt")] == [
        "next.",
        "300s.",
        "true.",
    ]


@each(
    ("group", "annotated"),
    [("addons.x-k8s.io", False), ("addons.k8s.io", True), ("a.kubernetes.io", True), ("example.com", False)],
)
def test_a_group_of_kubernetes_needs_an_annotation(group: str, annotated: bool) -> None:
    crd = make_definition(addon(of={"group": group}), OWN)
    assert ("annotations" in crd["metadata"]) == annotated


def test_required_own_fields_require_a_spec() -> None:
    crd = make_definition(addon(), OWN | {"required": ["dnsDomain"]})
    assert crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["required"] == ["spec"]


@pytest.mark.parametrize(
    ("schema", "part"),
    [
        ("", "must hold one schema"),
        ("a", "must hold one schema"),
        ("{}\n---\n{}", "must hold one schema"),
        ("properties: {}", "/type must be object"),
        ("{type: object, additionalProperties: true}", "/additionalProperties cannot be used here; write `properties`"),
        ("{type: object, properties: [a]}", "/properties must be a schema for each field"),
        ("{type: object, properties: {channel: {}}}", "/properties/channel is a field that every addon has"),
        ("{type: object, properties: {addon: {}}}", "/properties/addon is what hookrunner says about the instance"),
    ],
)
def test_a_schema_that_cannot_be_a_spec_is_refused(tree: MakeTree, schema: str, part: str) -> None:
    root = tree({"a/addon.yaml": "object: {kind: A}", "a/openapi/spec.yaml": schema})
    with pytest.raises(BadAddon) as refused:
        read_spec_schema(read_addon(root / "a", root))
    assert f"{root}/a/openapi/spec.yaml: " in str(refused.value)
    assert part in str(refused.value)


BOMB = (
    "a: &a ["
    + "x, " * 99
    + "]\n"
    + "".join(f"b{n}: &b{n} [" + f"*{'a' if n == 0 else f'b{n - 1}'}, " * 99 + "]\n" for n in range(6))
)


@pytest.mark.parametrize(
    ("path", "schema", "part"),
    [("openapi/spec.yaml/file", "", "cannot be read: Is a directory"), ("openapi/spec.yaml", BOMB, "aliases")],
)
def test_a_schema_that_cannot_be_read_is_refused(tree: MakeTree, path: str, schema: str, part: str) -> None:
    root = tree({"a/addon.yaml": "object: {kind: A}", f"a/{path}": schema})
    with pytest.raises(BadAddon, match=part):
        read_spec_schema(read_addon(root / "a", root))


def test_definitions_of_files_and_of_others(tree: MakeTree) -> None:
    crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.addons.x-k8s.io}}"
    root = tree(
        {
            "a/addon.yaml": "object: {kind: A, crd: file}",
            "a/crds/a.yaml": f"{crd}\n---\n{crd.replace('as.', 'bs.')}",
            "b/addon.yaml": "object: {kind: B, crd: external}",
            "c/addon.yaml": "object: {kind: C}",
        }
    )
    names = {
        name: [crd["metadata"]["name"] for crd in read_definitions(read_addon(root / name, root))] for name in "abc"
    }
    assert names == {"a": ["as.addons.x-k8s.io", "bs.addons.x-k8s.io"], "b": [], "c": ["cs.addons.x-k8s.io"]}
