"""The shipped modules, at work on a sandbox whose Pods become Ready, and on the real control plane."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hookrunner.cli.debug import ask
from kubesandbox.sandbox import Options, Sandbox, serving
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.tools import find_tool
from tests.fakes.transports import all_closed
from tests.faults.proxy import Proxy
from tests.flows.modules.balancer_cleanup import BalancedService, clean_up
from tests.flows.modules.conftest import on
from tests.flows.modules.world import World

ROOT = Path(__file__).parents[3]
KEYS = {
    "metrics-server": "metricsServer",
    "coredns": "coredns",
    "node-local-dns": "nodeLocalDns",
    "ingress-nginx": "ingressNginx",
    "kubernetes-dashboard": "kubernetesDashboard",
    "cloud-controller-manager": "cloudControllerManager",
}
ANYWHERE = {"cloudControllerManager": "deploy: {mode: deployment}"}
"""There are no control planes for its DaemonSet."""
COREDNS = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
API_SERVER = {
    "metadata": {"name": "kubernetes"},
    "spec": {"clusterIP": "10.96.0.1", "ports": [{"name": "https", "port": 443}]},
}


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with serving(Options(simulate=True)) as sandbox:
        yield sandbox
    await all_closed()


@pytest.fixture
async def shipped(world: World) -> World:
    """Everything turned on with the values of `values/`, and running."""
    (world.directory / "modules").symlink_to(ROOT / "modules")
    await world.ask("POST", "/api/v1/namespaces/default/services?story=yes", API_SERVER)
    flags = {f"{key}Enabled": "true" for key in KEYS.values()}
    values = {key: (ROOT / "values" / f"{name}.yaml").read_text() for name, key in KEYS.items()} | ANYWHERE
    await world.configure(**flags, **values)
    await world.start()
    return world


async def workloads(world: World) -> dict[str, bool]:
    """Which there are, and whether all their Pods are ready."""
    found = {}
    for one in (await world.ask("GET", "/apis/apps/v1/deployments", None))["items"]:
        found[one["metadata"]["name"]] = one["status"].get("readyReplicas") == one["spec"]["replicas"]
    for one in (await world.ask("GET", "/apis/apps/v1/daemonsets", None))["items"]:
        found[one["metadata"]["name"]] = one["status"]["numberReady"] == one["status"]["desiredNumberScheduled"] > 0
    return found


async def test_all_shipped_modules_run_together(shipped: World) -> None:
    """They are installed, get another value, are left alone at a restart, and go away."""
    parts = ("auth", "api", "web", "metrics-scraper", "gateway")
    names = ["ingress-nginx-controller", *(f"kubernetes-dashboard-{part}" for part in parts)]
    names += ["metrics-server", "coredns", "node-local-dns", "cloud-controller-manager"]
    await shipped.until(lambda: workloads(shipped), dict.fromkeys(names, True), "all workloads to be ready")
    assert await shipped.releases() == sorted(f"{name}.v1 deployed" for name in KEYS)
    service = await shipped.ask("GET", "/api/v1/namespaces/kube-system/services/kube-dns", None)
    assert service["spec"]["clusterIP"] == "10.96.0.10"
    cache = await shipped.ask("GET", "/api/v1/namespaces/kube-system/configmaps/node-local-dns", None)
    assert "bind 169.254.20.10 10.96.0.10\n" in cache["data"]["Corefile"]

    async def dns_pods() -> object:
        return (await shipped.ask("GET", COREDNS, None))["status"].get("readyReplicas")

    await shipped.configure(coredns="replicas: 3")
    await shipped.until(dns_pods, 3, "Pods of CoreDNS")

    async def settled() -> bool:
        return "coredns.v2 deployed" in await shipped.releases()

    await shipped.until(settled, True, "the new revision")
    await shipped.stop()
    shipped.writes()
    await shipped.start()
    assert shipped.writes() == []

    web = BalancedService(shipped)
    await web.create()
    before = await web.read()
    await shipped.configure(**{f"{key}Enabled": "false" for key in KEYS.values()})
    await shipped.until(shipped.releases, [], "all releases to be gone")
    assert await workloads(shipped) == {}
    for namespace in ("ingress-nginx", "kubernetes-dashboard"):
        assert await shipped.ask("GET", f"/api/v1/namespaces/{namespace}", None) is not None
    kept = await shipped.ask("GET", "/api/v1/namespaces/kube-system/events/cloud-controller-manager-kept", None)
    assert (kept["reason"], kept["type"]) == ("LoadBalancersKept", "Warning")
    assert (await web.read(), web.count_balancers()) == (before, 1)
    await clean_up(shipped, web)


@pytest.fixture
async def everything(whole_cluster: OwnCluster, tmp_path: Path) -> AsyncIterator[World]:
    """A copy of the modules, of which all are on, in a cluster of their own: neither their APIService nor their webhook
    is answered by a fake Pod."""
    async with Proxy(whole_cluster.access, tmp_path) as proxy, on(whole_cluster, proxy, "default", tmp_path) as real:
        await _enable(real)
        yield real


async def _enable(real: World) -> None:
    real.operator.flags = (*real.operator.flags, "--module-patience=5m")  # so a start ends when all are installed
    shutil.copytree(ROOT / "modules", real.directory / "modules")
    flags = {f"{key}Enabled": "true" for key in KEYS.values()}
    here = f"namespace: {real.namespace}\n"
    harmless = "admissionWebhook: {failurePolicy: Ignore, timeoutSeconds: 1}\n"
    await real.configure(
        **flags, metricsServer=here, kubernetesDashboard=here, ingressNginx=here + harmless, **ANYWHERE
    )


async def test_shipped_modules_are_installed_upgraded_and_removed_on_a_real_control_plane(everything: World) -> None:
    """Installed, upgraded, rolled back, put back, left alone at a restart, purged, turned off."""
    world = everything
    await world.start()
    assert await world.releases() == sorted(f"{name}.v1 deployed" for name in KEYS)
    ready = {name: one for name, one in (await workloads(world)).items() if "dash" in name or "dns" in name}
    assert len(ready) == 7, ready
    assert all(ready.values()), ready
    assert await asyncio.to_thread(list_by_helm, world) == dict.fromkeys(KEYS, "deployed")

    schema = world.directory / "modules/020-coredns/openapi/config-values.yaml"
    schema.write_text(schema.read_text().replace("default: v1.14.6", "default: v1.99.0"))
    await world.again()
    assert (await image(world)).endswith(":v1.99.0")
    socket = (world.directory / "debug.socket",)
    await asyncio.to_thread(ask, socket, "/module/coredns/rollback?revision=1", {})
    assert (await image(world)).endswith(":v1.14.6")
    assert "coredns.v3 deployed" in await world.releases()

    before = (await world.ask("GET", COREDNS, None))["metadata"]["uid"]
    await world.ask("DELETE", f"{COREDNS}?propagationPolicy=Background&story=yes", None)

    async def is_back() -> bool:
        found = await world.ask("GET", COREDNS, None)
        return bool(found) and found["metadata"]["uid"] != before and found["status"].get("readyReplicas") == 2

    await world.until(is_back, True, "CoreDNS to be back")
    await world.stop()
    world.writes()
    await world.start()
    assert world.writes() == []

    world.without("modules/050-kubernetes-dashboard")
    await world.again()

    async def names() -> list[str]:
        return sorted({line.partition(".")[0] for line in await world.releases()})

    await world.until(names, sorted(KEYS.keys() - {"kubernetes-dashboard"}), "the purge")
    await world.configure(**{f"{key}Enabled": "false" for key in KEYS.values()})
    await world.until(names, [], "all releases to be gone")
    assert await world.ask("GET", COREDNS, None) is None
    assert await world.ask("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io", None) is None


def list_by_helm(world: World) -> dict[str, str]:
    """The state of each release, as `helm list` shows it."""
    command = [str(find_tool("helm")), "list", f"--namespace={world.namespace}", "--output=json"]
    listed = subprocess.run([*command, f"--kubeconfig={world.operator.kubeconfig}"], capture_output=True, check=True)
    return {release["name"]: release["status"] for release in json.loads(listed.stdout)}


async def image(world: World) -> Any:
    """What CoreDNS is to run."""
    return (await world.ask("GET", COREDNS, None))["spec"]["template"]["spec"]["containers"][0]["image"]
