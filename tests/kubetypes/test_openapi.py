"""Built-in kinds without a cluster: names, scopes and schemas. Level: pure."""

from kubetypes.openapi import builtin_kinds
from kubetypes.openapi.documents import kind_schema


def test_a_kind_is_found_by_the_api_version_that_is_served() -> None:
    kinds = [builtin_kinds.of_kind(version, "Deployment") for version in ("apps/v1", "apps/v1beta1", "v1")]
    assert [kind and (kind.plural, kind.namespaced) for kind in kinds] == [("deployments", True), None, None]
    node = builtin_kinds.of_kind("v1", "Node")
    assert node
    assert not node.namespaced


def test_a_schema_says_by_which_key_lists_merge() -> None:
    schema = kind_schema("v1", "Service")
    assert schema
    assert schema.properties["spec"].properties["ports"].patch_merge_key == "port"
    assert kind_schema("example.com/v1", "Thing") is None


def test_every_built_in_kind_has_a_schema_to_merge_by() -> None:
    assert [kind for kind in builtin_kinds.names().values() if kind_schema(kind.api_version, kind.kind) is None] == []
