"""A cloud as an object with memory: what all loops ask, without processes and without batches.

    cloud = FakeCloud()
    cloud.add("worker-1", zone="a")              # a machine that runs
    cloud.stop("worker-1"); cloud.terminate("worker-1")
    cloud.fail(verbs.LB_ENSURE, ProviderError(ErrorCode.UNAVAILABLE, "down"), times=3)
    cloud.seconds[verbs.INSTANCES] = 2.0     # how long a call takes, in the time of the loop
    cloud.calls                                  # what was asked, in order

A call is noted when it begins, and answers with what is true when it ends.
"""

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from hookrunner.cloud.answers import (
    CloudCapabilities,
    CloudRoute,
    Ingress,
    InstanceAnswer,
    InstanceMetadata,
    InstanceState,
    Interface,
    ListedLoadBalancer,
    LoadBalancerState,
    NodeAddress,
    ProviderError,
    RouteResults,
    Want,
)
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest

EVERYTHING = CloudCapabilities("sim", ("sim://",), tuple(Interface))
FOREVER = 1 << 30


@dataclass(frozen=True, slots=True)
class FakeCall:
    """A call: its verb, the names of the Nodes or the UID of the Service that it was about, what was wanted, and the
    loop's time at which it began."""

    verb: AnyVerb
    about: tuple[str, ...]
    want: frozenset[Want]
    at: float


@dataclass(slots=True)
class FakeLoadBalancer:
    """A load balancer of the cloud: its Service as `namespace/name`, its ingress, the names of its nodes."""

    name: str
    service: str
    ingress: tuple[Ingress, ...]
    nodes: tuple[str, ...] = ()


