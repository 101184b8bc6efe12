"""`kubectl get addons` on a real control plane, with no more rights than the chart gives: an addon, a module and what
others have installed, through a restart and to the end. Level: control plane."""

import json
from itertools import pairwise
from pathlib import Path
from signal import SIGKILL

import pytest

from hookrunner.discovery.addon_kind import ADDONS, DEFINITION
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.rights import log_in
from tests.fakes.chart import render_rights
from tests.flows.addons.cluster_world import GROUP, ClusterWorld

DNS = f"{GROUP}/coredns/default"
VALUES = (
    "modules.enabled=true,addons.enabled=true,addons.names={coredns},discovery.enabled=true,discovery.kinds={configmaps},"
    "rbac.rules[0].apiGroups={},rbac.rules[0].resources={configmaps},"
    "rbac.rules[0].verbs={get,list,watch,create,patch,delete}"
)
CHART = "apiVersion: v2\nname: greeting\nversion: 1.2.3\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeting}\n"
COREDNS, GREETING = ("True", "Current", "1.14.6", "8/8"), ("True", "Current", "1.2.3", "1/1")


@pytest.fixture
async def limited(there: ClusterWorld, whole_cluster: OwnCluster, tmp_path: Path) -> ClusterWorld:
    """Hookrunner with exactly the rights that the chart gives it for this list, CoreDNS and a module's ConfigMap."""
    account = log_in(whole_cluster, tmp_path, render_rights("listing", "--set", VALUES))
    there.world.operator.kubeconfig = there.proxy.kubeconfig_with(account.token)
    there.world.operator.flags += ("--addons=coredns", "--discovery", "--discovery-kinds=configmaps")
    there.world.module("010-greeting", {"Chart.yaml": CHART, "templates/map.yaml": MAP})
    return there


async def test_everything_installed_is_listed_with_its_health(limited: ClusterWorld) -> None:
    there = limited
    await there.kubectl("create", "configmap", "extra", "-n", "kube-system")
    labels = ("discovery.addons.k8s.io/coredns=", "discovery.addons.k8s.io/theirs=yes")
    await there.kubectl("label", "configmap", "extra", "-n", "kube-system", *labels)
    await there.world.configure(greetingEnabled="true")
    await there.world.start()
    await there.install("coredns", DNS, {})
    theirs = ("True", "Current", "", "1/1")
    everything = {"coredns": COREDNS, "greeting": GREETING, "theirs": theirs}
    await there.until(lambda: listed(there), everything, "the list of addons", longest=1.0)
    assert await selected(there, "Current") == ["coredns", "greeting", "theirs"]
    assert await selected(there, "Failed") == []
    conditions = {
        one["name"]: one for one in json.loads(there.world.operator.get("/readyz?output=json")[1])["conditions"]
    }
    assert ("rights" in conditions, conditions["discovery"]["message"]) == (False, "")

    before = await versions(there)
    await there.world.operator.stop(SIGKILL)
    await there.world.start()
    await there.kubectl("delete", "configmap", "extra", "-n", "kube-system")
    without = {"coredns": ("True", "Current", "1.14.6", "7/7"), "greeting": GREETING}
    await there.until(lambda: listed(there), without, "the list without what was deleted", longest=1.0)
    assert (await versions(there))["greeting"] == before["greeting"]

    await there.kubectl("delete", DEFINITION.partition(".")[0] + f".{ADDONS.group}", "coredns")
    await there.until(lambda: listed(there), without, "the deleted Addon", longest=1.0)
    await there.kubectl("delete", "coredns", "default", "-n", "kube-system")
    await there.until(lambda: listed(there), {"greeting": GREETING}, "the list without CoreDNS", longest=1.0)


async def listed(there: ClusterWorld) -> dict[str, tuple[str, ...]]:
    """What kubectl shows of each `Addon`, without the age."""
    lines = (await there.kubectl("get", DEFINITION, "--ignore-not-found")).splitlines()
    if not lines:
        return {}
    starts = [lines[0].index(title) for title in ("NAME", "READY", "PHASE", "VERSION", "COMPONENTS", "AGE")]
    cells = [[line[at:to].strip() for at, to in pairwise(starts)] for line in lines[1:]]
    return {name: tuple(rest) for name, *rest in cells}


async def selected(there: ClusterWorld, phase: str) -> list[str]:
    """The names of those in a phase, as the API server selects them."""
    printed = await there.kubectl("get", DEFINITION, "-o", "name", f"--field-selector=status.phase={phase}")
    return sorted(line.rpartition("/")[2] for line in printed.splitlines())


async def versions(there: ClusterWorld) -> dict[str, str]:
    """The resourceVersions."""
    items = (await there.read(ADDONS.path()))["items"]
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}
