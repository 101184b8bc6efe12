"""What is written before what."""

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.releases.manifest_objects import ObjectId, ReleaseId, object_id, stages
from tests.tables import each

RELEASE = ReleaseId("r", "ns")


def ids(*kinds: str) -> list[ObjectId]:
    return [ObjectId("v1", kind, "ns", "x") for kind in kinds]


@each(
    ("earlier", "later"),
    [
        ("Namespace", "ConfigMap"),
        ("ConfigMap", "Deployment"),
        ("ServiceAccount", "Pod"),
        ("ClusterRole", "ClusterRoleBinding"),
        ("Role", "RoleBinding"),
        ("RoleBinding", "Job"),
        ("Service", "StatefulSet"),
        ("CustomResourceDefinition", "Certificate"),
        ("Deployment", "Certificate"),
        ("Certificate", "ValidatingWebhookConfiguration"),
        ("Deployment", "APIService"),
    ],
)
def test_dependencies_are_written_first(earlier: str, later: str) -> None:
    assert stages(ids(later, earlier)) == [ids(earlier), ids(later)]


def test_independent_objects_are_written_at_once() -> None:
    assert stages(ids("ConfigMap", "Secret", "ServiceAccount")) == [ids("ConfigMap", "Secret", "ServiceAccount")]


def test_an_object_without_namespace_is_in_that_of_its_release() -> None:
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    assert object_id(obj, RELEASE) == ObjectId("apps/v1", "Deployment", "ns", "a")
    assert object_id({**obj, "metadata": {"name": "a", "namespace": "b"}}, RELEASE).namespace == "b"


def test_another_version_of_the_same_api_is_the_same_object() -> None:
    old, new = (ObjectId(f"autoscaling/{v}", "HorizontalPodAutoscaler", "ns", "a") for v in ("v2beta2", "v2"))
    assert old != new
    assert old.lasting == new.lasting


def test_an_object_without_a_name_is_refused() -> None:
    with pytest.raises(ReleaseFailed, match=r"a Job has no metadata\.name"):
        object_id({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "a-"}}, RELEASE)
