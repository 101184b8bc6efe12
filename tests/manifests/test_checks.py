"""What holds for all objects of an instance together, and their order."""

import random

import pytest

from hookrunner.errors import BadManifest
from hookrunner.manifests.checks import check_objects, ordered
from hookrunner.manifests.sourced_object import SourcedObject, VersionlessId
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
    assert list(ordered(objects)[0].obj["data"]) == ["a", "b"]
