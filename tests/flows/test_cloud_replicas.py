"""Two replicas of the cloud controller manager on a real API server: one acts, while the other only runs its hook;
the other does when that one ends, also in the middle of a call; the Job of the module that cleans up takes over from
both.

Level: control plane."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from tests import launcher
from tests.cloud.scenarios.documents import SIMCLOUD
from tests.cloud.scenarios.managers import clean_environment
from tests.cloud.shipped_addon import cleaning_objects
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.rights import log_in
from tests.flows.operator import Operator
from tests.flows.scripts import hook
from tests.flows.waiting import until
from tests.oracles.cloud_manager import upstream_command, upstream_manager
from tests.providers.provider_calls import PROVIDERS, ask, run

ACCOUNT = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
ELECTION = (  # a replica that gets no CPU for some seconds goes on leading
    "--leader-elect-lease-duration=10s",
    "--leader-elect-renew-deadline=8s",
    "--leader-elect-retry-period=1s",
)
SERVICES = "/api/v1/namespaces/default/services"
WATCHED = {"apiVersion": "v1", "kind": "Service", "executeHookOnEvent": [], "jqFilter": ".metadata.name"}
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager"


class Replicas:
    """Two replicas, `a` and `b`, with one cloud."""

    def __init__(self, directory: Path, cluster: OwnCluster) -> None:
        self.cluster = cluster
        self.cloud = directory / "cloud.json"
        self.flags = (f"--cloud-provider={SIMCLOUD}", f"--cloud-config={self.cloud}", *ELECTION)
        self.environ = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self.operators: dict[str, Operator] = {}
        for name in "ab":
            (directory / name / "hooks").mkdir(parents=True)
            self.operators[name] = Operator(
                directory / name, cluster.kubeconfig, ("--controllers=service", *self.flags), environ=self.environ
            )

    def expose(self, name: str) -> None:
        """Create a Service that wants a load balancer."""
        spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
        self.cluster.create(SERVICES, {"metadata": {"name": name}, "spec": spec})

    def service(self, name: str) -> Any:
        return self.cluster.request("GET", f"{SERVICES}/{name}").body

    async def address(self, name: str) -> str:
        """Wait until it has an address."""
        ingress = lambda: self.service(name)["status"]["loadBalancer"].get("ingress")  # noqa: E731
        return str((await until(ingress, f"{name} has an address"))[0]["ip"])

    def leads(self, name: str) -> bool:
        return self.operators[name].metric("cloud_leader") == 1

    def holder(self) -> str:
        """The holder of the lease, empty without one."""
        return str(self.cluster.request("GET", LEASE).body["spec"].get("holderIdentity", ""))

    def balancers(self) -> list[str]:
        """The Services of all load balancers in the cloud."""
        listed = ask(SIMCLOUD, self.cloud, "lb-list")["result"]["loadBalancers"]
        return sorted(balancer["service"] for balancer in listed)

    def upstream(self, directory: Path) -> AbstractContextManager[object]:
        """Kubernetes' own manager, which competes for the same lease."""
        command = upstream_command(
            self.cluster.kubeconfig, directory, (str(SIMCLOUD),), {"CLOUD_CONFIG": str(self.cloud), **self.environ}
        )
        return upstream_manager(directory, (*command, "--controllers=service", "--leader-elect=true", *ELECTION))

    def clean(self) -> None:
        """Run what the Job of the addon runs, as its ServiceAccount with exactly the rights that the addon gives:
        as a process, whose mounts are elsewhere. The fields are in the case `clean` of the addon."""
        objects = {obj["kind"]: obj for obj in cleaning_objects()}
        account = log_in(self.cluster, self.cloud.parent, [objects[kind] for kind in ACCOUNT])
        (container,) = objects["Job"]["spec"]["template"]["spec"]["containers"]
        words = [self._outside(word) for word in container["args"]]
        variables = {each["name"]: self._outside(each["value"]) for each in container["env"]}
        environ = {**clean_environment(), **self.environ, **variables, "KUBECONFIG": str(account.kubeconfig)}
        ended = launcher.run(words, cwd=self.cloud.parent, env=environ)
        assert ended.returncode == 0, ended.stderr

    def _outside(self, word: str) -> str:
        """A word of the container with the places of the test for those of its image and its mounts."""
        places = {"/tmp/": f"{self.cloud.parent}/", "/providers": PROVIDERS, "/cloud-config/config": self.cloud}
        for inside, outside in places.items():
            word = word.replace(inside, str(outside))
        return word


@pytest.fixture
async def replicas(tmp_path: Path, own_cluster: OwnCluster, launcher: object) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path, own_cluster)
    yield replicas
    for operator in replicas.operators.values():
        if operator.running():
            await operator.stop(SIGKILL)


async def test_one_replica_acts_and_the_other_when_it_ends(replicas: Replicas) -> None:
    a, b = replicas.operators["a"], replicas.operators["b"]
    a.start()
    replicas.expose("one")
    await replicas.address("one")
    b.write_hooks({"watcher.sh": hook({"kubernetes": [WATCHED]})})
    b.start()
    await b.ready()
    (synchronization,) = (await b.has_run("watcher.sh"))[0]
    assert "one" in {entry["filterResult"] for entry in synchronization["objects"]}
    assert (replicas.leads("a"), replicas.leads("b")) == (True, False)

    holder = replicas.holder()
    assert await a.stop() == 0
    assert replicas.holder() != holder, "it gives the lease back; how long the handover takes is a benchmark"
    replicas.expose("two")
    await replicas.address("two")

    a.start()
    await a.ready()
    run(SIMCLOUD, replicas.cloud, "delay", "--verb", "lb-ensure", "--seconds", "2")
    replicas.expose("three")
    await until(lambda: replicas.service("three")["metadata"].get("finalizers"), "the call is under way")
    await b.stop(SIGKILL)
    await replicas.address("three")
    assert replicas.balancers() == ["default/one", "default/three", "default/two"]

    replicas.clean()
    assert replicas.balancers() == []
    for name in ("one", "two", "three"):
        service = replicas.service(name)
        assert ("finalizers" in service["metadata"], service["status"]["loadBalancer"]) == (False, {})
    assert not replicas.leads("a")
    assert a.readyz().ready


@pytest.mark.nightly
async def test_clean_takes_over_from_kubernetes_own_manager(replicas: Replicas, tmp_path: Path) -> None:
    with replicas.upstream(tmp_path):
        replicas.expose("one")
        await replicas.address("one")
        replicas.clean()
        log = (tmp_path / "cloudmanager.log").read_text()
    assert replicas.balancers() == []
    assert "leaderelection lost" in log
