"""`hookrunner rbac | kubectl apply -f -`, for the shipped hooks, modules and CoreDNS: a real API server takes the
objects in their order, and the account then has these rights and no others.

Level: control plane."""

import pytest

from tests.controlplane.cluster import ACCESS_REVIEWS, OwnCluster
from tests.fakes.chart import ROOT
from tests.fakes.command_line import Command, command

__all__ = ["command"]

ACCOUNT = "tools/runner"
FLAGS = (
    f"--hooks-dir={ROOT / 'hooks'}",
    f"--modules-dir={ROOT / 'modules'}",
    f"--addons-dir={ROOT / 'addons'}",
    "--addons=coredns",
    "--addon-namespaces=kube-system",
    f"--service-account={ACCOUNT}",
)
DEPLOYMENTS = {"group": "apps", "resource": "deployments"}
SECRETS = {"group": "", "resource": "secrets"}
COREDNS = {"group": "addons.x-k8s.io", "resource": "coredns"}


@pytest.mark.usefixtures("forking")
def test_the_account_has_the_rights_that_are_printed(command: Command, own_cluster: OwnCluster) -> None:
    printed = command("rbac", *FLAGS)
    assert printed.code == 0, printed.err
    own_cluster.kubectl("apply", "-f", "-", input=printed.out)
    account = ACCOUNT.replace("/", ":")
    own_cluster.wait_for_right(account, DEPLOYMENTS | {"verb": "patch", "namespace": "kube-system", "name": "coredns"})

    def may(verb: str, what: dict[str, str], namespace: str = "", name: str = "") -> bool:
        attributes = what | {"verb": verb, "namespace": namespace, "name": name}
        spec = {"user": f"system:serviceaccount:{account}", "resourceAttributes": attributes}
        return bool(own_cluster.create(ACCESS_REVIEWS, {"spec": spec})["status"]["allowed"])

    assert may("watch", DEPLOYMENTS)
    assert may("patch", DEPLOYMENTS, "shop", "any")  # by restart-on-change.py
    assert not may("delete", DEPLOYMENTS, "kube-system", "other")
    assert not may("delete", DEPLOYMENTS, "shop", "coredns")
    assert may("delete", SECRETS, "tools", "sh.helm.release.v1.web.v1")
    assert may("patch", COREDNS, "kube-system", "default")
    assert not may("delete", COREDNS, "kube-system", "default")
    assert not may("escalate", {"group": "rbac.authorization.k8s.io", "resource": "clusterroles"})
    assert not may("bind", {"group": "rbac.authorization.k8s.io", "resource": "clusterroles"}, name="cluster-admin")
    assert not may("create", {"group": "", "resource": "pods"}, "kube-system")
