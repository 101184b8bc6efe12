"""Which objects are written before which, and which of their fields are ours. Level: pure."""

from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed, UnknownKind
from hookrunner.kube.discovery import Discovery
from hookrunner.model.resources import Resource
from hookrunner.releases.manifest_objects import KindResolver, ObjectId, ReleaseId, object_id, stages, to_applied
from tests.releases.objects.test_apply_refusals import DEPLOYMENT
from tests.tables import each

ZONE = Resource("a.io/v1", "Zone", "zones", namespaced=True, verbs=("get",))


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


def entry(operation: str = "Update", manager: str = "helm", version: str = "v1", **below: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "apiVersion": version, "fieldsV1": {"f:data": below}}


@each(
    ("entries", "expected"),
    [
        ([], None),
        ([entry("Apply", a={})], None),
        ([entry(manager="kubectl", a={})], None),
        ([entry(a={})], [entry("Apply", a={})]),
        ([entry(manager="x", a={}), entry(b={})], [entry("Apply", b={}), entry(manager="x", a={})]),
        ([entry("Apply", a={}), entry(b={})], [entry("Apply", a={}, b={})]),
        ([entry("Apply", a={}), entry(version="v0", b={})], [entry("Apply", a={})]),
        ([entry() | {"subresource": "status"}], None),
    ],
)
def test_created_fields_count_as_applied(entries: Any, expected: Any) -> None:
    assert to_applied(entries, None) == expected


def test_server_defaults_do_not_count_as_applied() -> None:
    container: dict[str, Any] = {".": {}, "f:name": {}, "f:image": {}, "f:resources": {}, "f:imagePullPolicy": {}}
    container["f:ports"] = {
        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}}
    }
    spec = {
        "f:replicas": {},
        "f:strategy": {"f:type": {}},
        "f:template": {"f:spec": {"f:containers": {'k:{"name":"a"}': container}}},
    }
    managed = {"f:metadata": {"f:finalizers": {'v:"x/y"': {}, 'v:"z"': {}}}, "f:spec": spec}
    applied = to_applied([entry() | {"fieldsV1": managed}], DEPLOYMENT)
    kept: dict[str, Any] = {".": {}, "f:name": {}, "f:image": {}}
    kept["f:ports"] = {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}}
    assert applied
    assert applied[0]["fieldsV1"] == {
        "f:metadata": {"f:finalizers": {'v:"x/y"': {}}},
        "f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"a"}': kept}}}},
    }


class Served(Discovery):
    """One kind."""

    def __init__(self) -> None: ...

    async def resolve(self, api_version: str, kind: str, exact: bool = False) -> Resource:
        if kind != ZONE.kind:
            raise UnknownKind(f"no {kind}")
        return ZONE


async def test_scopes_of_kinds_are_read_and_all_unknown_ones_named() -> None:
    kinds = KindResolver(Served())
    assert await kinds.read_scopes([("a.io/v1", "Zone")]) == {("a.io/v1", "Zone"): True}
    with pytest.raises(UnknownKind, match=r"^no Odd; no Strange$"):
        await kinds.read_scopes([("a.io/v1", kind) for kind in ("Odd", "Zone", "Strange")])
