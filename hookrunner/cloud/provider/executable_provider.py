"""The cloud as an executable: the questions of the loops, asked by calls of the program.

provider = ExecutableProvider(program, children, metrics)
background.keep("cloud provider", provider.run)
await provider.wait_for_capabilities()
"""

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from hookrunner.cloud.answers import (
    CloudCapabilities,
    CloudRoute,
    Ingress,
    InstanceAnswer,
    ListedLoadBalancer,
    LoadBalancerState,
    ProviderError,
    RouteResults,
    Want,
)
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.capability_watch import CapabilityWatch
from hookrunner.cloud.provider.instance_batches import InstanceBatches
from hookrunner.cloud.provider.provider_calls import ProviderCalls
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.verb_calls import VerbCalls
from hookrunner.cloud.provider.wire_requests import RouteChanges
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from hookrunner.metrics.cloud import CloudMetrics
from hookrunner.process.children import Children


class ExecutableProvider(VerbCalls):
    """What the loops of Nodes, load balancers and routes ask. `calls` shows the last calls and the pause, `condition`
    is for `/readyz`."""

    def __init__(self, program: ProviderProgram, children: Children, metrics: CloudMetrics) -> None:
        super().__init__(ProviderCalls(program, children, metrics))
        self._watch = CapabilityWatch(program, self.calls, self.adopt)
        self._batches = InstanceBatches(self)

    @property
    def condition(self) -> tuple[bool, str]:
        """For `/readyz`: whether the program has ever answered, and what is wrong with it or its credentials now."""
        is_ready, problem = self._watch.condition
        return is_ready, problem or self.calls.credentials_problem

    async def run(self) -> None:
        """Ask for capabilities, keep `serve` alive, ask the waiting questions; until cancelled."""
        async with asyncio.TaskGroup() as group:
            for task in (self._watch.run, self.calls.serve.run, self._batches.run_batches, self._batches.run_alone):
                group.create_task(task())

    async def wait_for_capabilities(self) -> CloudCapabilities:
        """The capabilities, as soon as they are known."""
        await self._watch.answered.wait()
        return self.capabilities

    def stop_asking(self) -> None:
        """Begin no other call: questions that wait get a ProviderError (`Pending`), calls under way are answered."""
        self.calls.close()

    async def ask_instances(
        self, nodes: Sequence[CloudNode], want: AbstractSet[Want]
    ) -> Mapping[str, InstanceAnswer | ProviderError]:
        return await self._batches.ask(nodes, want)

    async def get_load_balancer(self, request: LoadBalancerRequest) -> LoadBalancerState:
        return await self.ask(verbs.LB_GET, request)

    async def ensure_load_balancer(self, request: LoadBalancerRequest) -> tuple[Ingress, ...]:
        return await self.ask(verbs.LB_ENSURE, request)

    async def update_load_balancer(self, request: LoadBalancerRequest) -> None:
        await self.ask(verbs.LB_UPDATE, request)

    async def delete_load_balancer(self, request: LoadBalancerRequest) -> None:
        await self.ask(verbs.LB_DELETE, request)

    async def list_load_balancers(self) -> tuple[ListedLoadBalancer, ...]:
        return await self.ask(verbs.LB_LIST, None)

    async def list_routes(self) -> tuple[CloudRoute, ...]:
        return await self.ask(verbs.ROUTES_LIST, None)

    async def apply_routes(self, create: Sequence[CloudRoute], delete: Sequence[CloudRoute]) -> RouteResults:
        results = await self.ask(verbs.ROUTES_APPLY, RouteChanges(create, delete))
        self.calls.pause_for((*results.create, *results.delete))
        return results
