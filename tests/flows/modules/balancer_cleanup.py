"""Services with load balancers while the module cloud-controller-manager is turned off: kept, or cleaned up by its Job.

The sandbox runs no containers, and no Node of it is a control plane, so the Pod of the Job finds no place. What a
kubelet would do, the story does: run the Job's command, and report how it ended.
"""

import asyncio
import json
import os
import sys
from typing import Any

from tests import launcher
from tests.cloud.scenarios.documents import SIMCLOUD
from tests.cloud.scenarios.managers import clean_environment
from tests.flows.modules.world import STORY, World
from tests.providers.provider_calls import PROVIDERS, ask

FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
MODULE = "cloud-controller-manager"
CLEANING = (
    "{onDisable: clean, controllers: [service], provider: {name: simcloud, configSecret: simcloud}, "
    "deploy: {mode: daemonset}}"
)
_WEB = "/api/v1/namespaces/default/services/web"
_JOB = "/apis/batch/v1/namespaces/kube-system/jobs/cloud-controller-manager-clean"


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


async def clean_up(world: World, web: BalancedService) -> None:
    """Turn the module on with `onDisable: clean` and off again: the release stays while the Job has not succeeded,
    which is repeated when it fails; then load balancer, finalizer and release go."""
    await world.configure(cloudControllerManager=CLEANING, cloudControllerManagerEnabled="true")
    await world.until(world.releases, [f"{MODULE}.v1 deployed"], "the module")
    await world.configure(cloudControllerManagerEnabled="false")
    failed = await _new_job(world, "")
    assert web.count_balancers() == 1
    await _report(world, "Failed")
    job = await _new_job(world, failed["metadata"]["uid"])
    assert [line.partition(".")[0] for line in await world.releases()] == [MODULE]
    assert (await web.read())["metadata"]["finalizers"] == [FINALIZER]
    problems = [str(record.get("error")) for record in world.operator.logs()]
    assert any("cloud-controller-manager-clean" in problem and "failed" in problem for problem in problems), problems

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
