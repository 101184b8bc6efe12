"""A process that dies at any of its writes or calls, before or after they are done, leads to the same end: each wanted
Service has one load balancer, and no finalizer is left without its cleanup.

Level: FakeApi."""

from typing import Any

import pytest

from hookrunner.cloud.answers import Ingress
from hookrunner.cloud.services.service_decisions import ServicePolicy
from tests.cloud.fake_cloud import FakeCloud, FakeLoadBalancer
from tests.cloud.mortal_parts import MortalApi, MortalCloud
from tests.cloud.node_samples import node
from tests.cloud.services.balancer_world import BalancerWorld
from tests.cloud.services.service_samples import kept, service
from tests.cloud.upstream_policies import UPSTREAM_SERVICES
from tests.fakes.deaths import Death
from tests.fakes.fake_api import FakeApi

pytestmark = pytest.mark.looptime


def populate(world: BalancerWorld) -> None:
    """A new Service, one that is deleted, one of another type by now, and one whose nodes have changed."""
    world.api.put(service("new", uid="u-new"))
    world.api.put(kept("deleted", uid="u-deleted", deletionTimestamp="2026-11-23T00:00:00Z"))
    world.api.put(kept("plain", "ClusterIP", uid="u-plain"))
    world.api.put(kept("known", uid="u-known", ingress=[{"ip": "198.51.100.1", "ipMode": "VIP"}]))
    for uid, name in (("u-deleted", "deleted"), ("u-plain", "plain"), ("u-known", "known")):
        ingress = (Ingress(ip="198.51.100.1"),)
        world.cloud.load_balancers[uid] = FakeLoadBalancer(uid, f"default/{name}", ingress, ("gone",))


def end_state(world: BalancerWorld) -> dict[str, Any]:
    """The Services and the load balancers, without what depends on the number of writes."""
    objects = [(key.name, obj) for key, obj in world.api.cluster.objects.items() if key.kind == "Service"]
    services = {name: (obj["metadata"].get("finalizers"), obj["status"]) for name, obj in objects}
    return {"services": services, "cloud": {uid: lb.nodes for uid, lb in world.cloud.load_balancers.items()}}


async def live_twice(policy: ServicePolicy, at: int, done: bool) -> tuple[dict[str, Any], int]:
    """The end after a death and a second life, and the steps of the first. A Node joins in the first."""
    death = Death(at, done)
    first = BalancerWorld(MortalApi(death=death), MortalCloud(death=death), policy=policy)
    populate(first)
    async with first.run_loop():
        await first.rest(500)
        first.api.put(node("c"))
        await first.rest(500)
    cloud = FakeCloud(load_balancers=first.cloud.load_balancers)
    second = BalancerWorld(FakeApi(first.api.cluster), cloud, policy=policy)
    async with second.run_loop():
        await second.rest(1000)
    return end_state(second), death.steps


@pytest.mark.slow
@pytest.mark.parametrize("policy", [ServicePolicy(concurrent_syncs=1), UPSTREAM_SERVICES], ids=["default", "upstream"])
async def test_death_at_any_step_leads_to_the_same_end(policy: ServicePolicy) -> None:
    expected, steps = await live_twice(policy, -1, done=True)
    assert sorted(expected["services"]) == ["known", "new", "plain"]
    assert expected["cloud"] == {"u-new": ("a", "b", "c"), "u-known": ("a", "b", "c")}
    assert steps == 10  # two of them are lb-update
    for number in range(steps):
        for done in (False, True):
            end, _ = await live_twice(policy, number, done)
            assert end == expected, f"died at step {number}, done: {done}"
