"""A process that dies at any of its writes or calls, before or after they are done, leads to the same end: each wanted
Service has one load balancer, and no finalizer is left without its cleanup."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pytest

from hookrunner.cloud.answers import Ingress
from hookrunner.cloud.cloud_provider import LoadBalancerRequest
from hookrunner.cloud.services.service_decisions import UPSTREAM_SERVICES, ServicePolicy
from hookrunner.kube.client import ApiCall
from tests.cloud.fake_api import FakeApi
from tests.cloud.fake_cloud import FakeCloud, FakeLoadBalancer
from tests.cloud.services.balancer_world import BalancerWorld
from tests.cloud.services.service_samples import kept, service

pytestmark = pytest.mark.looptime

_Answer = TypeVar("_Answer")


@dataclass
class Death:
    """Comes at the step `at`, which is then `done` or not. Steps are writes and calls that change something."""

    at: int = -1
    done: bool = False
    steps: int = 0
    happened: asyncio.Event = field(default_factory=asyncio.Event)

    async def step(self, action: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Do it, unless death comes."""
        number, self.steps = self.steps, self.steps + 1
        comes = self.happened.is_set() or number == self.at
        answer = None if comes and not (self.done and number == self.at) else await action()
        if comes:
            self.happened.set()
            await asyncio.Event().wait()
        assert answer is not None
        return answer


@dataclass(eq=False)
class MortalApi(FakeApi):
    """An API server for a process that dies."""

    death: Death = field(default_factory=Death)

    async def send(self, call: ApiCall) -> bytes:
        return await self.death.step(partial(super().send, call))


@dataclass(eq=False)
class MortalCloud(FakeCloud):
    """A cloud for a process that dies."""

    death: Death = field(default_factory=Death)

    async def ensure_load_balancer(self, request: LoadBalancerRequest) -> tuple[Ingress, ...]:
        return await self.death.step(partial(super().ensure_load_balancer, request))

    async def delete_load_balancer(self, request: LoadBalancerRequest) -> None:
        await self.death.step(partial(self._delete, request))

    async def _delete(self, request: LoadBalancerRequest) -> bool:
        await super().delete_load_balancer(request)
        return True


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
    """The end after a death and a second life, and the steps of the first."""
    death = Death(at, done)
    first = BalancerWorld(policy, MortalApi(death=death), MortalCloud(death=death))
    populate(first)
    async with first.run_loop():
        await first.rest(1000)
    cloud = FakeCloud(load_balancers=first.cloud.load_balancers)
    second = BalancerWorld(policy, FakeApi(first.api.cluster), cloud)
    async with second.run_loop():
        await second.rest(1000)
    return end_state(second), death.steps


@pytest.mark.parametrize("policy", [ServicePolicy(concurrent_syncs=1), UPSTREAM_SERVICES], ids=["default", "upstream"])
async def test_death_at_any_step_leads_to_the_same_end(policy: ServicePolicy) -> None:
    expected, steps = await live_twice(policy, -1, done=True)
    assert sorted(expected["services"]) == ["known", "new", "plain"]
    assert expected["cloud"] == {"u-new": ("a", "b"), "u-known": ("a", "b")}
    assert steps == 8
    for number in range(steps):
        for done in (False, True):
            end, _ = await live_twice(policy, number, done)
            assert end == expected, f"died at step {number}, done: {done}"
