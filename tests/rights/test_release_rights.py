"""The rights for the objects of releases. Level: pure."""

from dataclasses import replace
from typing import Any

from hookrunner.model.rights import AccessRequest, Reason, Right, merge
from hookrunner.rights.kind_names import KindNames
from hookrunner.rights.release_rights import DELAYED, Release, health_rights, release_rights, watched_rights
from kubetypes.json_values import JSON
from tests.tables import each

WEB = Release("module web", "web")
RBAC = "rbac.authorization.k8s.io"


def obj(kind: str, name: str, version: str = "v1", namespace: str = "", **more: Any) -> JSON:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name} | place, **more}


def role(kind: str, name: str, **more: Any) -> JSON:
    return obj(kind, name, f"{RBAC}/v1", **more)


def needed(*objects: JSON, helm_hooks: tuple[JSON, ...] = ()) -> list[Right]:
    return list(release_rights(objects, WEB, KindNames(), helm_hooks))


def allowed(rights: list[Right], *requests: AccessRequest) -> list[bool]:
    return [any(right.covers(request) for right in rights) for request in requests]


def test_what_an_account_writes_is_only_watched_by_hookrunner() -> None:
    granted = role("Role", "front", rules=[{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}])
    front = obj("Deployment", "front", "apps/v1")
    rights = [*needed(front, granted), *health_rights([front], WEB)]
    assert {(right.resources, right.verbs) for right in watched_rights(rights)} == {
        (("deployments",), ("list", "watch")),
        (("roles",), ("list", "watch")),
        (("pods",), ("list",)),
        (("replicasets",), ("list",)),
    }


def test_an_object_is_written_by_its_name_in_its_namespace() -> None:
    rights = needed(obj("Deployment", "front", "apps/v1"))
    assert [(right.verbs, right.names, right.namespace) for right in merge(rights)] == [
        (("get", "patch", "delete"), ("front",), "web"),
        (("create",), (), "web"),
        (("list", "watch"), (), ""),
    ]
    assert {right.needs[0] for right in rights} == {
        Reason("module web", "objects of its release"),
        Reason("module web", "drift of its objects"),
    }


def test_an_object_names_its_own_namespace_or_has_none() -> None:
    rights = needed(obj("Secret", "a", namespace="other"), obj("Node", "b"))
    assert [right.namespace for right in rights] == ["other", "other", "", "", "", ""]


def test_nothing_is_limited_to_a_namespace_that_the_release_creates() -> None:
    rights = needed(obj("Namespace", "fresh"), obj("Secret", "a", namespace="fresh"))
    assert {right.namespace for right in rights} == {""}


def test_a_kind_that_the_release_defines_is_known() -> None:
    spec = {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"kind": "Mouse", "plural": "mice"},
        "versions": [{"name": "v1", "served": True}],
    }
    definition = obj("CustomResourceDefinition", "mice.example.com", "apiextensions.k8s.io/v1", spec=spec)
    assert needed(definition, obj("Mouse", "a", "example.com/v1"))[-1].resources == ("mice",)


def test_the_end_of_a_helm_hook_is_awaited_by_its_name() -> None:
    rights = merge(needed(helm_hooks=(obj("Job", "once", "batch/v1"),)))
    assert [(right.verbs, right.names) for right in rights] == [
        (("list", "watch", "patch", "delete"), ("once",)),
        (("create",), ()),
    ]


def test_a_helm_hook_whose_name_is_unknown_is_awaited_too() -> None:
    (right,) = merge(needed(helm_hooks=(obj("Job", "*", "batch/v1"),)))
    assert (right.verbs, right.names) == (("list", "watch", "create", "patch", "delete"), ())


def test_only_jobs_and_pods_among_helm_hooks_end_by_themselves() -> None:
    rights = needed(helm_hooks=(obj("Event", "kept"), obj("Pod", "check")))
    awaited = {right.resources[0]: right.needs[0].why for right in rights if "watch" in right.verbs}
    assert awaited == {"events": DELAYED, "pods": "the end of Helm hooks"}


def test_a_definition_among_helm_hooks_is_never_deleted() -> None:
    rights = merge(needed(helm_hooks=(obj("CustomResourceDefinition", "a", "apiextensions.k8s.io/v1"),)))
    assert [right.verbs for right in rights] == [("patch",), ("create",)]


def test_what_stays_is_not_deleted_unless_it_may_be_recreated() -> None:
    def annotated(name: str, **annotations: str) -> JSON:
        found = obj("ConfigMap", name)
        return found | {"metadata": found["metadata"] | {"annotations": annotations}}

    keep = {"helm.sh/resource-policy": "keep"}
    rights = needed(annotated("stays", **keep), annotated("renewed", **keep, **{"hookrunner.io/recreate": "true"}))
    deleted = [right.names for right in rights if "delete" in right.verbs]
    assert deleted == [("renewed",)]


def test_kinds_that_are_kept_are_not_deleted() -> None:
    release = replace(WEB, kept_kinds=frozenset({("", "PersistentVolumeClaim")}))
    rights = release_rights([obj("PersistentVolumeClaim", "data"), obj("Secret", "a")], release, KindNames())
    assert [right.names for right in rights if "delete" in right.verbs] == [("a",)]


def test_a_role_needs_its_own_rules_where_they_count() -> None:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    rights = needed(role("ClusterRole", "all", rules=rules), role("Role", "some", rules=rules))
    granted = [right for right in rights if right.resources == ("pods",)]
    assert [(right.namespace, right.verbs) for right in granted] == [("", ("get",)), ("web", ("get",))]
    assert "escalate" not in {verb for right in rights for verb in right.verbs}


@each(
    ("binding", "bound"),
    [
        (role("ClusterRoleBinding", "b", roleRef={"kind": "ClusterRole", "name": "admin"}), ("clusterroles", "")),
        (role("RoleBinding", "b", roleRef={"kind": "ClusterRole", "name": "admin"}), ("clusterroles", "web")),
        (role("RoleBinding", "b", roleRef={"kind": "Role", "name": "admin"}), ("roles", "web")),
    ],
)
def test_binding_of_a_role_that_is_not_in_the_release_needs_bind(binding: JSON, bound: tuple[str, str]) -> None:
    (right,) = [right for right in needed(binding) if "bind" in right.verbs]
    assert (right.resources[0], right.namespace, right.names) == (*bound, ("admin",))


def test_binding_of_a_role_of_the_release_needs_no_more() -> None:
    binding = role("ClusterRoleBinding", "b", roleRef={"kind": "ClusterRole", "name": "own"})
    rights = needed(role("ClusterRole", "own", rules=[]), binding)
    assert "bind" not in {verb for right in rights for verb in right.verbs}


def test_a_role_that_takes_in_others_needs_escalate_on_itself_alone() -> None:
    aggregated = role("ClusterRole", "sum", aggregationRule={"clusterRoleSelectors": [{}]})
    (right,) = [right for right in needed(aggregated) if "escalate" in right.verbs]
    assert (right.resources, right.names) == (("clusterroles",), ("sum",))


def test_urls_that_a_role_grants_are_needed() -> None:
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert allowed(needed(role("ClusterRole", "r", rules=rules)), AccessRequest("get", url="/metrics")) == [True]


def test_pods_and_replica_sets_of_workloads_are_listed_for_their_health() -> None:
    rights = list(health_rights([obj("Deployment", "a", "apps/v1"), obj("DaemonSet", "b", "apps/v1")], WEB))
    assert [(right.resources[0], right.verbs, right.namespace) for right in merge(rights)] == [
        ("pods", ("list",), "web"),
        ("replicasets", ("list",), "web"),
    ]
