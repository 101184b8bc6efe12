"""Everything that runs in one process sees one cluster: hooks, global hooks, `enabled` scripts, templates and the loops
of the cloud. Another one, to which the environment leads, is asked nothing.

Level: sandbox."""

import json
import os
from dataclasses import replace

import pytest
import yaml

from kubesandbox.sandbox import Options, Sandbox, serving
from tests.controlplane.tools import find_tool
from tests.flows.modules.world import World
from tests.flows.operator import Operator
from tests.flows.scripts import hook, watching
from tests.flows.test_sandbox import CONFIGMAPS, Api
from tests.flows.waiting import until
from tests.providers.provider_calls import PROVIDERS

ASK = "kubectl create configmap {} -n default >&2\n"
"""What a hook does that talks to the cluster by itself."""

TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: of-chart}
data: {found: '{{ (lookup "v1" "ConfigMap" "default" "seen").metadata.name }}'}
"""
SEED = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: seen, namespace: default}
---
apiVersion: v1
kind: Node
metadata: {name: worker-1}
spec: {taints: [{key: node.cloudprovider.kubernetes.io/uninitialized, value: "true", effect: NoSchedule}]}
"""
MADE = {"of-chart", "of-config", "of-global", "of-hook", "of-script"}


@pytest.fixture
def alone(world: World, sandbox: Sandbox) -> World:
    """The story's sandbox is the user's own cluster; `own` is the kubeconfig of the one in the program."""
    host, _, port = sandbox.url.removeprefix("http://").partition(":")
    leading = {
        "PATH": f"{find_tool('kubectl').parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(world.directory / "kc"),
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_MASTER": sandbox.url,
        "HELM_KUBEAPISERVER": sandbox.url,
    }
    seed = world.write("seed.yaml", SEED)
    flags = (*world.operator.flags, "--sandbox", f"--sandbox-kubeconfig={world.directory / 'own'}", f"--seed={seed}")
    world.operator = Operator(world.directory, world.directory / "kc", flags, environ=leading)
    return world


def ask_from_everywhere(world: World) -> None:
    """Each kind of process makes a ConfigMap, and the chart looks one up."""
    asking, config = hook({"onStartup": 1}, ASK.format("of-hook")), '[ "$1" = --config ]'
    world.write("hooks/h.sh", asking.replace(config, f"{config} && {ASK.format('of-config')}{config}", 1))
    world.write("global-hooks/g.sh", hook({"onStartup": 1}, ASK.format("of-global")))
    script = f'#!/bin/bash\n{ASK.format("of-script || true")}echo true > "$MODULE_ENABLED_RESULT"\n'
    world.module("010-alpha", {"enabled": script, "templates/a.yaml": TEMPLATE})
    world.write("modules/values.yaml", "alphaEnabled: true\n")


async def test_all_processes_under_a_sandbox_see_only_the_sandbox(alone: World, sandbox: Sandbox) -> None:
    """Hooks, modules and the cloud end together."""
    ask_from_everywhere(alone)
    cloud = (f"--cloud-provider={PROVIDERS / 'simcloud'}", f"--cloud-config={alone.directory / 'cloud.json'}")
    alone.operator = replace(alone.operator, flags=(*alone.operator.flags, *cloud))
    await alone.start()
    own = Api(alone.directory / "own")
    assert set(own.names()) >= MADE
    assert own.ask("GET", f"{CONFIGMAPS}/of-chart")["data"] == {"found": "seen"}
    await until(lambda: own.ask("GET", "/api/v1/nodes/worker-1")["spec"].get("providerID"), "the Node is initialised")
    assert list(sandbox.faults.requests) == []
    await alone.stop()
    assert await alone.operator.wait_log("gave the lease back")


async def test_all_processes_see_the_cluster_of_the_named_context(world: World, sandbox: Sandbox) -> None:
    """Which is not the current one of the kubeconfig, nor that of the environment. Nothing is left of the kubeconfig
    that was made for hooks."""
    async with serving(Options()) as other:
        (world.directory / "other").write_text(other.kubeconfig())
        both = yaml.safe_load(other.kubeconfig())
        both["clusters"].append({"name": "named", "cluster": {"server": sandbox.url}})
        both["contexts"].append({"name": "named", "context": {"cluster": "named"}})
        (world.directory / "kc").write_text(json.dumps(both))
        flags, environ = (*world.operator.flags, "--kube-context=named"), {"KUBECONFIG": str(world.directory / "other")}
        world.operator = Operator(world.directory, world.directory / "kc", flags, environ=environ)
        await world.create("seen")
        ask_from_everywhere(world)
        await world.start()
        assert set(await world.maps()) >= MADE
        assert await world.map("of-chart") == {"found": "seen"}
        assert list(other.faults.requests) == []
        await world.stop()
    assert list((world.directory / "tmp").glob("kubeconfig*")) == []


async def test_refused_credentials_of_a_sandbox_are_not_replaced_by_those_of_another_cluster(
    alone: World, sandbox: Sandbox
) -> None:
    """Each refusal has them loaded again."""
    alone.write("hooks/h.sh", watching("default"))
    await alone.start()
    own = Api(alone.directory / "own")
    own.ask("POST", "/_sandbox/faults", {"match": f"GET {CONFIGMAPS}", "what": "answer", "status": 401, "times": 2})
    own.ask("POST", "/_sandbox/cut")
    await until(lambda: own.ask("GET", "/_sandbox/faults")["faults"] == [], "two refusals")
    own.create("after")
    assert await alone.operator.hears("h.sh", 1) == [("Added", "after")]
    assert list(sandbox.faults.requests) == []
