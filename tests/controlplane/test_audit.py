"""The audit log, and the comparison of what an account has asked for with what it may. Level: control plane."""

from pathlib import Path

import pytest

from tests.controlplane.cluster import OwnCluster
from tests.controlplane.kubeconfig import Access
from tests.controlplane.rest import request
from tests.controlplane.rights import RBAC, log_in, refused, rights_in, unused

ACCOUNT = {"kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": "default"}}
RULES = [
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
    {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["create"]},
]
ROLE = {"kind": "ClusterRole", "metadata": {"name": "reader"}, "rules": RULES}
BINDING = {
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "reader"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
    "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
}
MORE = {"metadata": {"name": "more"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}


@pytest.mark.slow
def test_requests_of_an_account_are_read_and_compared_with_its_rights(
    audited_cluster: OwnCluster, tmp_path: Path
) -> None:
    objects = [ACCOUNT, ROLE, BINDING]
    account = log_in(audited_cluster, tmp_path, objects)
    access = Access(audited_cluster.url, audited_cluster.ca, account.token)
    maps = "/api/v1/namespaces/default/configmaps"
    assert request(access, "GET", f"{maps}/a").status == 404
    before = audited_cluster.audit.size()
    assert request(access, "GET", "/version").status == 200
    assert request(access, "POST", maps, {"metadata": {"name": "a"}}).status == 403
    assert request(access, "POST", f"{RBAC}/clusterroles", MORE).status == 403  # it grants what the account lacks
    found = audited_cluster.audit.requests("default", "reader")
    assert [str(one) for one in found][:3] == ["get configmaps default/a", "get /version", "create configmaps default"]
    assert len(audited_cluster.audit.requests("default", "reader", before)) == 3
    roles = "create clusterroles.rbac.authorization.k8s.io"
    assert refused(found) == [f"{roles} more", "create configmaps default"]
    assert [(right.verbs, right.resources) for right in unused(rights_in(objects), found)] == [
        (("list",), ("configmaps",)),
        (("create",), ("clusterroles",)),
    ]
