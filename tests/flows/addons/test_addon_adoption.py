"""kubeadm's CoreDNS and kube-proxy on a real control plane, taken over by objects with `adopt: true`: addresses and
settings stay, and each workload is rolled out once.

Level: control plane."""

import json
from ipaddress import ip_address
from typing import Any

from tests.flows.addons.cluster_world import GROUP, ClusterWorld
from tests.flows.addons.kubeadm_objects import COREFILE, kubeadm_objects

DNS, PROXY = f"{GROUP}/coredns/default", f"{GROUP}/kubeproxies/default"
KEPT = ("service/kube-dns", "deployment/coredns", "configmap/coredns", "daemonset/kube-proxy", "configmap/kube-proxy")
HISTORIES = ("replicasets", "controllerrevisions")


async def test_addons_of_kubeadm_are_taken_over(there: ClusterWorld) -> None:
    first = (await there.read("/api/v1/namespaces/default/services/kubernetes"))["spec"]["clusterIP"]
    address = str(ip_address(first) + 9)
    objects = {"apiVersion": "v1", "kind": "List", "items": kubeadm_objects(address)}
    await there.kubectl("create", "--field-manager=kubeadm", "-f", "-", text=json.dumps(objects))
    await there.until(lambda: rollouts(there), {"coredns": 1, "kube-proxy": 1}, "kubeadm's own rollouts")
    before = await uids(there)
    there.world.operator.flags += ("--addons=coredns,kube-proxy",)
    await there.world.start()
    await there.install("coredns", DNS, {"adopt": True})
    await there.install("kube-proxy", PROXY, {"adopt": True})
    for path in (DNS, PROXY):
        await there.reaches(path, {"phase": "Current", "healthy": True, "errors": []})
    assert await uids(there) == before
    assert [(await there.status(path))["revision"] for path in (DNS, PROXY)] == [1, 1]

    service, deployment, names, _, settings = (await there.shown(*KEPT))["items"]
    assert (service["spec"]["clusterIP"], deployment["spec"]["replicas"]) == (address, 2)
    adopted = await there.read(DNS)
    assert adopted["spec"]["corefile"] == COREFILE
    assert adopted["metadata"]["annotations"]["hookrunner.io/corefile-version"] == "1.12.0"
    assert "printer.example.com" in names["data"]["Corefile"]
    proxy = (await there.read(PROXY))["spec"]
    assert (proxy["mode"], proxy["clusterCidr"], proxy["config"]) == (
        "ipvs",
        "10.244.0.0/16",
        {"bindAddress": "0.0.0.0", "ipvs": {"strictARP": True}},
    )
    assert not proxy["apiServer"]  # it is the one of kubeadm's configuration
    assert "https://192.0.2.1:6443" in settings["data"]["kubeconfig.conf"]
    assert await there.shown("clusterrolebinding/kubeadm:node-proxier") == {}
    assert await rollouts(there) == {"coredns": 2, "kube-proxy": 2}

    await there.kubectl("delete", "coredns/default", "--namespace", "kube-system", "--timeout=120s")
    assert await uids(there) == before, "the cluster keeps its DNS"
    await there.until(lambda: kept(there), [1], "the Event Kept, which is written beside the deletion")


async def kept(there: ClusterWorld) -> list[int]:
    """How often each Event about objects that stay names the Deployment."""
    events = (await there.read("/api/v1/namespaces/kube-system/events"))["items"]
    return [event["message"].count("/Deployment/coredns: ") for event in events if event["reason"] == "Kept"]


async def uids(there: ClusterWorld) -> dict[str, Any]:
    return {
        f"{entry['kind']} {entry['metadata']['name']}": entry["metadata"]["uid"]
        for entry in (await there.shown(*KEPT))["items"]
    }


async def rollouts(there: ClusterWorld) -> dict[str, int]:
    """How many templates of Pods each workload has had, kubeadm's included."""
    path = "/apis/apps/v1/namespaces/kube-system"
    sets = [each for kind in HISTORIES for each in (await there.read(f"{path}/{kind}"))["items"]]
    owners = [entry["metadata"]["ownerReferences"][0]["name"] for entry in sets]
    return {name: owners.count(name) for name in ("coredns", "kube-proxy")}
