"""The shipped modules, at work on a sandbox whose Pods become Ready, and on the real control plane.

Level: control plane."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.cli.debug import ask
from kubesandbox.sandbox import Options, Sandbox, serving
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.processes import free_port
from tests.controlplane.tools import find_tool
from tests.fakes.transports import all_closed
from tests.faults.proxy import Proxy
from tests.flows.modules.balancer_cleanup import BalancedService, clean_up
from tests.flows.modules.conftest import on
from tests.flows.modules.world import World

ROOT = Path(__file__).parents[3]
KEYS = {
    "ingress-nginx": "ingressNginx",
    "cloud-controller-manager": "cloudControllerManager",
    "hello-world": "helloWorld",
}
ANYWHERE = {"cloudControllerManager": "deploy: {mode: deployment}"}
"""There are no control planes for its DaemonSet."""
HELLO = "/apis/apps/v1/namespaces/{}/deployments/hello-world"
GREETINGS = "/apis/hello-world.example.com/v1/namespaces/{}/greetings"
GREETING = {
    "apiVersion": "hello-world.example.com/v1",
    "kind": "Greeting",
    "metadata": {"name": "day"},
    "spec": {"text": "Good\nday"},
}


def webhook_flags() -> tuple[str, ...]:
    """Of an operator outside the cluster, whose API server asks the sample about Greetings."""
    port = free_port()
    return (f"--webhook-port={port}", f"--webhook-url=https://127.0.0.1:{port}")


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with serving(Options(simulate=True)) as sandbox:
        yield sandbox
    await all_closed()


@pytest.fixture
async def shipped(world: World) -> World:
    """Everything turned on with the values of `values/` and of the sample, and running."""
    (world.directory / "modules").symlink_to(ROOT / "modules")
    world.operator.flags += webhook_flags()
    flags = {f"{key}Enabled": "true" for key in KEYS.values()}
    values = {KEYS[path.stem]: path.read_text() for path in (ROOT / "values").glob("*.yaml")}
    sample = yaml.safe_load((ROOT / "modules/100-hello-world/example.yaml").read_text())["data"]
    await world.configure(**{**flags, **values, **sample, **ANYWHERE})
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
    names = ("ingress-nginx-controller", "cloud-controller-manager", "hello-world")
    await shipped.until(lambda: workloads(shipped), dict.fromkeys(names, True), "all workloads to be ready")
    assert await shipped.releases() == sorted(f"{name}.v1 deployed" for name in KEYS)
    await shipped.becomes("hello-world", **{"index.html": "Hello", "title.txt": "HELLO", "greetings.txt": ""})
    await shipped.ask("POST", GREETINGS.format("default") + "?story=yes", GREETING)
    await shipped.becomes("hello-world", **{"index.html": "Hello", "title.txt": "HELLO", "greetings.txt": "Good day"})
    greeting = await shipped.ask("GET", GREETINGS.format("default").replace("v1", "v2") + "/day", None)
    assert (greeting["spec"], greeting["metadata"]["labels"]) == ({"lines": ["Good", "day"]}, {"greeted": "true"})
    await shipped.configure(helloWorld="forbidden: [Good]")
    await shipped.until(lambda: refusal(shipped), "the Greeting contains a forbidden word: Good", "a refusal")

    async def ready_pods() -> object:
        path = "/apis/apps/v1/namespaces/ingress-nginx/deployments/ingress-nginx-controller"
        return (await shipped.ask("GET", path, None))["status"].get("readyReplicas")

    await shipped.configure(ingressNginx="replicas: 3")
    await shipped.until(ready_pods, 3, "Pods of ingress-nginx")

    async def settled() -> bool:
        return "ingress-nginx.v2 deployed" in await shipped.releases()

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
    assert await shipped.ask("GET", "/api/v1/namespaces/ingress-nginx", None) is not None
    assert await shipped.map("hello-world-guests") == {}
    assert await shipped.ask("GET", GREETINGS.format("default").replace("v1", "v2") + "/day", None), "the kind stays"
    kept = await shipped.ask("GET", "/api/v1/namespaces/kube-system/events/cloud-controller-manager-kept", None)
    assert (kept["reason"], kept["type"]) == ("LoadBalancersKept", "Warning")
    assert (await web.read(), web.count_balancers()) == (before, 1)
    await clean_up(shipped, web)


async def refusal(world: World) -> str:
    """Why another Greeting would be refused; empty if it would not."""
    other = {**GREETING, "metadata": {"name": "other"}}
    try:
        await world.ask("POST", GREETINGS.format("default") + "?dryRun=All&story=yes", other)
    except AssertionError as refused:
        words = "the Greeting contains a forbidden word: Good"
        return words if words in str(refused) else str(refused)
    return ""


@pytest.fixture
async def everything(whole_cluster: OwnCluster, tmp_path: Path) -> AsyncIterator[World]:
    """A copy of the modules, of which all are on, in a cluster of their own: neither their APIService nor their webhook
    is answered by a fake Pod."""
    async with Proxy(whole_cluster.access, tmp_path) as proxy, on(whole_cluster, proxy, "default", tmp_path) as real:
        await _enable(real)
        yield real


async def _enable(real: World) -> None:
    real.operator.flags = (*real.operator.flags, "--module-patience=5m")  # so a start ends when all are installed
    real.operator.flags += webhook_flags()
    shutil.copytree(ROOT / "modules", real.directory / "modules")
    flags = {f"{key}Enabled": "true" for key in KEYS.values()}
    here = f"namespace: {real.namespace}\n"
    harmless = "admissionWebhook: {failurePolicy: Ignore, timeoutSeconds: 1}\n"
    await real.configure(**flags, ingressNginx=here + harmless, **ANYWHERE)


@pytest.mark.nightly  # each alone, with its own rights: test_module_lives.py
async def test_shipped_modules_are_installed_upgraded_and_removed_on_a_real_control_plane(everything: World) -> None:
    """Installed, upgraded, rolled back, put back, left alone at a restart, purged, turned off."""
    world = everything
    await world.start()
    assert await world.releases() == sorted(f"{name}.v1 deployed" for name in KEYS)
    assert (await workloads(world))["hello-world"]
    assert await asyncio.to_thread(list_by_helm, world) == dict.fromkeys(KEYS, "deployed")

    schema = world.directory / "modules/100-hello-world/openapi/config-values.yaml"
    schema.write_text(schema.read_text().replace("default: 1.29.0", "default: 1.99.0"))
    await world.again()
    assert (await image(world)).endswith(":1.99.0")
    socket = (world.directory / "debug.socket",)
    await asyncio.to_thread(ask, socket, "/module/hello-world/rollback?revision=1", {})
    assert (await image(world)).endswith(":1.29.0")
    assert "hello-world.v3 deployed" in await world.releases()
    await world.ask("POST", GREETINGS.format(world.namespace) + "?story=yes", GREETING)

    async def has_release() -> bool:
        return "hello-world.v4 deployed" in await world.releases()

    await world.until(has_release, True, "the Greeting in the values")
    hello = HELLO.format(world.namespace)
    before = (await world.ask("GET", hello, None))["metadata"]["uid"]
    await world.ask("DELETE", f"{hello}?propagationPolicy=Background&story=yes", None)

    async def is_back() -> bool:
        found = await world.ask("GET", hello, None)
        return bool(found) and found["metadata"]["uid"] != before and found["status"].get("readyReplicas") == 1

    await world.until(is_back, True, "the sample to be back")
    await world.stop()
    world.writes()
    await world.start()
    assert world.writes() == []

    world.without("modules/040-ingress-nginx")
    await world.again()

    async def names() -> list[str]:
        return sorted({line.partition(".")[0] for line in await world.releases()})

    await world.until(names, sorted(KEYS.keys() - {"ingress-nginx"}), "the purge")
    await world.configure(**{f"{key}Enabled": "false" for key in KEYS.values()})
    await world.until(names, [], "all releases to be gone")
    assert await world.ask("GET", hello, None) is None
    assert await world.ask("GET", "/apis/networking.k8s.io/v1/ingressclasses/nginx", None) is None


def list_by_helm(world: World) -> dict[str, str]:
    """The state of each release, as `helm list` shows it."""
    command = [str(find_tool("helm")), "list", f"--namespace={world.namespace}", "--output=json"]
    listed = subprocess.run([*command, f"--kubeconfig={world.operator.kubeconfig}"], capture_output=True, check=True)
    return {release["name"]: release["status"] for release in json.loads(listed.stdout)}


async def image(world: World) -> Any:
    """What the sample is to run."""
    return (await world.ask("GET", HELLO.format(world.namespace), None))["spec"]["template"]["spec"]["containers"][0][
        "image"
    ]
