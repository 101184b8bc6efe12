"""A process that dies: its API server and its cloud, of which a step is the last one.

    death = Death(at=3, done=False)      # at the fourth write or call, which is not done
    api, cloud = MortalApi(death=death), MortalCloud(death=death)

From that step on nothing that the process asks for is done, and nothing is answered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from hookrunner.cloud.answers import CloudRoute, Ingress, RouteResults
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from hookrunner.kube.client import ApiCall
from tests.cloud.fake_api import FakeApi
from tests.cloud.fake_cloud import FakeCloud

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

    async def update_load_balancer(self, request: LoadBalancerRequest) -> None:
        await self.death.step(partial(self._update, request))

    async def delete_load_balancer(self, request: LoadBalancerRequest) -> None:
        await self.death.step(partial(self._delete, request))

    async def apply_routes(self, create: Sequence[CloudRoute], delete: Sequence[CloudRoute]) -> RouteResults:
        return await self.death.step(partial(super().apply_routes, create, delete))

    async def _update(self, request: LoadBalancerRequest) -> bool:
        await super().update_load_balancer(request)
        return True

    async def _delete(self, request: LoadBalancerRequest) -> bool:
        await super().delete_load_balancer(request)
        return True
