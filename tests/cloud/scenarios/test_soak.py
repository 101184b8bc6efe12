"""Minutes of Nodes and Services that come and go, with a cloud of which each tenth call fails and an API server that is
restarted twice: in the end cluster and cloud agree, and the manager has not grown.

    HOOKRUNNER_SOAK_SECONDS=600 pytest -n0 -m soak tests/cloud/scenarios/test_soak.py

Level: control plane.
"""

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from benchmarks import proc
from tests.cloud.scenarios.documents import Document, node
from tests.cloud.scenarios.managers import UNBOUNDED, ours
from tests.cloud.scenarios.scenes import NOT_READY, service
from tests.cloud.scenarios.world import NAMESPACE, Scene, Step, World
from tests.controlplane.cluster import OwnCluster
from tests.flows.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("launcher")]

SECONDS = float(os.environ.get("HOOKRUNNER_SOAK_SECONDS", "600"))
NODES, SERVICES = 200, 50
BROKEN = (("garbage", 0.03), ("Unavailable", 0.03), ("exit", 0.02), ("half", 0.02))
CAREFUL = ("--node-delete-min-age=5s", *UNBOUNDED)
_GROWTH = 1.25


@dataclass(eq=False)
class Fleet:
    """What should exist: Nodes with their machines, and Services."""

    world: World
    cluster: OwnCluster
    random: random.Random
    nodes: dict[str, Scene] = field(default_factory=dict)
    services: dict[str, Scene] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(10**9)))

    def change(self) -> None:
        """One thing comes or goes."""
        if self.random.random() < 0.6:
            self._change_nodes()
        else:
            self._change_services()

    def _change_nodes(self) -> None:
        if len(self.nodes) < NODES:
            number = next(self.numbers)
            name, network = f"n-{number}", f"10.244.{number // 16 % 256}.{number % 16 * 16}/28"
            self.nodes[name] = Scene(name, node(name, podCIDRs=[network]))
            self.world.make([self.nodes[name]])
        else:
            name = self.random.choice(sorted(self.nodes))
            # One that was never initialised is not known to be ours, so it rightly stays.
            if self.cluster.request("GET", f"/api/v1/nodes/{name}").body["spec"].get("providerID"):
                self.world.change(self.nodes.pop(name), Step(status=NOT_READY, instance=None))

    def _change_services(self) -> None:
        if len(self.services) < SERVICES:
            name = f"s-{next(self.numbers)}"
            self.services[name] = Scene(name, service=service(name))
            self.world.make([self.services[name]])
        else:
            name = self.random.choice(sorted(self.services))
            self.world.change(self.services.pop(name), Step(spec=None))

    def differences(self) -> dict[str, list[str]]:
        """What is there though it should not be, or is missing: Nodes, those that are initialised, Services with an
        address, load balancers, routes."""
        nodes, services = _items(self.cluster, "/api/v1/nodes"), _services(self.cluster)
        cloud = json.loads(self.world.state.read_text())
        balancers = [balancer["service"] for balancer in cloud["loadBalancers"].values()]
        compared = {
            "nodes": ([*self.nodes], [obj["metadata"]["name"] for obj in nodes]),
            "initialised": ([*self.nodes], [obj["metadata"]["name"] for obj in nodes if obj["spec"].get("providerID")]),
            "routes": ([*self.nodes], [route["targetNode"] for route in cloud["routes"]]),
            "addresses": (
                [*self.services],
                [obj["metadata"]["name"] for obj in services if obj["status"]["loadBalancer"]],
            ),
            "balancers": ([f"{NAMESPACE}/{name}" for name in self.services], balancers),
        }
        different = {what: _difference(*both) for what, both in compared.items()}
        return {what: names for what, names in different.items() if names}


async def test_cluster_and_cloud_agree_after_minutes_of_trouble(own_cluster: OwnCluster, tmp_path: Path) -> None:
    world = World(own_cluster.kubeconfig, own_cluster.request, tmp_path)
    fleet = Fleet(world, own_cluster, random.Random(1))
    restarts = [SECONDS / 3, 2 * SECONDS / 3]
    with ours(world, *CAREFUL) as manager:
        world.break_calls(BROKEN)
        began, early = time.monotonic(), None
        while (passed := time.monotonic() - began) < SECONDS:
            if restarts and passed > restarts[0]:
                restarts.pop(0)
                own_cluster.stop_apiserver()
                own_cluster.start_apiserver()
            fleet.change()
            if early is None and passed > SECONDS / 2:
                early = _size(manager.pid)
        world.break_calls(())
        with suppress(TimeoutError):
            await until(lambda: not fleet.differences(), "cluster and cloud agree", 120.0)
        assert fleet.differences() == {}
        late = _size(manager.pid)
    assert early is not None
    assert all(after <= max(before * _GROWTH, before + 3) for before, after in zip(early, late, strict=True)), (
        early,
        late,
    )


def _size(pid: int) -> tuple[float, float, float]:
    """Memory in bytes, open descriptors, processes."""
    return proc.memory(pid).total, len(os.listdir(f"/proc/{pid}/fd")), len(list(proc.descendants(pid)))


def _difference(expected: list[str], found: list[str]) -> list[str]:
    """The names that are in one of these only, or more often."""
    wanted, have = Counter(expected), Counter(found)
    return sorted(((wanted - have) + (have - wanted)).elements())


def _items(cluster: OwnCluster, path: str) -> list[Document]:
    items: list[Document] = cluster.request("GET", path).body["items"]
    return items


def _services(cluster: OwnCluster) -> list[Document]:
    services = _items(cluster, f"/api/v1/namespaces/{NAMESPACE}/services")
    return [obj for obj in services if obj["metadata"]["name"] != "kubernetes"]
