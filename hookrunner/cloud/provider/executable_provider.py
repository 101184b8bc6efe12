"""The cloud as an executable: the questions of the loops, asked by calls of the program.

    provider = ExecutableProvider(program, children, metrics)
    background.keep("cloud provider", provider.run)
    await provider.wait_for_capabilities()

A verb whose interface the program does not have is not called. `NotImplemented` of a verb switches its interface off
until the next `capabilities`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from hookrunner.cloud.answers import (
    CloudCapabilities,
    CloudRoute,
    CloudVerb,
    ErrorCode,
    Ingress,
    InstanceAnswer,
    ListedLoadBalancer,
    LoadBalancerState,
    ProviderError,
    RouteResults,
    Want,
)
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider.capability_watch import CapabilityWatch
from hookrunner.cloud.provider.instance_batches import InstanceBatches
from hookrunner.cloud.provider.provider_calls import CallMetrics, ProviderCalls
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.wire_answers import unavailable
from hookrunner.cloud.provider.wire_requests import instances_params, load_balancer_params, routes_params
from hookrunner.cloud.provider.wire_results import (
    Result,
    read_applied,
    read_ensured,
    read_instances,
    read_load_balancer,
    read_load_balancers,
    read_nothing,
    read_routes,
)
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from hookrunner.cloud.services.ingress_rules import complete_ingress, find_ingress_problem
from hookrunner.process.children import Children
from hookrunner.waits import Notifier
from kubetypes.json_values import JSON

T = TypeVar("T")
_ROUTES = "routes"
"""The lane of routes."""
_WITH_NODES = {CloudVerb.LB_ENSURE, CloudVerb.LB_UPDATE}


class ExecutableProvider:
    """What the loops of Nodes, load balancers and routes ask. `calls` shows the last calls and the pause, `condition`
    is for `/readyz`."""

    def __init__(self, program: ProviderProgram, children: Children, metrics: CallMetrics) -> None:
        self._program = program
        self.calls = ProviderCalls(program, children, metrics)
        self._watch = CapabilityWatch(program, self.calls, self._adopt)
        self._capabilities: CloudCapabilities | None = None
        self._changed = Notifier()
        self._batches = InstanceBatches(self._ask_batch, self._ask_alone, self._most_in_a_batch)

    @property
    def capabilities(self) -> CloudCapabilities:
        """What the program said last, without interfaces that turned out not to be there. Raises ProviderError before
        its first answer."""
        if self._capabilities is None:
            raise unavailable("the provider has not answered `capabilities` yet")
        return self._capabilities

    @property
    def condition(self) -> tuple[bool, str]:
        """For `/readyz`: whether the program has ever answered, and what is wrong with it or its credentials now."""
        is_ready, problem = self._watch.condition
        return is_ready, problem or self.calls.credentials_problem

    @property
    def nodes_aside(self) -> AbstractSet[str]:
        """Names of Nodes at which the program fails, and which are asked about alone."""
        return self._batches.aside

    async def run(self) -> None:
        """Ask for capabilities, keep `serve` alive, ask the waiting questions; until cancelled."""
        async with asyncio.TaskGroup() as group:
            for task in (self._watch.run, self.calls.serve.run, self._batches.run_batches, self._batches.run_alone):
                group.create_task(task())

    async def wait_for_capabilities(self) -> CloudCapabilities:
        """The capabilities, as soon as they are known."""
        await self._watch.answered.wait()
        return self.capabilities

    async def follow_capabilities(self) -> AsyncGenerator[CloudCapabilities, None]:
        """The capabilities as soon as they are known, and whenever they change."""
        shown: CloudCapabilities | None = None
        while True:
            if self._capabilities and self._capabilities != shown:
                shown = self._capabilities
                yield shown
            else:
                await self._changed.next()

    def stop_asking(self) -> None:
        """Begin no other call: questions that wait get a ProviderError (`Pending`), calls under way are answered."""
        self.calls.close()

    async def ask_instances(
        self, nodes: Sequence[CloudNode], want: AbstractSet[Want]
    ) -> Mapping[str, InstanceAnswer | ProviderError]:
        return await self._batches.ask(nodes, want)

    async def get_load_balancer(self, request: LoadBalancerRequest) -> LoadBalancerState:
        return await self._call_load_balancer(CloudVerb.LB_GET, request, read_load_balancer)

    async def ensure_load_balancer(self, request: LoadBalancerRequest) -> tuple[Ingress, ...]:
        return await self._call_load_balancer(CloudVerb.LB_ENSURE, request, self._read_ensured)

    async def update_load_balancer(self, request: LoadBalancerRequest) -> None:
        await self._call_load_balancer(CloudVerb.LB_UPDATE, request, read_nothing)

    async def delete_load_balancer(self, request: LoadBalancerRequest) -> None:
        await self._call_load_balancer(CloudVerb.LB_DELETE, request, read_nothing)

    async def list_load_balancers(self) -> tuple[ListedLoadBalancer, ...]:
        return await self._call(CloudVerb.LB_LIST, {}, read_load_balancers)

    async def list_routes(self) -> tuple[CloudRoute, ...]:
        return await self._call(CloudVerb.ROUTES_LIST, {}, read_routes, _ROUTES)

    async def apply_routes(self, create: Sequence[CloudRoute], delete: Sequence[CloudRoute]) -> RouteResults:
        def read(result: Result) -> RouteResults:
            return read_applied(result, len(create), len(delete), self._program.masked)

        results = await self._call(CloudVerb.ROUTES_APPLY, routes_params(create, delete), read, _ROUTES)
        self.calls.pause_for((*results.create, *results.delete))
        return results

    def _most_in_a_batch(self) -> int:
        return self._capabilities.max_batch if self._capabilities else 1

    def _adopt(self, capabilities: CloudCapabilities, is_replaced: bool) -> None:
        self._use(capabilities)
        self.calls.use_limits(capabilities)
        if is_replaced or not capabilities.serve:
            self.calls.serve.renew()

    def _use(self, capabilities: CloudCapabilities) -> None:
        self._capabilities = capabilities
        self._changed.notify()

    async def _call_load_balancer(
        self, verb: CloudVerb, request: LoadBalancerRequest, read: Callable[[Result], T]
    ) -> T:
        lane = f"lb {request.service['metadata']['uid']}"
        return await self._call(verb, load_balancer_params(request, verb in _WITH_NODES), read, lane)

    async def _ask_batch(self, nodes: Sequence[CloudNode], want: AbstractSet[Want]) -> Mapping[str, InstanceAnswer]:
        return await self._ask_cloud(nodes, want, CloudVerb.INSTANCES)

    async def _ask_alone(self, nodes: Sequence[CloudNode], want: AbstractSet[Want]) -> Mapping[str, InstanceAnswer]:
        """Beside the batches, in a lane of its own."""
        return await self._ask_cloud(nodes, want, "one instance")

    async def _ask_cloud(
        self, nodes: Sequence[CloudNode], want: AbstractSet[Want], lane: str
    ) -> Mapping[str, InstanceAnswer]:
        def read(result: Result) -> Mapping[str, InstanceAnswer]:
            return read_instances(result, [node.name for node in nodes], want, self._program.masked)

        return await self._call(CloudVerb.INSTANCES, instances_params(nodes, want), read, lane)

    def _read_ensured(self, result: Result) -> tuple[Ingress, ...]:
        """The loop judges it as that of any provider, but does not know what is secret in the words about it."""
        ingress = read_ensured(result)
        if problem := find_ingress_problem(complete_ingress(ingress), self._program.masked):
            raise unavailable(f"the answer of lb-ensure cannot be written: {problem}")
        return ingress

    async def _call(self, verb: CloudVerb, params: JSON, read: Callable[[Result], T], lane: str = "") -> T:
        if not self.capabilities.supports(verb):
            raise ProviderError(ErrorCode.NOT_IMPLEMENTED, f"the provider does not have the interface of {verb}")
        try:
            return await self.calls.call(verb, params, read, lane)
        except ProviderError as error:
            if error.code is ErrorCode.NOT_IMPLEMENTED:
                self._use(self.capabilities.without(verb))
            raise
