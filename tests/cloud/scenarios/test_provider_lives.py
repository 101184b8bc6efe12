"""The same life with each provider of real machines on a real API server, under exactly the rights of
`hookrunner cloud rbac`: Nodes are initialised and adopted, get other addresses, vanish; load balancers come and go;
another start takes over, and `cloud clean` leaves nothing. What all loops do, with simcloud: test_scenarios.py.

Level: control plane."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hookrunner import settings
from hookrunner.cloud.rights import rights_of
from tests import launcher
from tests.cloud.scenarios.documents import node
from tests.cloud.scenarios.managers import OLD_ENOUGH, QUICK, clean_environment, ours
from tests.cloud.scenarios.scenes import service
from tests.cloud.scenarios.world import Scene, World
from tests.controlplane.build import find_binaries
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.rights import log_in
from tests.flows.limited_rights import account_of, check_rights
from tests.flows.waiting import until
from tests.providers.fake_rest_cloud import TOKEN, rest_cloud
from tests.providers.provider_calls import PROVIDERS

Machines = Mapping[str, str]
"""Addresses by the names of Nodes."""
ELECT = ("--leader-elect=true", "--leader-elect-retry-period=200ms")
ONCE = ("--node-delete-confirmations=1", OLD_ENOUGH)
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager"
VIRSH = """#!/bin/sh
case "$*" in
"list --all --uuid --name") cat "$0.machines" ;;
domstate*) echo running ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Life:
    """A provider: `cloud` puts it beside a world, and yields what sets its machines. `flags` are those that its users
    give; without load balancers it has no Services, without addresses kubelets know them."""

    provider: str
    cloud: Callable[[World, pytest.MonkeyPatch], Iterator[Callable[[Machines], None]]]
    flags: tuple[str, ...] = ()
    balances: bool = True
    addresses: bool = True
    reasons: Mapping[str, str] = field(default_factory=dict)


def inventory(world: World, _: pytest.MonkeyPatch) -> Iterator[Callable[[Machines], None]]:
    known: dict[str, str] = {}

    def put(machines: Machines) -> None:
        known.update(machines)
        listed = [
            {"name": name, "addresses": {"InternalIP": ip}, "decommissioned": name not in machines}
            for name, ip in known.items()
        ]
        balancers = {"addresses": ["192.0.2.0/28"], "state": str(world.directory / "balancers.json")}
        (draft := world.directory / "draft").write_text(json.dumps({"machines": listed, "loadBalancers": balancers}))
        draft.rename(world.state)

    yield put


def libvirt(world: World, environ: pytest.MonkeyPatch) -> Iterator[Callable[[Machines], None]]:
    (virsh := world.directory / "virsh").write_text(VIRSH)
    virsh.chmod(0o755)
    environ.setenv("PATH", f"{world.directory}:{os.environ['PATH']}")

    def put(machines: Machines) -> None:
        draft = virsh.with_suffix(".draft")
        draft.write_text("".join(f"id-{name} {name}\n" for name in machines) + "\n")
        draft.rename(virsh.with_suffix(".machines"))

    yield put


def rest_example(world: World, environ: pytest.MonkeyPatch) -> Iterator[Callable[[Machines], None]]:
    with rest_cloud() as cloud:
        environ.setenv("CLOUD_URL", cloud.url)
        environ.setenv("CLOUD_TOKEN", TOKEN)

        def put(machines: Machines) -> None:
            place = {"zone": "zone-a", "region": "region-1", "type": "small", "status": "running"}
            cloud.servers = [{"id": f"s-{name}", "name": name, "ip": ip, **place} for name, ip in machines.items()]

        yield put


NO_ADDRESSES = {"patch nodes/status": "libvirt names no addresses, and Nodes keep those of their kubelets"}
LIVES = [
    Life("inventory", inventory),
    Life(
        "libvirt",
        libvirt,
        ("--controllers=cloud-node,cloud-node-lifecycle",),
        balances=False,
        addresses=False,
        reasons=NO_ADDRESSES,
    ),
    Life("rest-example", rest_example, ("--cloud-env=CLOUD_URL,CLOUD_TOKEN",)),
]


@pytest.fixture(scope="module")
def audited_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    """One for all lives."""
    directory = tmp_path_factory.mktemp("audited-cluster")
    with ControlPlane(find_binaries(), directory, controllers=False, audited=True) as plane:
        yield OwnCluster(plane, directory)


@pytest.fixture(params=LIVES, ids=lambda life: str(life.provider))
def life(request: pytest.FixtureRequest) -> Life:
    """One provider's."""
    found: Life = request.param
    return found


