"""The same life for each shipped addon on a real control plane: installed, changed, robbed of its workloads, upgraded,
downgraded, deleted, installed again. Its images never run, since the node is a fake one; what they would answer is
missing.

Level: control plane."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kubetypes.json_values import JSON
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.rights import log_in
from tests.fakes.chart import render_rights
from tests.flows.addons.cluster_world import ADDONS, GROUP, MARKED, ClusterWorld
from tests.flows.limited_rights import check_rights, find_rights

HEALTHY = {"phase": "Current", "healthy": True}
NO_ANSWER = {"phase": "InProgress", "healthy": False}
STAYS = "it stays unless hookrunner may list every kind in it"
CLEAN = "the Job of onDisable: clean, whose Pod runs nothing here: test_balancer_cleanup.py"
ONE_POD = "one Pod has no PodDisruptionBudget"
KEPT = ("--field-selector=reason=Kept", "-o=jsonpath={.items[*].message}")
DNS_SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec: {selector: {k8s-app: none}, ports: [{name: dns, port: 53, protocol: UDP}]}
"""


@dataclass(frozen=True, slots=True)
class Life:
    """An addon's spec and what it is changed by; the object that has `shows` then; its versions by
    default and after the upgrade; the status that it gets here, and what the reason names. The addon fills the Secret
    `filled` itself, once. `namespace` is that of its objects."""

    addon: str
    plural: str
    spec: JSON
    change: JSON
    seen_in: str
    shows: str
    versions: tuple[str, str]
    status: JSON
    obstacle: str = ""
    filled: str = ""
    namespace: str = "kube-system"
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def surveyed(self) -> str:
        """The namespace, if the addon makes it itself."""
        return self.namespace if self.namespace != "kube-system" else ""


