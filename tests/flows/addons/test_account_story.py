"""Hookrunner that may write nothing of CoreDNS, under the rights that the chart gives with `addons.accounts: require`
and no others: it watches, and a ServiceAccount of the instance's namespace installs, repairs, changes and removes.
First as every API server allows to act as an account, then by the rules of constrained impersonation.

Level: control plane.
"""

import asyncio
import json
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.manifests.role_objects import Account, to_roles
from hookrunner.model.rights import READS, Right, merge
from tests.controlplane.cluster import ACCESS_REVIEWS, RIGHTS_LOOKS, OwnCluster
from tests.controlplane.rights import collection_of, log_in, rights_in
from tests.fakes.chart import CHART, ROOT, render_rights
from tests.flows.limited_rights import NAMESPACE
from tests.flows.operator import Operator, oops
from tests.flows.waiting import until

HOME, CONFINED = "kube-system", "confined-hookrunner"
KIND = f"/apis/addons.x-k8s.io/v1alpha1/namespaces/{HOME}/coredns"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{HOME}/deployments/coredns"
ACCOUNTS = f"/api/v1/namespaces/{HOME}/serviceaccounts"
RECORDS = f"/api/v1/namespaces/{NAMESPACE}/secrets?labelSelector=owner%3Dhelm"
FLAGS = (
    *(f"--addons-dir={ROOT / 'addons'}", "--addons=coredns", f"--addon-namespaces={HOME}", "--addon-accounts=require"),
    *(f"--namespace={NAMESPACE}", "--modules-dir=:", "--hooks-dir=:"),
)
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:coredns"
OWN = {"coredns", "coredns/status", "coredns/finalizers", "events", "secrets", "serviceaccounts", "configmaps"}
OWN |= {"customresourcedefinitions", "customresourcedefinitions/status"}
OWN |= {"validatingadmissionpolicies", "validatingadmissionpolicybindings"}
BLOCK = Right(("addons.x-k8s.io",), ("coredns/finalizers",), ("update",), (), HOME)
"""For owner references that block, which an admission plugin asks for."""
ACTIONS = tuple(f"impersonate-on:serviceaccount:{verb}" for verb in (*READS, "create", "patch", "delete"))
CONSTRAINED = [
    Right(("authentication.k8s.io",), ("serviceaccounts",), ("impersonate:serviceaccount",), ("other",), HOME),
    Right(("*",), ("*",), ACTIONS),
]


@pytest.fixture
def operator(launcher: tuple[str, ...], own_cluster: OwnCluster, tmp_path: Path) -> Operator:
    made = Operator(tmp_path, tmp_path / "kubeconfig", FLAGS)
    offered = {"enabled": True, "names": ["coredns"], "namespaces": [HOME], "accounts": "require"}
    objects = render_rights("confined", "--set-json", f"addons={json.dumps(offered)}")
    writes = [right for right in rights_in(objects) if {*right.verbs} - {*READS}]
    assert {resource for right in writes for resource in right.resources} <= OWN
    made.kubeconfig = log_in(own_cluster, tmp_path, objects).kubeconfig
    return made


async def test_an_account_installs_what_hookrunner_may_not(operator: Operator, own_cluster: OwnCluster) -> None:
    cluster = own_cluster
    operator.start()
    try:
        await until(lambda: cluster.request("GET", KIND).status == HTTPStatus.OK, "the kind")
        example = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "CoreDNS", "metadata": {"name": "default"}}
        cluster.create(KIND, example)
        await until(lambda: "serviceAccountName is required" in errors(cluster), "that one is required")
        change(cluster, {"serviceAccountName": "deployer"})
        await until(lambda: "kube-system/deployer: it does not exist" in errors(cluster), "the account that is missing")
        cluster.create(ACCOUNTS, {"metadata": {"name": "deployer"}})
        await until(lambda: "deployments], verbs: [get, create, patch, delete]}" in errors(cluster), "the rules")
        assert cluster.request("GET", RECORDS).body["items"] == []

        grant(cluster, "deployer")
        await until(lambda: is_installed(cluster), "the Deployment, by the account")
        before = cluster.request("GET", DEPLOYMENT).body["metadata"]["uid"]
        await asyncio.to_thread(cluster.kubectl, "delete", "deployment", "coredns", "-n", HOME)
        await until(lambda: is_installed(cluster) and uid(cluster) != before, "the repaired Deployment")
        assert '"rights"' not in operator.get("/readyz?output=json")[1], "hookrunner lacks nothing"

        cluster.create(ACCOUNTS, {"metadata": {"name": "other"}})
        grant(cluster, "other")
        constrain(cluster)
        change(cluster, {"serviceAccountName": "other", "replicas": 5, "protect": True})
        await until(lambda: cluster.request("GET", DEPLOYMENT).body["spec"]["replicas"] == 5, "the change")
        await until(lambda: is_protected(cluster), "that users are refused, and the account is not")
        await asyncio.to_thread(cluster.kubectl, "delete", "coredns", "default", "-n", HOME, "--timeout=120s")
        assert not is_installed(cluster)
        assert cluster.request("GET", ROLE).status == HTTPStatus.NOT_FOUND
        assert cluster.request("GET", RECORDS).body["items"] == []
    finally:
        await operator.stop()
        operator.kill()
        print(operator.story())
    assert oops(operator.logs()) == []