@dataclass(frozen=True, slots=True)
class Cloud:
    """The cluster and the cloud of one life."""

    life: Life
    world: World
    cluster: OwnCluster
    put: Callable[[Machines], None]

    @property
    def flags(self) -> tuple[str, ...]:
        return (*ELECT, *ONCE, *self.life.flags)

    @contextmanager
    def managed(self) -> Iterator[None]:
        """A manager leads meanwhile."""
        with ours(self.world, *self.flags, provider=PROVIDERS / self.life.provider):
            yield

    def run(self, *words: str) -> None:
        """A command beside the manager, with its rights."""
        command = ["cloud", *words, f"--kube-config={self.world.kubeconfig}"]
        done = launcher.run(command, cwd=self.world.directory, env=clean_environment())
        assert done.returncode == 0, done.stdout + done.stderr

    def read(self, path: str) -> Any:
        """An object; empty if it does not exist."""
        reply = self.cluster.request("GET", path)
        return reply.body if reply.status == 200 else {}

    async def has(self, name: str, address: str) -> None:
        """Wait until a Node is initialised and has this address."""

        def is_so() -> bool:
            found = self.read(f"/api/v1/nodes/{name}")
            shown = [entry["address"] for entry in found["status"].get("addresses", ())]
            taints = [taint["key"] for taint in found["spec"].get("taints", ())]
            return bool(
                found["spec"].get("providerID")
                and "node.cloudprovider.kubernetes.io/uninitialized" not in taints
                and (shown == [address] or not self.life.addresses)
            )

        log = self.world.directory / "ours.log"
        await until(is_so, f"{name} initialised with {address}\n{log.read_text()[-3000:]}")


@pytest.fixture
def limited(
    launcher: tuple[str, ...],
    audited_cluster: OwnCluster,
    life: Life,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Cloud]:
    """A cloud whose manager has the rights that it needs and no others."""
    flags = dict(flag[2:].split("=", 1) for flag in (*QUICK, *ELECT, *ONCE, *life.flags))
    loaded = settings.load({"cloud-provider": str(PROVIDERS / life.provider), **flags}, "hookrunner", {})
    rights = rights_of(loaded)
    account = log_in(audited_cluster, tmp_path, account_of(life.provider, rights))
    world = World(account.kubeconfig, audited_cluster.request, tmp_path)
    with contextmanager(life.cloud)(world, monkeypatch) as put:
        yield Cloud(life, world, audited_cluster, put)
    for path in (LEASE, "/api/v1/nodes"):
        audited_cluster.request("DELETE", path)
    check_rights(audited_cluster, account, rights, life.reasons)


async def test_provider_lives(limited: Cloud) -> None:
    first, second = node("first"), node("second", ready="False", taints=())
    limited.put({"first": "10.0.0.1", "second": "10.0.0.2"})
    with limited.managed():
        limited.world.create([Scene("first", first), Scene("second", second)])
        await limited.has("first", "10.0.0.1")
        await asyncio.to_thread(limited.run, "adopt", "second", "--yes")
        await limited.has("second", "10.0.0.2")
        limited.put({"first": "10.0.0.7", "second": "10.0.0.2"})
        await limited.has("first", "10.0.0.7")
        if limited.life.balances:
            await services_come_and_go(limited)
    with limited.managed():
        limited.put({"first": "10.0.0.7"})
        await until(lambda: not limited.read("/api/v1/nodes/second"), "the deletion of the Node without a machine")
    if limited.life.balances:
        await nothing_is_left(limited)


async def services_come_and_go(limited: Cloud) -> None:
    """Of two Services one is deleted."""
    limited.world.create([Scene(name, service=service(name)) for name in ("web", "shop")])
    paths = {name: f"/api/v1/namespaces/default/services/{name}" for name in ("web", "shop")}
    for path in paths.values():
        await until(lambda path=path: limited.read(path)["status"]["loadBalancer"], f"the address of {path}")  # type: ignore[misc]
    limited.cluster.request("DELETE", paths["shop"])
    await until(lambda: not limited.read(paths["shop"]), "the end of a Service")


async def nothing_is_left(limited: Cloud) -> None:
    """The other Service loses its load balancer when the manager is uninstalled."""
    config = (f"--cloud-provider={PROVIDERS / limited.life.provider}", f"--cloud-config={limited.world.state}")
    await asyncio.to_thread(limited.run, "clean", "--yes", *config, *QUICK, *limited.flags)
    web = limited.read("/api/v1/namespaces/default/services/web")
    assert (web["metadata"].get("finalizers", []), web["status"]["loadBalancer"]) == ([], {})
    limited.cluster.request("DELETE", "/api/v1/namespaces/default/services/web")
