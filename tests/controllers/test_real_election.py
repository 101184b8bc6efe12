"""Leader election on the real API server, also through the fault proxy: the joints that virtual time leaves out.

Level: control plane."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hookrunner.controllers.leader_election import LeaderElector
from hookrunner.controllers.lease import LEASES, LeaseLock, LeaseTimes
from hookrunner.errors import KubeError
from hookrunner.kube import writes
from hookrunner.kube.client import Client, FencedClient
from hookrunner.kube.writes import ObjectRef
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.resources import Resource
from tests.controlplane.cluster import Cluster
from tests.fakes.cluster import running
from tests.faults.exchange import Request
from tests.faults.proxy import Proxy
from tests.flows.waiting import until
from tests.kube.real import client_of, credentials_of

SHORT = LeaseTimes(duration=5.0, renew_deadline=4.0, retry_period=0.3)
LONG = LeaseTimes(duration=300.0, renew_deadline=200.0, retry_period=0.3)
"""A lease that a busy machine does not lose; one that is not given back is not taken over here."""
MAPS = Resource("v1", "ConfigMap", "configmaps", True)


@dataclass
class Replica:
    """Writes its name into a ConfigMap again and again while it leads; `leads` says that it does."""

    elector: LeaderElector
    client: Client
    journal: ObjectRef
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    leads: bool = False

    async def lead(self) -> None:
        self.leads = True
        try:
            while not self.stop.is_set():
                with suppress(KubeError):
                    await writes.merge_patch(self.client, self.journal, {"data": {"by": self.elector.lock.identity}})
                await asyncio.sleep(0.02)
        finally:
            self.leads = False


@asynccontextmanager
async def replica(kubeconfig: Path, namespace: str, identity: str, times: LeaseTimes = LONG) -> AsyncIterator[Replica]:
    """A replica that competes."""
    lock = LeaseLock(namespace, "cloud-controller-manager", identity)
    async with client_of(kubeconfig, Metrics()) as leases:
        elector = LeaderElector(leases, lock, times)
        requests = Requests(Metrics())
        async with FencedClient(credentials_of(kubeconfig), requests, lambda: elector.is_leader) as client:
            made = Replica(elector, client, ObjectRef(MAPS, namespace, "journal"))
            async with running(elector.run(made.lead)):
                yield made


async def read_spec(client: Client, namespace: str) -> Any:
    return (await writes.read(client, ObjectRef(LEASES, namespace, "cloud-controller-manager")))["spec"]


async def test_lead_goes_to_the_other_replica_and_to_who_takes_it_over(cluster: Cluster, namespace: str) -> None:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(replica(cluster.kubeconfig, namespace, "first"))
        await until(lambda: first.leads, "the first replica leads")
        second = await stack.enter_async_context(replica(cluster.kubeconfig, namespace, "second"))
        await until(lambda: second.elector.holder == "first", "the second one has seen who leads")
        client = await stack.enter_async_context(client_of(cluster.kubeconfig, Metrics()))
        spec = await read_spec(client, namespace)
        assert (spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (300, 0)
        first.stop.set()
        await until(lambda: second.leads, "the second replica leads")
        assert (await read_spec(client, namespace))["leaseTransitions"] == 1
        lock = LeaseLock(namespace, "cloud-controller-manager", "clean")
        assert await LeaderElector(client, lock, LONG).take_over() == pytest.approx(300)
        await until(lambda: not second.leads, "the second replica has stopped")


def is_look(request: Request) -> bool:
    """Does a replica look at the Lease?"""
    return request.matches("GET leases")


async def test_replica_that_is_cut_off_writes_nothing_after_another_leads(
    cluster: Cluster, namespace: str, proxy: Proxy
) -> None:
    cluster.create(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "journal"}})
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(replica(proxy.kubeconfig, namespace, "first", SHORT))
        await until(lambda: first.leads, "the first replica leads")
        second = await stack.enter_async_context(replica(cluster.kubeconfig, namespace, "second", SHORT))
        proxy.stall()
        await until(lambda: second.leads, "the second replica leads")
        assert not first.leads
        proxy.requests.clear()
        proxy.cut()
        proxy.resume()
        await until(lambda: [*filter(is_look, proxy.requests)], "the first one looks again")
        assert [request.line for request in proxy.requests if request.matches("configmaps")] == []
