"""The cloud controller manager for ten minutes: Nodes and Services come and go, one call of the provider in ten fails,
the API server is restarted. In the end cluster and cloud agree, and nothing has piled up."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from hookrunner.cloud.cloud_node import UNINITIALIZED
from hookrunner.cloud.services.cloud_service import CLEANUP_FINALIZER
from tests.controlplane.cluster import OwnCluster
from tests.providers.provider_calls import PROVIDERS, run

SIMCLOUD = PROVIDERS / "simcloud"
FLAGS = (
    *("--cluster-cidr=10.0.0.0/8", "--route-reconciliation-period=5s", "--node-status-update-frequency=10s"),
    *("--node-monitor-period=1s", "--node-delete-min-age=0s", "--node-delete-max-ratio=1"),
    *("--node-delete-max-per-pass=0", "--listen-port=0", "--leader-elect=false"),
)
NODES, SERVICES = "/api/v1/nodes", "/api/v1/namespaces/default/services"
MOST_NODES, MOST_SERVICES = 200, 50
AGREEMENT = 120.0
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Usage:
    """Memory in bytes, open files and children of a process."""

    memory: int
    files: int
    children: int


def measure(pid: int) -> Usage:
    process = Path(f"/proc/{pid}")
    pages = int((process / "statm").read_text().split()[1])
    children = (process / f"task/{pid}/children").read_text().split()
    return Usage(pages * os.sysconf("SC_PAGE_SIZE"), len(list((process / "fd").iterdir())), len(children))


@dataclass
class Crowd:
    """Machines with their Nodes, and Services: what a user wants at the moment."""

    cluster: OwnCluster
    state: Path
    dice: random.Random = field(default_factory=lambda: random.Random(16))
    nodes: dict[str, str] = field(default_factory=dict)
    """Networks by the names of Nodes whose machines exist."""
    services: dict[str, bool] = field(default_factory=dict)
    """Whether each wants a load balancer."""
    count: int = 0

    def simulate(self, *words: str) -> None:
        run(SIMCLOUD, self.state, *words)

    def request(self, method: str, path: str, body: object = None) -> None:
        reply = self.cluster.request(method, path, body)
        assert reply.status < HTTPStatus.INTERNAL_SERVER_ERROR or reply.status == HTTPStatus.SERVICE_UNAVAILABLE

    def step(self) -> None:
        """Something happens."""
        acts: list[tuple[int, Callable[[], None]]] = [
            (3 if len(self.nodes) < MOST_NODES else 0, self.add_node),
            (1 if self.nodes else 0, self.terminate_node),
            (2 if len(self.services) < MOST_SERVICES else 0, self.add_service),
            (1 if self.services else 0, self.delete_service),
            (2 if self.services else 0, self.change_service),
        ]
        act = self.dice.choices([act for _, act in acts], [weight for weight, _ in acts])[0]
        self.count += 1
        act()

    def add_node(self) -> None:
        name, network = f"n{self.count}", f"10.{self.count // 250}.{self.count % 250}.0/24"
        self.simulate("add-instance", name)
        taint = {"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}
        spec = {"taints": [taint], "podCIDR": network, "podCIDRs": [network]}
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        self.request("POST", NODES, {"metadata": {"name": name}, "spec": spec, "status": status})
        self.nodes[name] = network

    def terminate_node(self) -> None:
        """Of a Node that has its providerID: one without belongs to no cloud, and is never deleted."""
        name = self.dice.choice([*self.nodes])
        if not is_initialized(self.cluster.request("GET", f"{NODES}/{name}").body):
            return
        self.simulate("terminate", name)
        status = {"conditions": [{"type": "Ready", "status": "False"}]}
        self.request("PATCH", f"{NODES}/{name}/status", {"status": status})
        del self.nodes[name]

    def add_service(self) -> None:
        name = f"s{self.count}"
        spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
        self.request("POST", SERVICES, {"metadata": {"name": name}, "spec": spec})
        self.services[name] = True

    def delete_service(self) -> None:
        name = self.dice.choice([*self.services])
        self.request("DELETE", f"{SERVICES}/{name}")
        del self.services[name]

    def change_service(self) -> None:
        name, wanted = self.dice.choice([*self.services]), self.dice.random() < 0.8
        kind = "LoadBalancer" if wanted else "ClusterIP"
        patch = {"metadata": {"annotations": {"count": str(self.count)}}, "spec": {"type": kind}}
        self.request("PATCH", f"{SERVICES}/{name}", patch)
        self.services[name] = wanted

    def disagreements(self) -> list[str]:
        """What of cluster and cloud is not yet as it should be."""
        cloud = json.loads(self.state.read_text())
        nodes: dict[str, Any] = {item["metadata"]["name"]: item for item in self.items(NODES)}
        services: dict[str, Any] = {item["metadata"]["name"]: item for item in self.items(SERVICES)}
        services.pop("kubernetes")
        wanted = {services[name]["metadata"]["uid"] for name in self.services if self.services[name]}
        differences = [
            ("Nodes", set(nodes), set(self.nodes)),
            ("initialised", {name for name, one in nodes.items() if is_initialized(one)}, set(self.nodes)),
            ("Services", set(services), set(self.services)),
            ("finalizers", {name for name, one in services.items() if has_finalizer(one)}, self.wanting),
            ("addresses", {name for name, one in services.items() if one["status"]["loadBalancer"]}, self.wanting),
            ("load balancers", {one["uid"] for one in cloud["loadBalancers"].values()}, wanted),
            ("routes", {one["destinationCIDR"] for one in cloud["routes"]}, set(self.nodes.values())),
        ]
        return [f"{what}: {sorted(live ^ meant)[:5]}" for what, live, meant in differences if live != meant]

    @property
    def wanting(self) -> set[str]:
        return {name for name, wanted in self.services.items() if wanted}

    def items(self, path: str) -> list[Any]:
        items: list[Any] = self.cluster.request("GET", path).body["items"]
        return items


def is_initialized(node: Any) -> bool:
    keys = [taint["key"] for taint in node["spec"].get("taints", ())]
    return UNINITIALIZED not in keys and bool(node["spec"].get("providerID"))


def has_finalizer(service: Any) -> bool:
    return CLEANUP_FINALIZER in service["metadata"].get("finalizers", ())


@contextmanager
def manager(cluster: OwnCluster, state: Path, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`hookrunner cloud start` in a process of its own, which must end well."""
    words = ("-m", "hookrunner", "cloud", "start", f"--cloud-provider={SIMCLOUD}", f"--cloud-config={state}", *FLAGS)
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("HOOKRUNNER_", "KUBE"))}
    environment["TMPDIR"] = str(directory)
    with (directory / "manager.log").open("wb") as log:
        places = (f"--kube-config={cluster.kubeconfig}", f"--debug-unix-socket={directory / 'socket'}")
        command = [sys.executable, *words, *places]
        process = subprocess.Popen(command, env=environment, cwd=directory, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        code = process.wait(60)
    assert code == 0, f"it ended with {code}; its log is {directory / 'manager.log'}"


def live(crowd: Crowd, pid: int, seconds: float) -> list[Usage]:
    """Let things happen for so long, with two restarts of the API server between; what was used meanwhile."""
    began, restarts, usages = time.monotonic(), [0.33, 0.66], list[Usage]()
    while (passed := (time.monotonic() - began) / seconds) < 1:
        if restarts and passed > restarts[0]:
            restarts.pop(0)
            crowd.cluster.stop_apiserver()
            time.sleep(3)
            crowd.cluster.start_apiserver()
        crowd.step()
        usages.append(measure(pid))
    return usages


def agree(crowd: Crowd) -> None:
    """Wait until cluster and cloud agree."""
    deadline = time.monotonic() + AGREEMENT
    while (differences := crowd.disagreements()) and time.monotonic() < deadline:
        time.sleep(1)
    assert differences == []


def soak(cluster: OwnCluster, directory: Path, seconds: float) -> None:
    """Live so long, and compare."""
    crowd = Crowd(cluster, directory / "cloud.json")
    crowd.simulate("reset")
    crowd.simulate("fail", "--verb", "*", "--code", "Unavailable", "--chance", "0.08")
    crowd.simulate("fail", "--verb", "*", "--code", "garbage", "--chance", "0.02")
    with manager(cluster, crowd.state, directory) as process:
        usages = live(crowd, process.pid, seconds)
        crowd.simulate("recover")
        agree(crowd)
        time.sleep(5)
        last = measure(process.pid)
    half = usages[len(usages) // 4 : len(usages) // 2]
    assert last.memory < 1.25 * max(usage.memory for usage in half) + 20 * MEBIBYTE
    assert last.files <= min(usage.files for usage in half) + 10
    assert last.children <= min(usage.children for usage in usages)


@pytest.mark.soak
@pytest.mark.usefixtures("launcher")
def test_ten_minutes_of_faults_leave_cluster_and_cloud_in_agreement(own_cluster: OwnCluster, tmp_path: Path) -> None:
    soak(own_cluster, tmp_path, 600)
