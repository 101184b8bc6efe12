"""What holds for all objects of an instance together, their order, and their Application. Level: pure."""

import random

import pytest

from hookrunner.errors import BadManifest
from hookrunner.manifests.object_set import check_objects, fill_application, ordered, unselected_namespaces
from hookrunner.model.sourced_objects import SourcedObject, VersionlessId
from tests.manifests.conftest import sourced
from tests.tables import each

INSTANCE = VersionlessId("addons.x-k8s.io", "CoreDNS", "kube-system", "default")


@each(
    ("objects", "message"),
    [
        (
            [
                sourced("Ingress", "a", "n", "networking.k8s.io/v1"),
                sourced("Ingress", "a", "n", "networking.k8s.io/v1"),
            ],
            "Ingress n/a (a.yaml): the package has it twice, also in a.yaml",
        ),
        (
            [
                sourced("Ingress", "a", "n", "networking.k8s.io/v1beta1"),
                sourced("Ingress", "a", "n", "networking.k8s.io/v1"),
            ],
            "also in a.yaml as networking.k8s.io/v1beta1",
        ),
        (
            [SourcedObject("j.yaml", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "j-"}})],
            "j.yaml: Job has no metadata.name",
        ),
        ([sourced("CoreDNS", "default", "kube-system", "addons.x-k8s.io/v1alpha1")], "this is the instance itself"),
    ],
)
def test_objects_that_cannot_be_together_are_refused(objects: list[SourcedObject], message: str) -> None:
    with pytest.raises(BadManifest) as refused:
        check_objects(objects, INSTANCE)
    assert message in str(refused.value)


def test_objects_that_differ_in_group_namespace_or_kind_are_different() -> None:
    objects = [sourced("Ingress", "a", "n", "networking.k8s.io/v1"), sourced("Ingress", "a", "n", "example.com/v1")]
    check_objects([*objects, sourced("Ingress", "a", "m", "example.com/v1"), sourced("Secret", "a", "n")], INSTANCE)


def test_the_order_depends_on_kinds_and_names_alone() -> None:
    names = [("Thing", "a"), ("Another", "a"), ("Deployment", "b"), ("Deployment", "a"), ("Namespace", "n")]
    objects = [sourced(kind, name, data={"b": [{"d": 1, "c": 2}], "a": 1}) for kind, name in names]
    expected = [("Namespace", "n"), ("Deployment", "a"), ("Deployment", "b"), ("Another", "a"), ("Thing", "a")]
    for seed in range(5):
        shuffled = random.Random(seed).sample(objects, len(objects))
        assert [(source.kind, source.name) for source in ordered(shuffled)] == expected
    assert str(ordered(objects)[0].obj["data"]) == "{'a': 1, 'b': [{'c': 2, 'd': 1}]}"


APPLICATION = sourced(
    "Application",
    "dashboard",
    "kube-system",
    "app.k8s.io/v1beta1",
    spec={"descriptor": {"type": "x"}, "addOwnerRef": 1},
)
LABELS = {"addons.x-k8s.io/dashboard": "d"}


def test_an_application_selects_lists_kinds_once_and_has_the_version() -> None:
    objects = [sourced("Service", "a"), sourced("Service", "b"), sourced("DaemonSet", "c", "", "apps/v1"), APPLICATION]
    filled = fill_application(objects, LABELS, "2.7.0")
    assert filled[:3] == tuple(objects[:3])
    assert filled[3].obj["spec"] == {
        "addOwnerRef": 1,
        "selector": {"matchLabels": LABELS},
        "componentKinds": [
            {"group": "app.k8s.io", "kind": "Application"},
            {"group": "apps", "kind": "DaemonSet"},
            {"group": "", "kind": "Service"},
        ],
        "descriptor": {"type": "x", "version": "2.7.0"},
    }


def test_a_package_may_have_none_and_not_two() -> None:
    service = sourced("Service", "a")
    assert fill_application([service], LABELS, "1") == (service,)
    with pytest.raises(BadManifest, match=r"2 Applications: .*dashboard\.yaml"):
        fill_application([APPLICATION, APPLICATION], LABELS, "1")


def test_namespaces_that_it_cannot_show_are_named() -> None:
    objects = [sourced("Service", "a", "other"), sourced("Service", "b", "kube-system"), sourced("Namespace", "other")]
    assert unselected_namespaces([*objects, APPLICATION]) == ("other",)
    assert unselected_namespaces(objects) == ()