def grant(cluster: OwnCluster, name: str) -> None:
    """Give an account what CoreDNS takes, as the chart gives it to a hookrunner that installs it itself."""
    given = yaml.safe_load((CHART / "files" / "rights" / "coredns.yaml").read_text())
    places = {"": given["rules"], **given["namespaces"]}
    rights = rights_in({"kind": "Role", "metadata": {"namespace": place}, "rules": places[place]} for place in places)
    for obj in to_roles(f"coredns-{name}", merge((*rights, BLOCK)), Account(HOME, name)):
        cluster.create(collection_of(obj), obj)
    wait_for(
        cluster, f"{HOME}:{name}", {"verb": "delete", "group": "apps", "resource": "deployments", "name": "coredns"}
    )


def constrain(cluster: OwnCluster) -> None:
    """Exchange the right to act as any account of the namespace for the narrower ones."""
    role = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{HOME}/roles/{NAMESPACE}-{CONFINED}-addons-accounts"
    rules = cluster.request("GET", role).body["rules"]
    kept = [rule | {"verbs": [verb for verb in rule["verbs"] if verb != "impersonate"]} for rule in rules]
    assert cluster.request("PATCH", role, {"rules": kept}).status == HTTPStatus.OK
    for obj in to_roles("constrained", CONSTRAINED, Account(NAMESPACE, CONFINED)):
        cluster.create(collection_of(obj), obj)
    about = {"verb": "impersonate:serviceaccount", "group": "authentication.k8s.io", "resource": "serviceaccounts"}
    wait_for(cluster, f"{NAMESPACE}:{CONFINED}", about | {"name": "other"})
    wait_for(cluster, f"{NAMESPACE}:{CONFINED}", {"verb": "impersonate", "resource": "serviceaccounts"}, allowed=False)


def wait_for(cluster: OwnCluster, account: str, attributes: dict[str, str], allowed: bool = True) -> None:
    """Wait until the API server knows a right, or that it is gone."""
    spec = {"user": f"system:serviceaccount:{account}", "resourceAttributes": {"namespace": HOME} | attributes}
    for _ in range(RIGHTS_LOOKS):
        if cluster.create(ACCESS_REVIEWS, {"spec": spec})["status"]["allowed"] == allowed:
            return
    raise AssertionError(f"{account} {attributes}")


def change(cluster: OwnCluster, spec: dict[str, Any]) -> None:
    assert cluster.request("PATCH", f"{KIND}/default", {"spec": spec}).status == HTTPStatus.OK


def errors(cluster: OwnCluster) -> str:
    status = cluster.request("GET", f"{KIND}/default").body.get("status") or {}
    return " ".join(status.get("errors") or ())


def is_installed(cluster: OwnCluster) -> bool:
    return cluster.request("GET", DEPLOYMENT).status == HTTPStatus.OK


def is_protected(cluster: OwnCluster) -> bool:
    """Is an administrator refused?"""
    label = {"metadata": {"labels": {"app.example.com/by": "admin"}}}
    return cluster.request("PATCH", f"{ROLE}?dryRun=All", label).status == HTTPStatus.FORBIDDEN


def uid(cluster: OwnCluster) -> str:
    return str(cluster.request("GET", DEPLOYMENT).body["metadata"]["uid"])
