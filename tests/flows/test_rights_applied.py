"""`hookrunner rbac | kubectl apply -f -`, for a shipped hook, the modules and an addon: a real API server takes the
objects in their order, and the account then has these rights and no others.

Level: control plane."""

import shutil
from pathlib import Path

import pytest

from tests.controlplane.cluster import ACCESS_REVIEWS, Cluster
from tests.fakes.chart import ROOT
from tests.fakes.command_line import Command, command

__all__ = ["command"]

ACCOUNT = "tools/runner"
FLAGS = (
    f"--modules-dir={ROOT / 'modules'}",
    f"--addons-dir={ROOT / 'addons'}",
    "--addons=metrics-server",
    "--addon-namespaces=kube-system",
    f"--service-account={ACCOUNT}",
)
DEPLOYMENTS = {"group": "apps", "resource": "deployments"}
SECRETS = {"group": "", "resource": "secrets"}
INSTANCES = {"group": "addons.x-k8s.io", "resource": "metricsservers"}
GRANTED = (
    DEPLOYMENTS | {"verb": "watch"},
    DEPLOYMENTS | {"verb": "patch", "namespace": "shop", "name": "any"},  # by restart-on-change.py
    DEPLOYMENTS | {"verb": "delete", "namespace": "kube-system", "name": "metrics-server"},
    SECRETS | {"verb": "delete", "namespace": "tools", "name": "sh.helm.release.v1.web.v1"},
    INSTANCES | {"verb": "patch", "namespace": "kube-system", "name": "default"},
)
"""By Roles and ClusterRoles, of which the API server hears by watches that overtake each other."""


@pytest.mark.usefixtures("forking")
def test_the_account_has_the_rights_that_are_printed(command: Command, cluster: Cluster, tmp_path: Path) -> None:
    for file in (ROOT / "hooks").glob("restart-on-change.py*"):
        shutil.copy(file, tmp_path)
    printed = command("rbac", *FLAGS, f"--hooks-dir={tmp_path}")
    assert printed.code == 0, printed.err
    cluster.kubectl("apply", "-f", "-", input=printed.out)
    account = ACCOUNT.replace("/", ":")
    for right in GRANTED:
        cluster.wait_for_right(account, right)

    def may(verb: str, what: dict[str, str], namespace: str = "", name: str = "") -> bool:
        attributes = what | {"verb": verb, "namespace": namespace, "name": name}
        spec = {"user": f"system:serviceaccount:{account}", "resourceAttributes": attributes}
        return bool(cluster.create(ACCESS_REVIEWS, {"spec": spec})["status"]["allowed"])

    assert not may("delete", DEPLOYMENTS, "kube-system", "other")
    assert not may("delete", DEPLOYMENTS, "shop", "metrics-server")
    assert not may("delete", INSTANCES, "kube-system", "default")
    assert not may("escalate", {"group": "rbac.authorization.k8s.io", "resource": "clusterroles"})
    assert not may("bind", {"group": "rbac.authorization.k8s.io", "resource": "clusterroles"}, name="cluster-admin")
    assert not may("create", {"group": "", "resource": "pods"}, "kube-system")
