"""The shipped module, at work on a sandbox whose Pods become Ready. On a real control plane: test_module_lives.py.

Level: sandbox."""

import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from kubesandbox.sandbox import Options, Sandbox, serving
from tests.controlplane.processes import free_port
from tests.controlplane.tools import find_tool
from tests.fakes.transports import all_closed
from tests.flows.modules.world import World

ROOT = Path(__file__).parents[3]
GREETINGS = "/apis/hello-world.example.com/v1/namespaces/{}/greetings"
GREETING = {
    "apiVersion": "hello-world.example.com/v1",
    "kind": "Greeting",
    "metadata": {"name": "day"},
    "spec": {"text": "Good\nday"},
}


SELDOM = '"0 0 29 2 *"'
"""A crontab in place of each full hour, at which a hook of the sample writes: a story may go on at any time."""


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
    """Turned on with the values of its example, and running."""
    shutil.copytree(ROOT / "modules", world.directory / "modules")
    hook = world.directory / "modules/100-hello-world/hooks/lifecycle.sh"
    hook.write_text(hook.read_text().replace('"0 * * * *"', SELDOM))
    world.operator.flags += webhook_flags()
    sample = yaml.safe_load((ROOT / "modules/100-hello-world/example.yaml").read_text())["data"]
    await world.configure(**sample | {"helloWorldEnabled": "true"})
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


async def test_the_shipped_module_runs(shipped: World) -> None:
    """It is installed, its hooks answer, it is left alone at a restart, and goes away."""
    await shipped.until(lambda: workloads(shipped), {"hello-world": True}, "its Pods to be ready")
    assert await shipped.releases() == ["hello-world.v1 deployed"]
    await shipped.becomes("hello-world", **{"index.html": "Hello", "title.txt": "HELLO", "greetings.txt": ""})
    await shipped.ask("POST", GREETINGS.format("default") + "?story=yes", GREETING)
    await shipped.becomes("hello-world", **{"index.html": "Hello", "title.txt": "HELLO", "greetings.txt": "Good day"})
    greeting = await shipped.ask("GET", GREETINGS.format("default").replace("v1", "v2") + "/day", None)
    assert (greeting["spec"], greeting["metadata"]["labels"]) == ({"lines": ["Good", "day"]}, {"greeted": "true"})
    await shipped.configure(helloWorld="forbidden: [Good]")
    await shipped.until(lambda: refusal(shipped), "the Greeting contains a forbidden word: Good", "a refusal")
    await shipped.module_is("hello-world", ready=True)  # what it refuses by is written into its record last
    assert await shipped.releases() == ["hello-world.v1 superseded", "hello-world.v2 deployed"]
    await shipped.stop()
    shipped.writes()
    await shipped.start()
    assert shipped.writes() == []

    await shipped.configure(helloWorldEnabled="false")
    await shipped.until(shipped.releases, [], "the release to be gone")
    assert await workloads(shipped) == {}
    assert await shipped.map("hello-world-guests") == {}
    assert await shipped.ask("GET", GREETINGS.format("default").replace("v1", "v2") + "/day", None), "the kind stays"


async def refusal(world: World) -> str:
    """Why another Greeting would be refused; empty if it would not."""
    other = {**GREETING, "metadata": {"name": "other"}}
    try:
        await world.ask("POST", GREETINGS.format("default") + "?dryRun=All&story=yes", other)
    except AssertionError as refused:
        words = "the Greeting contains a forbidden word: Good"
        return words if words in str(refused) else str(refused)
    return ""


def list_by_helm(world: World) -> dict[str, str]:
    """The state of each release, as `helm list` shows it."""
    command = [str(find_tool("helm")), "list", f"--namespace={world.namespace}", "--output=json"]
    listed = subprocess.run([*command, f"--kubeconfig={world.operator.kubeconfig}"], capture_output=True, check=True)
    return {release["name"]: release["status"] for release in json.loads(listed.stdout)}
