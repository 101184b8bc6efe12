"""`hookrunner cloud clean` with a real provider, on a sandbox: nothing is left, and no manager makes it anew.

Level: sandbox."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hookrunner import settings
from hookrunner.cloud.services.cloud_service import read_service
from hookrunner.cloud.takeover.cloud_cleaner import assemble_cleaner, read_removable
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings, Settings
from tests.cloud.services.service_samples import kept, service
from tests.flows.waiting import until
from tests.kube.server import ApiServer, api_server
from tests.providers.provider_calls import PROVIDERS, ask

LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"namespace": "kube-system", "name": "cloud-controller-manager"},
    "spec": {"holderIdentity": "manager", "leaseDurationSeconds": 1, "leaseTransitions": 4},
}


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with api_server() as api:
        yield api


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    """The file of a cloud of this test's own."""
    return tmp_path / "cloud.json"


@pytest.fixture
def loaded(cloud: Path) -> Settings:
    flags = {"cloud-provider": str(PROVIDERS / "simcloud"), "cloud-config": str(cloud), "cluster-cidr": "10.1.0.0/16"}
    return settings.load(flags, "hookrunner")


def balancers(cloud: Path) -> list[Any]:
    return [*ask(PROVIDERS / "simcloud", cloud, "lb-list")["result"]["loadBalancers"]]


def fill(cloud: Path, held: Any) -> None:
    """A load balancer of a Service, a route of the cluster and one outside of it."""
    simcloud = PROVIDERS / "simcloud"
    ask(simcloud, cloud, "lb-ensure", {"service": held, "name": read_service(held).balancer_name, "nodes": []})
    routes = [{"targetNode": "a", "destinationCIDR": cidr, "nameHint": "x"} for cidr in ("10.1.1.0/24", "10.9.0.0/24")]
    ask(simcloud, cloud, "routes-apply", {"create": routes, "delete": []})


@pytest.mark.slow
async def test_everything_goes_and_the_lease_is_kept_from_the_manager(
    api: ApiServer, cloud: Path, loaded: Settings
) -> None:
    api.put(LEASE)
    held = api.put(kept("web"))
    fill(cloud, held)
    assert balancers(cloud)
    async with assemble_cleaner(loaded, Connection(api.url), with_routes=True, reserve=60.0) as cleaner:
        await cleaner.run()
    assert (balancers(cloud), cleaner.left) == ([], [])
    listed = ask(PROVIDERS / "simcloud", cloud, "routes-list")["result"]["routes"]
    assert [route["destinationCIDR"] for route in listed] == ["10.9.0.0/24"], "one outside of the cluster"
    assert "finalizers" not in api.get(held)["metadata"]
    spec = api.get(LEASE)["spec"]
    assert (spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (60, 5)
    assert spec["holderIdentity"] != "manager"
    events = [event.json() for event in api.sandbox.store.select("events")]
    assert {event["reason"] for event in events} == {"DeletingLoadBalancer", "DeletedLoadBalancer"}


@pytest.mark.slow
async def test_load_balancers_without_a_service_stay_and_are_named(
    api: ApiServer, cloud: Path, loaded: Settings
) -> None:
    held, lost = api.put(kept("web")), kept("lost", uid="u-lost")
    for one in (held, lost):
        ask(
            PROVIDERS / "simcloud",
            cloud,
            "lb-ensure",
            {"service": one, "name": read_service(one).balancer_name, "nodes": []},
        )
    async with assemble_cleaner(loaded, Connection(api.url), with_routes=False, reserve=0.0) as cleaner:
        await cleaner.run()
    assert [orphan.name for orphan in cleaner.orphans] == [read_service(lost).balancer_name]
    assert [balancer["name"] for balancer in balancers(cloud)] == [read_service(lost).balancer_name]


async def test_what_would_go_is_named_before(api: ApiServer, loaded: Settings) -> None:
    for obj in (kept("web"), kept("theirs", loadBalancerClass="example.com/lb"), service("new")):
        api.put(obj)
    async with Client(Credentials(KubeSettings(), Connection(api.url)), Requests(Metrics())) as client:
        assert [service.key for service in await read_removable(client, loaded)] == ["default/web"]


async def test_provider_that_does_not_answer_is_named(api: ApiServer, cloud: Path, loaded: Settings) -> None:
    api.put(kept("web"))
    cloud.write_text(json.dumps({"faults": [{"verb": "capabilities", "code": "Unavailable"}]}))
    async with assemble_cleaner(loaded, Connection(api.url), with_routes=False, reserve=60.0) as cleaner:
        assert cleaner.left == ["provider: it has not been asked yet"]
        running = asyncio.create_task(cleaner.run())
        await until(lambda: "provider: capabilities: Unavailable" in str(cleaner.left), "the first attempt fails")
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.slow
async def test_what_is_left_is_named(api: ApiServer, cloud: Path, loaded: Settings) -> None:
    api.put(kept("web"))
    faults = {"faults": [{"verb": "lb-delete", "code": "Unavailable"}]}
    cloud.write_text(json.dumps(faults))
    async with assemble_cleaner(loaded, Connection(api.url), with_routes=False, reserve=60.0) as cleaner:
        running = asyncio.create_task(cleaner.run())
        await until(lambda: "Service default/web: Unavailable" in str(cleaner.left), "the first attempt fails")
        running.cancel()
        await asyncio.wait([running])
    assert api.get(LEASE)["spec"]["holderIdentity"] == "", "the manager may go on"
