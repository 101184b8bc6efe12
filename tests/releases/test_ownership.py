"""Whose an object is."""

from typing import Any

import pytest

from hookrunner.model.resources import Resource
from hookrunner.releases import ownership
from hookrunner.releases.ordering import Identity

RELEASE = Identity("r", "ns")
DEPLOYMENT = Resource("apps/v1", "Deployment", "deployments", True)
ROLE = Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False)
OURS = {"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "ns"}


def test_everything_carries_the_marks_of_its_release_and_keeps_its_own() -> None:
    obj = {"kind": "Deployment", "metadata": {"name": "a", "labels": {"app": "a"}, "annotations": None}, "spec": {}}
    assert ownership.owned(obj, DEPLOYMENT, RELEASE) == {
        "kind": "Deployment",
        "spec": {},
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "labels": {"app": "a", "app.kubernetes.io/managed-by": "Helm"},
            "annotations": OURS,
        },
    }


def test_a_kind_without_namespaces_is_sent_without_one() -> None:
    sent = ownership.owned({"kind": "ClusterRole", "metadata": {"name": "a", "namespace": "b"}}, ROLE, RELEASE)
    assert "namespace" not in sent["metadata"]


def test_texts_of_a_secret_are_sent_as_they_are_kept() -> None:
    obj = {"kind": "Secret", "stringData": {"a": "é"}, "data": {"b": "Yg=="}}
    assert ownership.plain(obj) == {"kind": "Secret", "data": {"a": "w6k=", "b": "Yg=="}}


@pytest.mark.parametrize(
    ("annotations", "owner"),
    [
        (OURS, RELEASE),
        (None, None),
        ({"meta.helm.sh/release-namespace": "b"}, None),
        ({**OURS, "meta.helm.sh/release-namespace": "b"}, Identity("r", "b")),
        ({"meta.helm.sh/release-name": "r"}, Identity("r", "")),
    ],
)
def test_annotations_name_the_release_that_an_object_belongs_to(annotations: Any, owner: Identity | None) -> None:
    assert ownership.owner({"annotations": annotations}) == owner
