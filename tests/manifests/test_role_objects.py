"""Rights as roles, bindings and an account. Level: pure."""

from dataclasses import replace

import yaml

from hookrunner.manifests.role_objects import Account, to_account, to_line, to_roles, to_rule, to_values
from hookrunner.model.rights import Reason, Right

ACCOUNT = Account("hooks", "runner")
PODS = Right(("",), ("pods", "pods/log"), ("get",))
LEASES = Right(("coordination.k8s.io",), ("leases",), ("get", "update"), ("lock",), "kube-system")


def test_each_namespace_gets_a_role_and_a_binding() -> None:
    objects = to_roles("runner", [PODS, LEASES], ACCOUNT)
    named = [(obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]) for obj in objects]
    assert named == [
        ("ClusterRole", None, "runner"),
        ("ClusterRoleBinding", None, "runner"),
        ("Role", "kube-system", "runner"),
        ("RoleBinding", "kube-system", "runner"),
    ]
    assert objects[0]["rules"] == [{"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get"]}]
    assert objects[3]["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "runner"}
    assert objects[3]["subjects"] == [{"kind": "ServiceAccount", "namespace": "hooks", "name": "runner"}]


def test_without_rights_there_is_no_role() -> None:
    assert to_roles("runner", [], ACCOUNT) == []


def test_the_account_comes_with_its_namespace() -> None:
    assert [(obj["kind"], obj["metadata"]) for obj in to_account(ACCOUNT)] == [
        ("Namespace", {"name": "hooks"}),
        ("ServiceAccount", {"namespace": "hooks", "name": "runner"}),
    ]


def test_a_rule_is_a_line_of_yaml() -> None:
    assert to_line(PODS) == '{apiGroups: [""], resources: [pods, pods/log], verbs: [get]}'
    assert to_line(Right((), (), ("get",), urls=("/metrics",))) == "{nonResourceURLs: [/metrics], verbs: [get]}"


def test_values_have_rules_by_namespace_with_their_reasons() -> None:
    pods = replace(PODS, needs=(Reason("hook a.sh", "binding 'pods'"), Reason("hook a.sh", "settings.permissions")))
    text = to_values([LEASES, pods])
    assert "  # hook a.sh: binding 'pods'; settings.permissions\n  - {apiGroups:" in text
    assert yaml.safe_load(text) == {"rules": [to_rule(PODS)], "namespaces": {"kube-system": [to_rule(LEASES)]}}
    assert yaml.safe_load(to_values([LEASES]))["rules"] == yaml.safe_load(to_values([]))["rules"] == []


def test_every_word_of_a_rule_survives_its_line() -> None:
    odd = Right(("*",), ("*", "*/scale"), ("*",), ("http:a", "y", "1", "a.b"))
    assert yaml.safe_load(to_line(odd)) == to_rule(odd)