@dataclass(eq=False)
class FakeCloud:
    """`instances`: by Node; one that is not here does not exist. `load_balancers`: by UID of the Service. `garbled`: by
    Node, the error instead of its answer. `seconds`: by verb, how long a call takes."""

    capabilities: CloudCapabilities = EVERYTHING
    instances: dict[str, InstanceAnswer] = field(default_factory=dict)
    load_balancers: dict[str, FakeLoadBalancer] = field(default_factory=dict)
    routes: list[CloudRoute] = field(default_factory=list)
    calls: list[FakeCall] = field(default_factory=list)
    garbled: dict[str, ProviderError] = field(default_factory=dict)
    seconds: dict[AnyVerb, float] = field(default_factory=dict)
    _failures: dict[AnyVerb, list[ProviderError]] = field(default_factory=dict)
    _given: int = 0

    def add(self, name: str, *addresses: NodeAddress, zone: str = "", **labels: str) -> InstanceMetadata:
        """A machine that runs, `sim://NAME`; what is said of it."""
        number = len(self.instances)
        given = addresses or (NodeAddress("InternalIP", f"10.0.{number // 250}.{number % 250 + 1}"),)
        metadata = InstanceMetadata(f"sim://{name}", "small", zone or "zone-a", "region-1", given, labels)
        self.instances[name] = InstanceAnswer(InstanceState.RUNNING, metadata)
        return metadata

    def say(self, name: str, state: InstanceState) -> None:
        """Answer so about a Node from now on."""
        known = self.instances.get(name) or InstanceAnswer(state)
        self.instances[name] = dataclasses.replace(known, state=state)

    def edit(self, name: str, provider_id: str) -> None:
        """Say another providerID of a machine."""
        answer = self.instances[name]
        assert answer.metadata
        metadata = dataclasses.replace(answer.metadata, provider_id=provider_id)
        self.instances[name] = dataclasses.replace(answer, metadata=metadata)

    def stop(self, name: str) -> None:
        """Shut a machine down."""
        self.say(name, InstanceState.SHUTDOWN)

    def terminate(self, *names: str) -> None:
        """Machines do not exist any more."""
        for name in names:
            del self.instances[name]

    def fail(self, verb: AnyVerb, error: ProviderError, times: int = FOREVER) -> None:
        """Let the next calls of a verb fail; `times=0` heals it."""
        self._failures[verb] = [error] * min(times, 10_000)

    def asked(self, verb: AnyVerb) -> list[tuple[str, ...]]:
        """What each call of a verb was about."""
        return [call.about for call in self.calls if call.verb is verb]

    async def ask_instances(
        self, nodes: Sequence[CloudNode], want: AbstractSet[Want]
    ) -> Mapping[str, InstanceAnswer | ProviderError]:
        """As the provider; a failed call fails all its Nodes."""
        try:
            await self._call(verbs.INSTANCES, [node.name for node in nodes], want)
        except ProviderError as error:
            return {node.name: error for node in nodes}
        return {node.name: self.garbled.get(node.name) or self._answer(node.name, want) for node in nodes}

    async def get_load_balancer(self, request: LoadBalancerRequest) -> LoadBalancerState:
        """As the provider."""
        balancer = self.load_balancers.get(await self._call_about(verbs.LB_GET, request))
        return LoadBalancerState(True, balancer.ingress) if balancer else LoadBalancerState(False)

    async def ensure_load_balancer(self, request: LoadBalancerRequest) -> tuple[Ingress, ...]:
        """As the provider; each new one gets the next address of 192.0.2.0/24."""
        uid = await self._call_about(verbs.LB_ENSURE, request)
        if uid not in self.load_balancers:
            self._given += 1
            metadata = request.service["metadata"]
            service = f"{metadata['namespace']}/{metadata['name']}"
            ingress = (Ingress(ip=f"192.0.2.{self._given}"),)
            self.load_balancers[uid] = FakeLoadBalancer(request.name, service, ingress)
        balancer = self.load_balancers[uid]
        balancer.nodes = tuple(node.name for node in request.nodes)
        return balancer.ingress

    async def update_load_balancer(self, request: LoadBalancerRequest) -> None:
        """As the provider."""
        if balancer := self.load_balancers.get(await self._call_about(verbs.LB_UPDATE, request)):
            balancer.nodes = tuple(node.name for node in request.nodes)

    async def delete_load_balancer(self, request: LoadBalancerRequest) -> None:
        """As the provider."""
        self.load_balancers.pop(await self._call_about(verbs.LB_DELETE, request), None)

    async def list_load_balancers(self) -> tuple[ListedLoadBalancer, ...]:
        """As the provider."""
        await self._call(verbs.LB_LIST, ())
        return tuple(ListedLoadBalancer(lb.name, lb.service, uid) for uid, lb in self.load_balancers.items())

    async def list_routes(self) -> tuple[CloudRoute, ...]:
        """As the provider."""
        await self._call(verbs.ROUTES_LIST, ())
        return tuple(self.routes)

    async def apply_routes(self, create: Sequence[CloudRoute], delete: Sequence[CloudRoute]) -> RouteResults:
        """As the provider; a new route is named after its hint and its destination."""
        await self._call(verbs.ROUTES_APPLY, [route.destination_cidr for route in (*delete, *create)])
        self.routes = [route for route in self.routes if route not in delete]
        for route in create:
            name = f"{route.name_hint}-{route.destination_cidr}"
            self.routes.append(dataclasses.replace(route, name=name, name_hint=""))
        return RouteResults((None,) * len(create), (None,) * len(delete))

    def _answer(self, name: str, want: AbstractSet[Want]) -> InstanceAnswer:
        answer = self.instances.get(name) or InstanceAnswer(InstanceState.NOT_FOUND)
        return answer if Want.METADATA in want else dataclasses.replace(answer, metadata=None)

    async def _call_about(self, verb: AnyVerb, request: LoadBalancerRequest) -> str:
        uid: str = request.service["metadata"]["uid"]
        await self._call(verb, [uid])
        return uid

    async def _call(self, verb: AnyVerb, about: Iterable[str], want: AbstractSet[Want] = frozenset()) -> None:
        self.calls.append(FakeCall(verb, tuple(about), frozenset(want), asyncio.get_running_loop().time()))
        await asyncio.sleep(self.seconds.get(verb, 0.0))
        if failures := self._failures.get(verb):
            raise failures.pop()
