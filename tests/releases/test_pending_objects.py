"""Which objects are written, and which are tried out before. Level: pure."""

from typing import Any

from hookrunner.releases.manifest_applier import changed, without_dependent
from hookrunner.releases.manifest_objects import ReleaseId, object_id
from tests.releases.wants import configmap

RELEASE = ReleaseId("r", "default")
RBAC = "rbac.authorization.k8s.io"


def by_id(*objects: Any) -> Any:
    return {object_id(obj, RELEASE): obj for obj in objects}


def names(targets: Any) -> list[str]:
    return [f"{target.kind}/{target.name}" for target in targets]


def obj(kind: str, name: str, namespace: str = "", api_version: str = "v1", **more: Any) -> Any:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | more


def test_changed_objects_and_those_to_repair_are_written() -> None:
    a, b, c = configmap("a", x="1"), configmap("b", x="1"), configmap("c", x="1")
    desired = by_id(a, b, configmap("c", x="2"))
    assert names(changed(desired, by_id(a, b, c), by_id(b))) == ["ConfigMap/b", "ConfigMap/c"]


def test_true_is_not_one() -> None:
    assert names(changed(by_id(configmap("a") | {"data": 1}), by_id(configmap("a") | {"data": True}), ())) != []


SPACE, INSIDE = obj("Namespace", "ours"), obj("ConfigMap", "inside", "ours")
DEFINITION = obj("CustomResourceDefinition", "w", spec={"group": "x.io", "names": {"kind": "Widget"}})
WIDGET, GADGET = obj("Widget", "one", api_version="x.io/v1"), obj("Widget", "two", api_version="y.io/v1")
ROLE = obj("ClusterRole", "reader", api_version=f"{RBAC}/v1")
BINDING = obj(
    "ClusterRoleBinding", "reader", api_version=f"{RBAC}/v1", roleRef={"kind": "ClusterRole", "name": "reader"}
)
FOREIGN = obj("ClusterRoleBinding", "view", api_version=f"{RBAC}/v1", roleRef={"kind": "ClusterRole", "name": "view"})
ALL = [SPACE, INSIDE, DEFINITION, WIDGET, GADGET, ROLE, BINDING, FOREIGN]


def triable(last: Any, repair: Any = ()) -> list[str]:
    desired = by_id(*ALL)
    return names(without_dependent(desired, desired, by_id(*last), repair))


def test_objects_that_need_a_new_one_are_not_tried() -> None:
    independent = by_id(SPACE, DEFINITION, GADGET, ROLE, FOREIGN)
    assert triable([]) == names(independent)


def test_all_are_tried_once_what_they_need_exists() -> None:
    assert triable([SPACE, DEFINITION, ROLE]) == names(by_id(*ALL))


def test_object_to_repair_may_not_exist() -> None:
    """A first attempt has failed: its record names a namespace that was perhaps never created."""
    assert "ConfigMap/inside" not in triable(ALL, repair=by_id(SPACE))
