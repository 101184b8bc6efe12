"""The cloud as the loops see it: questions, whose answers are values (`answers.py`) or a `ProviderError`.

How they are asked (a process for each call, or one that stays; batches, deadlines, pauses of all after `Throttled`) is
the matter of `provider/`.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

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
from hookrunner.cloud.cloud_node import CloudNode
from kubetypes.json_values import JSON


@dataclass(frozen=True, slots=True)
class LoadBalancerRequest:
    """A question about one Service: the object without `managedFields`, upstream's default name of its load balancer,
    and its nodes, by name (none for `lb-get` and `lb-delete`)."""

    service: JSON
    name: str
    nodes: tuple[CloudNode, ...] = ()


class CloudProvider(Protocol):
    """Questions to the provider. Each may wait: for a pause that the cloud has asked for, for its turn, for the answer.
    All but `ask_instances` raise ProviderError."""

    @property
    def capabilities(self) -> CloudCapabilities:
        """What the provider said last that it can do."""
        ...

    async def ask_instances(
        self, nodes: Sequence[CloudNode], want: AbstractSet[Want]
    ) -> Mapping[str, InstanceAnswer | ProviderError]:
        """An answer for each Node, by name. Questions of several callers share calls; a Node about which no call
        succeeds gets the error."""
        ...

    async def get_load_balancer(self, request: LoadBalancerRequest) -> LoadBalancerState:
        """What there is in the cloud; changes nothing."""
        ...

    async def ensure_load_balancer(self, request: LoadBalancerRequest) -> tuple[Ingress, ...]:
        """Create it, or bring it to the wanted state; its addresses, not checked."""
        ...

    async def update_load_balancer(self, request: LoadBalancerRequest) -> None:
        """Change its nodes. One that does not exist is no error."""
        ...

    async def delete_load_balancer(self, request: LoadBalancerRequest) -> None:
        """Delete it and what is left of it. One that does not exist is no error."""
        ...

    async def list_load_balancers(self) -> tuple[ListedLoadBalancer, ...]:
        """All of the cluster."""
        ...

    async def list_routes(self) -> tuple[CloudRoute, ...]:
        """All routes of the cluster."""
        ...

    async def apply_routes(self, create: Sequence[CloudRoute], delete: Sequence[CloudRoute]) -> RouteResults:
        """Delete some, then create others, in one call."""
        ...
