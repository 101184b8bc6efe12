"""Whose an object is."""

from contextlib import nullcontext
from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
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
    ("annotations", "allowed", "problem"),
    [
        (OURS, False, ""),
        (None, True, ""),
        (None, False, 'hookrunner.io/adopt: "true"'),
        ({**OURS, "meta.helm.sh/release-name": "other"}, True, "belongs to release ns/other"),
        ({**OURS, "meta.helm.sh/release-namespace": "b"}, True, "belongs to release b/r"),
    ],
)
def test_only_what_is_ours_or_allowed_to_be_taken_is_written(annotations: Any, allowed: bool, problem: str) -> None:
    with pytest.raises(ReleaseFailed, match=problem) if problem else nullcontext():
        ownership.check({"annotations": annotations}, RELEASE, allowed)
