"""The modules that ship, at work on a sandbox whose Pods become Ready."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hookrunner.sandbox.sandbox import Options, Sandbox, serving
from tests.fakes.transports import all_closed
from tests.flows.modules.world import World

ROOT = Path(__file__).parents[3]
KEYS = {
    "metrics-server": "metricsServer",
    "coredns": "coredns",
    "node-local-dns": "nodeLocalDns",
    "ingress-nginx": "ingressNginx",
    "kubernetes-dashboard": "kubernetesDashboard",
}
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
    values = {key: (ROOT / "values" / f"{name}.yaml").read_text() for name, key in KEYS.items()}
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


async def test_all_modules_that_ship_run_side_by_side(shipped: World) -> None:
    """They are installed, get another value, are left alone at a restart, and go away."""
    parts = ("auth", "api", "web", "metrics-scraper", "gateway")
    names = ["ingress-nginx-controller", *(f"kubernetes-dashboard-{part}" for part in parts)]
    names += ["metrics-server", "coredns", "node-local-dns"]
    await shipped.until(lambda: workloads(shipped), dict.fromkeys(names, True), "all workloads to be ready")
    assert await shipped.releases() == sorted(f"{name}.v1 deployed" for name in KEYS)
    service = await shipped.ask("GET", "/api/v1/namespaces/kube-system/services/kube-dns", None)
    assert service["spec"]["clusterIP"] == "10.96.0.10"
    cache = await shipped.ask("GET", "/api/v1/namespaces/kube-system/configmaps/node-local-dns", None)
    assert "bind 169.254.20.10 10.96.0.10\n" in cache["data"]["Corefile"]

    async def dns_pods() -> object:
        path = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
        return (await shipped.ask("GET", path, None))["status"].get("readyReplicas")

    await shipped.configure(coredns="replicas: 3")
    await shipped.until(dns_pods, 3, "Pods of CoreDNS")

    async def settled() -> bool:
        return "coredns.v2 deployed" in await shipped.releases()

    await shipped.until(settled, True, "the new revision")
    await shipped.stop()
    shipped.writes()
    await shipped.start()
    assert shipped.writes() == []

    await shipped.configure(**{f"{key}Enabled": "false" for key in KEYS.values()})
    await shipped.until(shipped.releases, [], "all releases to be gone")
    assert await workloads(shipped) == {}
    for namespace in ("ingress-nginx", "kubernetes-dashboard"):
        assert await shipped.ask("GET", f"/api/v1/namespaces/{namespace}", None) is not None