LIVES = [
    Life(
        "coredns", "coredns", {}, {"replicas": 2}, "deployment/coredns", '"replicas":2', ("1.14.6", "1.15.0"), HEALTHY
    ),
    Life(
        "kube-proxy",
        "kubeproxies",
        {"apiServer": {"host": "192.0.2.1"}},
        {"mode": "nftables"},
        "configmap/kube-proxy",
        "nftables",
        ("1.36.1", "1.36.3"),
        HEALTHY,
        reasons={f"{verb} clusterrolebindings kubeadm:node-proxier": "of kubeadm's" for verb in ("get", "delete")},
    ),
    Life(
        "nodelocaldns",
        "nodelocaldns",
        {},
        {"localIP": "169.254.20.11"},
        "configmap/node-local-dns",
        "169.254.20.11",
        ("1.26.7", "1.26.8"),
        HEALTHY,
    ),
    Life(
        "metrics-server",
        "metricsservers",
        {},
        {"kubelet": {"insecureTLS": True}},
        "deployment/metrics-server",
        "--kubelet-insecure-tls=true",
        ("0.8.1", "0.9.0"),
        NO_ANSWER,
        "APIService",
    ),
    Life(
        "dashboard",
        "dashboards",
        {},
        {"settings": {"clusterName": "harbour"}},
        "configmap/kubernetes-dashboard-web-settings",
        "harbour",
        ("7.13.0", "7.14.0"),
        HEALTHY,
        filled="kubernetes-dashboard-csrf",
        namespace="kubernetes-dashboard",
        reasons={
            **{f"{verb} applications": "no cluster of the tests serves the kind" for verb in ("watch", "create")},
            **{f"{verb} applications kubernetes-dashboard": "the same" for verb in ("get", "patch", "delete")},
            "delete namespaces kubernetes-dashboard": STAYS,
        },
    ),
    Life(
        "cloud-controller-manager",
        "cloudcontrollermanagers",
        {"deploy": {"mode": "deployment", "replicas": 1}, "provider": {"script": "#!/bin/sh"}},
        {"deploy": {"mode": "daemonset"}, "clusterName": "harbour"},
        "daemonset/cloud-controller-manager",
        "--cluster-name=harbour",
        ("0.3.0", "0.4.0"),
        HEALTHY,
        reasons={
            "watch jobs cloud-controller-manager-clean": CLEAN,
            "patch jobs cloud-controller-manager-clean": CLEAN,
            "delete jobs cloud-controller-manager-clean": CLEAN,
            **{
                f"{verb} poddisruptionbudgets": "one Pod has none"
                for verb in ("get", "patch", "delete", "create", "watch")
            },
            "patch deployments cloud-controller-manager": "it is a DaemonSet before it changes",
        },
    ),
    Life(
        "ingress-nginx",
        "ingressnginxes",
        {},
        {"replicas": 3},
        "validatingwebhookconfiguration/ingress-nginx-admission",
        '"failurePolicy":"Fail"',  # not at first, but since Pods are available
        ("1.14.5", "1.15.1"),
        HEALTHY,
        namespace="ingress-nginx",
        reasons={
            "patch secrets ingress-nginx-admission": "when its certificate is replaced, 30 days before the end",
            "delete namespaces ingress-nginx": STAYS,
        },
    ),
    Life(
        "weave-net",
        "weavenets",
        {"podCIDR": "10.9.0.0/16"},
        {"mtu": 8000},
        "daemonset/weave-net",
        '"name":"WEAVE_MTU","value":"8000"',
        ("2.8.1", "2.7.0"),
        HEALTHY,
    ),
    Life(
        "flannel",
        "flannels",
        {},
        {"backend": "host-gw"},
        "configmap/kube-flannel-cfg",
        "host-gw",
        ("0.28.8", "0.28.9"),
        HEALTHY,
    ),
    Life(
        "calico",
        "calicos",
        {"typhaReplicas": 1, "apiServer": {"host": "192.0.2.1"}},
        {"backend": "none"},
        "configmap/calico-config",
        "usePodCidr",
        ("3.32.1", "3.32.2"),
        HEALTHY,
    ),
    Life(
        "canal",
        "canals",
        {"typhaReplicas": 1, "apiServer": {"host": "192.0.2.1"}},
        {"backend": "host-gw"},
        "configmap/canal-config",
        "host-gw",
        ("3.32.1", "3.32.2"),
        HEALTHY,
    ),
]


@pytest.fixture(params=LIVES, ids=lambda life: str(life.addon))
def life(request: pytest.FixtureRequest) -> Life:
    """One addon's."""
    found: Life = request.param
    return found


@pytest.fixture
async def limited(
    there: ClusterWorld, whole_cluster: OwnCluster, life: Life, tmp_path: Path
) -> AsyncIterator[ClusterWorld]:
    """Hookrunner with exactly the rights that the chart gives for this addon."""
    objects = render_rights(f"life-{life.addon}", "--set", f"addons.enabled=true,addons.names={{{life.addon}}}")
    account = log_in(whole_cluster, tmp_path, objects)
    there.world.operator.kubeconfig = there.proxy.kubeconfig_with(account.token)
    yield there
    assert '"rights"' not in there.world.operator.get("/readyz?output=json")[1], "no right is missing"
    needed = await asyncio.to_thread(find_rights, addons_dir=str(ADDONS), addons=life.addon)
    check_rights(whole_cluster, account, needed.all, life.reasons, life.surveyed)


