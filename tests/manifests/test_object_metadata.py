"""Namespaces are filled in where the kind has some and the object names none; labels go on all objects. Level: pure."""

from hookrunner.manifests.object_metadata import (
    LONGEST_VALUE,
    builtin_scope,
    fill_namespaces,
    label_value,
    scopes_of,
    set_labels,
    unplaced_kinds,
)
from tests.manifests.conftest import sourced
from tests.tables import each


def kind_spec(kind: str, scope: str) -> dict[str, object]:
    return {"group": "example.com", "scope": scope, "names": {"kind": kind}}


def test_objects_get_the_namespace_that_they_lack() -> None:
    objects = [sourced("ConfigMap", "a"), sourced("ConfigMap", "b", "own"), sourced("ClusterRole", "c")]
    objects[2] = sourced("ClusterRole", "c", api_version="rbac.authorization.k8s.io/v1")
    assert [source.namespace for source in fill_namespaces(objects, "ns", builtin_scope)] == ["ns", "own", ""]
    assert objects[0].namespace == ""


def test_definitions_of_the_package_count_before_the_cluster() -> None:
    objects = [
        sourced("CustomResourceDefinition", name, api_version="apiextensions.k8s.io/v1", spec=spec)
        for name, spec in (
            ("inner", kind_spec("Inner", "Namespaced")),
            ("outer", kind_spec("Outer", "Cluster")),
            ("broken", {"names": []}),
        )
    ]
    objects += [
        sourced(kind, kind.lower(), api_version="example.com/v1") for kind in ("Inner", "Outer", "Asked", "Odd")
    ]
    asked = {("example.com/v1", "Asked"): True, ("example.com/v1", "Outer"): True}
    filled = fill_namespaces(objects, "ns", scopes_of(objects, asked))
    assert [source.namespace for source in filled[3:]] == ["ns", "", "ns", ""]


def test_cluster_is_asked_for_kinds_that_are_neither_defined_nor_built_in() -> None:
    things = [sourced("Thing", name, api_version="example.com/v1") for name in ("a", "b")]
    placed = sourced("Other", "c", "own", api_version="example.com/v1")
    assert unplaced_kinds([*things, placed, sourced("ConfigMap", "d")], builtin_scope) == (("example.com/v1", "Thing"),)


@each(
    ("api_version", "kind", "scope"),
    [("apps/v1", "Deployment", True), ("v1", "Node", False), ("policy/v1beta1", "PodDisruptionBudget", True)],
)
def test_scopes_of_built_in_kinds_are_known_offline(api_version: str, kind: str, scope: bool) -> None:
    assert builtin_scope(api_version, kind) is scope
    assert builtin_scope("example.com/v1", kind) is None


def test_labels_replace_those_of_the_same_name_and_only_at_the_top() -> None:
    template = {"template": {"metadata": {"labels": {"k8s-app": "scraper"}}}}
    labels = {"labels": {"k8s-app": "scraper", "own": "x"}}
    deployment = sourced("Deployment", "a", api_version="apps/v1", metadata=labels, spec=template)
    bare = sourced("Service", "b", metadata={"labels": None})
    first, second = set_labels([deployment, bare], {"k8s-app": "dashboard"})
    assert first.obj["metadata"]["labels"] == {"k8s-app": "dashboard", "own": "x"}
    assert first.obj["spec"] == template
    assert second.obj["metadata"]["labels"] == {"k8s-app": "dashboard"}


def test_long_names_become_values_that_differ() -> None:
    long = ["x" * 51 + "." + end * 60 for end in "ab"]
    values = [label_value(name) for name in ("default", *long)]
    assert values[0] == "default"
    assert len(set(values)) == 3
    assert all(len(value) <= LONGEST_VALUE and ".." not in value for value in values)
