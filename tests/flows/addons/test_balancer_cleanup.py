"""Services with load balancers while a CloudControllerManager is deleted: kept, or cleaned up by its Job.

The sandbox runs no containers, and no Node of it is a control plane, so the Pod of the Job finds no place. What a
kubelet would do, the story does: run the Job's command, and report how it ended.

Level: sandbox."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kubesandbox.sandbox import Options, Sandbox, serving
from kubetypes.json_values import JSON
from tests import launcher
from tests.cloud.scenarios.documents import SIMCLOUD
from tests.cloud.scenarios.managers import clean_environment
from tests.fakes.transports import all_closed
from tests.flows.modules.conftest import world
from tests.flows.modules.world import STORY, World
from tests.providers.provider_calls import PROVIDERS, ask

__all__ = ["world"]

FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
ADDON = "cloud-controller-manager"
INSTANCES = "/apis/addons.x-k8s.io/v1alpha1/namespaces/kube-system/cloudcontrollermanagers"
RELEASE = f"{ADDON}.kube-system.default"
CLEANING = {
    "onDisable": "clean",
    "controllers": ["service"],
    "provider": {"name": "simcloud", "configSecret": "simcloud"},
}
ROOT = Path(__file__).parents[3]
_WEB = "/api/v1/namespaces/default/services/web"
_JOB = "/apis/batch/v1/namespaces/kube-system/jobs/cloud-controller-manager-clean"


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    """Its workloads become ready."""
    async with serving(Options(simulate=True)) as sandbox:
        yield sandbox
    await all_closed()


class BalancedService:
    """A Service `web` with a load balancer of simcloud, as a manager has left it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._cloud = world.directory / "cloud.json"

    async def create(self) -> None:
        """In the cluster and in the cloud, under the name that managers give."""
        metadata = {"name": "web", "finalizers": [FINALIZER]}
        spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
        await self._world.ask("POST", f"{_WEB.removesuffix('/web')}?{STORY}", {"metadata": metadata, "spec": spec})
        made = await self.read()
        asked = {"service": made, "name": f"a{made['metadata']['uid'].replace('-', '')}"[:32], "nodes": []}
        answer = await asyncio.to_thread(ask, SIMCLOUD, self._cloud, "lb-ensure", asked)
        status = {"status": {"loadBalancer": answer["result"]["status"]}}
        await self._world.ask("PATCH", f"{_WEB}/status?{STORY}", status)

    async def read(self) -> Any:
        """The object."""
        return await self._world.ask("GET", _WEB, None)

    def count_balancers(self) -> int:
        """Those of the cloud."""
        return len(json.loads(self._cloud.read_text())["loadBalancers"])


@pytest.fixture
async def offering(world: World) -> World:
    """hookrunner offers the addon, and its kind is served."""
    world.operator.flags += (f"--addons-dir={ROOT / 'addons'}", f"--addons={ADDON}")
    await world.start()

    async def is_served() -> bool:
        return await world.ask("GET", INSTANCES, None) is not None

    await world.until(is_served, True, "the kind")
    return world


async def test_load_balancers_stay_unless_the_object_says_clean(offering: World) -> None:
    web = BalancedService(offering)
    await web.create()
    before = await web.read()
    await install(offering, {})
    await delete(offering)
    await offering.until(lambda: offering.ask("GET", f"{INSTANCES}/default", None), None, "the instance to be gone")
    assert await offering.releases() == []
    kept = await offering.ask("GET", f"/api/v1/namespaces/kube-system/events/{ADDON}-kept", None)
    assert (kept["reason"], kept["type"]) == ("LoadBalancersKept", "Warning")
    assert (await web.read(), web.count_balancers()) == (before, 1)

    await install(offering, CLEANING)
    await delete(offering)
    await clean_up(offering, web)


async def install(world: World, spec: JSON) -> None:
    """Create the instance, and wait for its release."""
    kind = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "CloudControllerManager"}
    await world.ask("POST", f"{INSTANCES}?{STORY}", {**kind, "metadata": {"name": "default"}, "spec": spec})
    await world.until(world.releases, [f"{RELEASE}.v1 deployed"], "the release")


async def delete(world: World) -> None:
    """Delete the instance, which stays until its release is gone."""
    await world.ask("DELETE", f"{INSTANCES}/default?{STORY}", None)


async def clean_up(world: World, web: BalancedService) -> None:
    """The release stays while the Job has not succeeded, which is repeated when it fails; then load balancer, finalizer
    and release go."""
    failed = await _new_job(world, "")
    assert web.count_balancers() == 1
    await _report(world, "Failed")
    job = await _new_job(world, failed["metadata"]["uid"])
    assert [line.partition(".v1")[0] for line in await world.releases()] == [RELEASE]
    assert (await web.read())["metadata"]["finalizers"] == [FINALIZER]
    problems = [str(record.get("error")) for record in world.operator.logs()]
    assert any(f"{ADDON}-clean" in problem and "failed" in problem for problem in problems), problems

    done = await asyncio.to_thread(_run, world, job["spec"]["template"]["spec"]["containers"][0])
    assert done.returncode == 0, done.stderr
    assert web.count_balancers() == 0
    await _report(world, "Complete")
    await world.until(world.releases, [], "the release to be gone")
    left = await web.read()
    assert ("finalizers" in left["metadata"], left["status"]) == (False, {"loadBalancer": {}})
    assert await world.ask("GET", _JOB, None) is None


async def _new_job(world: World, before: str) -> Any:
    """Wait for the Job, another one than that of this UID, until its Pod waits: its controller then does no more."""

    async def is_new() -> bool:
        found = await world.ask("GET", _JOB, None)
        return found is not None and found["metadata"]["uid"] != before and found["status"].get("active") == 1

    await world.until(is_new, True, "the Job")
    return await world.ask("GET", _JOB, None)


async def _report(world: World, condition: str) -> None:
    """Set the status of the Job as its controller does at the end."""
    when = "2026-01-01T00:00:00Z"
    end = {"type": condition, "status": "True", "reason": "Told", "lastTransitionTime": when}
    status: Any = {"active": 0, "conditions": [end]}
    if condition == "Complete":
        criterion = {**end, "type": "SuccessCriteriaMet"}
        status |= {"succeeded": 1, "completionTime": when, "conditions": [criterion, end]}
    await world.ask("PATCH", f"{_JOB}/status?{STORY}", {"status": status})


def _run(world: World, container: Any) -> Any:
    """Run the command of the Job with the places of the story for those of its image and its mounts."""
    places = {"/tmp/": f"{world.directory}/", "/providers": PROVIDERS, "/cloud-config/config": "cloud.json"}
    words = list(container["args"])
    for inside, outside in places.items():
        words = [word.replace(inside, str(outside)) for word in words]
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    environ = {**clean_environment(), "PATH": path, "KUBECONFIG": str(world.operator.kubeconfig)}
    return launcher.run(words, cwd=world.directory, env=environ)
