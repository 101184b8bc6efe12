"""Several replicas of a program that elects no leader for hooks and modules. Level: pure."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from hookrunner import log
from hookrunner.controllers.replica_check import PAUSE, OwnPod, ReplicaCheck
from hookrunner.errors import Denied, KubeError, NotFound, Unreachable
from hookrunner.kube.client import Client
from tests.fakes.cluster import running
from tests.tables import each

pytestmark = pytest.mark.looptime

POD = OwnPod("ops", "hookrunner-7d9-x")


def owned(name: str, kind: str, *, controller: bool = True) -> Any:
    return {"metadata": {"ownerReferences": [{"kind": kind, "name": name, "controller": controller}]}}


class Workloads:
    """The Pod, its ReplicaSet and its Deployment, by path. `error` is raised while there is one."""

    def __init__(self, replicas: int = 1) -> None:
        self.deployment: Any = {"metadata": {"name": "hookrunner"}, "spec": {"replicas": replicas}}
        self.objects: dict[str, Any] = {
            "/api/v1/namespaces/ops/pods/hookrunner-7d9-x": owned("hookrunner-7d9", "ReplicaSet"),
            "/apis/apps/v1/namespaces/ops/replicasets/hookrunner-7d9": owned("hookrunner", "Deployment"),
            "/apis/apps/v1/namespaces/ops/deployments/hookrunner": self.deployment,
        }
        self.error: KubeError | None = None
        self.reads = 0

    async def get(self, path: str, *_: object, **__: object) -> Any:
        self.reads += 1
        if self.error:
            raise self.error
        if path not in self.objects:
            raise NotFound(404, "NotFound", path)
        return self.objects[path]

    def check(self, pod: OwnPod | None = POD, *, asked: bool = False) -> ReplicaCheck:
        return ReplicaCheck(cast(Client, self), pod, asked)


@pytest.fixture
def errors(tmp_path: Path) -> Iterator[Path]:
    """A file with the errors in the log."""
    with (tmp_path / "log").open("w") as stream:
        log.configure("text", "error", stream)
        yield tmp_path / "log"
    log.configure("text", "info", sys.__stderr__ or sys.stderr)


async def test_a_scaled_deployment_is_reported_once_and_until_it_is_scaled_down(errors: Path) -> None:
    workloads = Workloads(replicas=2)
    check = workloads.check()
    async with running(check.run()):
        await asyncio.sleep(1)
        ready, message = check.conditions()["replicas"]
        assert ready
        assert message.startswith("the Deployment hookrunner has 2 replicas: each replica runs all hooks and modules")
        await asyncio.sleep(3 * PAUSE)
        assert errors.read_text().count("the Deployment hookrunner has 2 replicas") == 1
        workloads.deployment["spec"] = {}
        await asyncio.sleep(PAUSE)
        assert check.conditions() == {}


async def test_what_a_setting_asks_for_is_reported_again_after_scaling_down() -> None:
    workloads = Workloads(replicas=2)
    check = workloads.check(asked=True)
    async with running(check.run()):
        await asyncio.sleep(1)
        assert "2 replicas" in check.conditions()["replicas"][1]
        workloads.deployment["spec"] = {}
        await asyncio.sleep(PAUSE)
        assert check.conditions()["replicas"][1].startswith("ADDON_OPERATOR_HA asks for several replicas")


async def test_one_replica_is_no_problem_also_while_it_is_replaced() -> None:
    workloads = Workloads()
    workloads.deployment["status"] = {"replicas": 2}
    check = workloads.check()
    async with running(check.run()):
        await asyncio.sleep(1)
        assert check.conditions() == {}


async def test_an_outage_is_waited_for_and_a_missing_right_ends_it() -> None:
    workloads = Workloads(replicas=3)
    check, workloads.error = workloads.check(), Unreachable("no answer")
    async with running(check.run()):
        await asyncio.sleep(1)
        workloads.error = None
        await asyncio.sleep(PAUSE)
        assert "3 replicas" in check.conditions()["replicas"][1]
    workloads.error = Denied(403, "Forbidden", "no")
    await asyncio.wait_for(workloads.check().run(), 1)


@each(
    "path",
    ["/api/v1/namespaces/ops/pods/hookrunner-7d9-x", "/apis/apps/v1/namespaces/ops/replicasets/hookrunner-7d9"],
)
async def test_a_pod_of_something_else_is_not_looked_at_again(path: str) -> None:
    workloads = Workloads(replicas=2)
    workloads.objects[path] = owned("other", "StatefulSet")
    check = workloads.check()
    await asyncio.wait_for(check.run(), 1)
    assert check.conditions() == {}


async def test_a_setting_that_asks_for_replicas_is_reported_also_outside_a_cluster(errors: Path) -> None:
    check = Workloads().check(None, asked=True)
    await asyncio.wait_for(check.run(), 1)
    assert errors.read_text().count("ADDON_OPERATOR_HA asks for several replicas") == 1
    assert check.conditions()["replicas"][1].startswith("ADDON_OPERATOR_HA asks for several replicas: each replica")
