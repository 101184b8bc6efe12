"""A shipped hook and an addon at rest lose one rule each: `/readyz` and `hookrunner status` name both, and what was
asked for meanwhile is done as soon as they are back.

Level: control plane.
"""

import asyncio
import json
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.cli.debug import ask
from hookrunner.model.rights import merge
from tests.controlplane.cluster import ACCESS_REVIEWS, RIGHTS_LOOKS, OwnCluster
from tests.controlplane.rights import RBAC, log_in, rights_in
from tests.fakes.chart import ROOT, render_rights
from tests.flows.limited_rights import NAMESPACE, account_of, find_rights
from tests.flows.operator import Operator, oops
from tests.flows.waiting import until

HOOKS, HOOK = ROOT / "hooks", "pod-security.sh"
INSTANCE = "/apis/addons.x-k8s.io/v1alpha1/namespaces/kube-system/coredns/default"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
EVERYWHERE, THERE = f"{RBAC}/clusterroles/revoked", f"{RBAC}/namespaces/{NAMESPACE}/roles/revoked"
LOST = {EVERYWHERE: "namespaces", THERE: "secrets"}
WRITES = {"namespaces": "patch", "secrets": "create"}
"""What each role loses: the hook's changes, and records of releases, in hookrunner's own namespace."""


def lose(cluster: OwnCluster, role: str, resource: str) -> list[Any]:
    """Take away what a role allows to write of a resource, and wait until the API server knows. Its rules before."""
    rules: list[Any] = cluster.request("GET", role).body["rules"]
    change(cluster, role, {"rules": [_only_read(rule) if resource in rule["resources"] else rule for rule in rules]})
    review = {"verb": WRITES[resource], "resource": resource, "namespace": NAMESPACE}
    spec = {"user": f"system:serviceaccount:{NAMESPACE}:revoked", "resourceAttributes": review}
    for _ in range(RIGHTS_LOOKS):
        if not cluster.create(ACCESS_REVIEWS, {"spec": spec})["status"]["allowed"]:
            return rules
    raise AssertionError(f"{role} still allows {review}")


def _only_read(rule: Any) -> Any:
    return rule | {"verbs": [verb for verb in rule["verbs"] if verb in ("get", "list", "watch")]}


def change(cluster: OwnCluster, path: str, patch: Any) -> None:
    """Change an object."""
    assert cluster.request("PATCH", path, patch).status == HTTPStatus.OK


@pytest.fixture
def operator(launcher: tuple[str, ...], own_cluster: OwnCluster, tmp_path: Path) -> Operator:
    """With exactly the rights of the hook and CoreDNS."""
    flags = (f"--addons-dir={ROOT / 'addons'}", "--addons=coredns", f"--namespace={NAMESPACE}", "--modules-dir=:")
    made = Operator(tmp_path, tmp_path / "kubeconfig", flags)
    made.write_hooks({HOOK: (HOOKS / HOOK).read_text()})
    of_hook = find_rights(hooks_dir=str(tmp_path / "hooks")).all
    of_addon = rights_in(render_rights("revoked", "--set", "addons.enabled=true,addons.names={coredns}"))
    made.kubeconfig = log_in(own_cluster, tmp_path, account_of("revoked", merge((*of_hook, *of_addon)))).kubeconfig
    return made


async def test_what_loses_a_rule_is_named_and_goes_on_when_it_is_back(
    operator: Operator, own_cluster: OwnCluster
) -> None:
    cluster = own_cluster
    operator.start()
    try:
        await at_rest(operator, cluster)
        taken = {role: lose(cluster, role, resource) for role, resource in LOST.items()}
        await asyncio.to_thread(cluster.kubectl, "create", "namespace", "shop")
        change(cluster, INSTANCE, {"spec": {"replicas": 5}})
        await until(lambda: all(name in named(operator) for name in WRITES), "both in status")
        assert all(f"[{name}]" in operator.get("/readyz?output=json")[1] for name in WRITES)
        await until(lambda: "resources: [secrets]" in errors(cluster), "the rule in the instance's status")
        assert replicas(cluster) != 5
        for role, rules in taken.items():
            change(cluster, role, {"rules": rules})
        await until(lambda: level_of(cluster, "shop") == "baseline", "the label of the new namespace")
        await until(lambda: replicas(cluster) == 5, "what was asked for meanwhile")
        await until(lambda: not named(operator), "nothing that is missing")
    finally:
        await operator.stop()
        operator.kill()
        print(operator.story())
    assert oops(operator.logs()) == []


async def at_rest(operator: Operator, cluster: OwnCluster) -> None:
    """The hook has labelled what there was, and CoreDNS is installed."""
    path = INSTANCE.rpartition("/")[0]
    await until(lambda: cluster.request("GET", path).status == HTTPStatus.OK, "the kind")
    cluster.create(path, yaml.safe_load((ROOT / "addons" / "coredns" / "example.yaml").read_text()))
    await until(lambda: status(cluster).get("phase") == "InProgress", "CoreDNS, which has no nodes here")
    await until(lambda: level_of(cluster, "default") == "baseline", "the label")
    await operator.ready()
    assert named(operator) == ""


def named(operator: Operator) -> str:
    """What `hookrunner status` says of rights."""
    needs = json.loads(ask((operator.directory / "debug.socket",), "/status.json"))["needs"]
    return " ".join(need["message"] for need in needs if need["kind"] == "rights")


def status(cluster: OwnCluster) -> Any:
    """That of the instance, empty without one."""
    return cluster.request("GET", INSTANCE).body.get("status") or {}


def errors(cluster: OwnCluster) -> str:
    return " ".join(status(cluster).get("errors") or ())


def replicas(cluster: OwnCluster) -> Any:
    return cluster.request("GET", DEPLOYMENT).body["spec"]["replicas"]


def level_of(cluster: OwnCluster, namespace: str) -> Any:
    """The label that the hook gives a namespace."""
    labels = cluster.request("GET", f"/api/v1/namespaces/{namespace}").body["metadata"]["labels"]
    return labels.get("pod-security.kubernetes.io/warn")