async def test_addon_lives(limited: ClusterWorld, life: Life) -> None:
    there = limited
    path, unit = f"{GROUP}/{life.plural}/default", f"{life.addon}.kube-system.default"
    before, after = life.versions
    there.world.operator.flags += (f"--addons={life.addon}",)
    await there.world.start()
    if life.addon == "nodelocaldns":
        await there.kubectl("apply", "-f", "-", text=DNS_SERVICE)
    await there.install(life.addon, path, life.spec)
    await there.reaches(path, {**life.status, "version": before})
    await there.until(lambda: is_named(there, path, life.obstacle), True, life.obstacle)
    key = await filled_data(there, life)

    await there.change(path, life.change)
    await there.reaches(path, {**life.status, "version": before})
    await there.until(lambda: is_shown(there, life), True, life.shows)

    robbed = await workloads(there, unit)
    await there.kubectl("delete", "deployments,daemonsets", "-A", "-l", f"hookrunner.io/addon={unit}", "--wait=false")
    await there.until(lambda: are_back(there, unit, robbed), True, "the workloads")
    await there.reaches(path, life.status)

    await tamper(there, unit)

    await there.change(path, {"version": after})
    await there.reaches(path, {**life.status, "version": after})
    await there.change(path, {"version": None})
    await there.reaches(path, {**life.status, "version": before})
    assert await filled_data(there, life) == key

    if life.surveyed:
        await there.kubectl("create", "configmap", "mine", "-n", life.namespace)
    await there.kubectl("delete", life.plural, "default", "-n", "kube-system", "--timeout=180s")
    assert (await there.marked(unit), await there.world.releases()) == ([], [])
    if life.surveyed:  # others use it
        await there.kubectl("get", "configmap", "mine", "-n", life.namespace)
        await there.until(lambda: is_kept(there, life.namespace), True, "the Event Kept")
    await there.install(life.addon, path, life.spec)
    await there.reaches(path, {**life.status, "version": before})
    await there.kubectl("delete", life.plural, "default", "-n", "kube-system", "--timeout=180s")


async def filled_data(there: ClusterWorld, life: Life) -> Any:
    """The data of the Secret that the addon fills itself, as soon as there is any; empty without such a Secret."""
    path = f"/api/v1/namespaces/{life.namespace}/secrets/{life.filled}"

    async def data() -> Any:
        return (await there.read(path)).get("data")

    async def is_filled() -> bool:
        return bool(await data())

    if not life.filled:
        return None
    await there.until(is_filled, True, life.filled)
    return await data()


async def is_kept(there: ClusterWorld, name: str) -> bool:
    """Does an Event say that this has stayed?"""
    return name in await there.kubectl("get", "events", "-n", "kube-system", *KEPT)


async def is_named(there: ClusterWorld, path: str, obstacle: str) -> bool:
    """Do the errors of an instance name this?"""
    return obstacle in " ".join((await there.status(path))["errors"])


async def is_shown(there: ClusterWorld, life: Life) -> bool:
    """Does the object show the change?"""
    fields = "jsonpath={.spec}{.data}{.webhooks}"
    return life.shows in await there.kubectl("get", life.seen_in, "-n", life.namespace, "-o", fields)


async def workloads(there: ClusterWorld, unit: str) -> dict[str, Any]:
    """The UID of each Deployment and DaemonSet of an instance, by name."""
    words = ("-A", "-l", f"hookrunner.io/addon={unit}")
    columns = "-o=custom-columns=:.kind,:.metadata.name,:.metadata.uid"
    lines = await there.kubectl("get", "deployments,daemonsets", *words, columns, "--no-headers")
    return {f"{kind}/{name}": uid for kind, name, uid in map(str.split, lines.splitlines())}


async def tamper(there: ClusterWorld, unit: str) -> None:
    """Change a label of each object that an instance has installed, and wait until all are repaired. Records of its
    release, which are Secrets, have its mark too."""
    kinds = ",".join(kind for kind in MARKED if kind != "secrets")
    mark, label = f"hookrunner.io/addon={unit}", "k8s-app=mine"
    await there.kubectl("label", kinds, "-A", "-l", mark, "--overwrite", label)

    async def tampered() -> str:
        return await there.kubectl("get", kinds, "-A", "-l", f"{mark},{label}", "-o", "name")

    await there.until(tampered, "", "repaired labels")


async def are_back(there: ClusterWorld, unit: str, robbed: dict[str, Any]) -> bool:
    """Are there others under the same names?"""
    present = await workloads(there, unit)
    return present.keys() == robbed.keys() and not set(present.values()) & set(robbed.values())
