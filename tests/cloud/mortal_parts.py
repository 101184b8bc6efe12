"""A process that dies: its API server and its cloud, of which a step is the last one.

    death = Death(at=3, done=False)      # at the fourth write or call, which is not done
    api, cloud = MortalApi(death=death), MortalCloud(death=death)

From that step on nothing that the process asks for is done, and nothing is answered.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from hookrunner.cloud.answers import CloudRoute, Ingress, RouteResults
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from hookrunner.kube.client import ApiCall
from tests.cloud.fake_cloud import FakeCloud
from tests.fakes.deaths import Death
from tests.fakes.fake_api import FakeApi


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

    async def update_load_balancer(self, request: LoadBalancerRequest) -> None:
        await self.death.step(partial(super().update_load_balancer, request))

    async def delete_load_balancer(self, request: LoadBalancerRequest) -> None:
        await self.death.step(partial(super().delete_load_balancer, request))

    async def apply_routes(self, create: Sequence[CloudRoute], delete: Sequence[CloudRoute]) -> RouteResults:
        return await self.death.step(partial(super().apply_routes, create, delete))
