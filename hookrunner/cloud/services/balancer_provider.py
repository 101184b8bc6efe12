"""What the loop of load balancers asks the cloud: how that is done is the matter of `cloud/provider/`."""

from typing import Protocol

from hookrunner.cloud.answers import Ingress, LoadBalancerState
from hookrunner.cloud.nodes.cloud_node import CloudNode
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadBalancerRequest:
    """A question about one Service: the object without `managedFields`, upstream's default name of its load balancer,
    and its nodes, by name (none for `lb-get` and `lb-delete`)."""

    service: JSON
    name: str
    nodes: tuple[CloudNode, ...] = ()


class BalancerProvider(Protocol):
    """The interface `loadBalancer`. Each question may wait: for a pause that the cloud has asked for, for its turn, for
    the answer. Each raises ProviderError."""

    async def get_load_balancer(self, request: LoadBalancerRequest) -> LoadBalancerState:
        """What there is in the cloud; changes nothing."""
        ...

    async def ensure_load_balancer(self, request: LoadBalancerRequest) -> tuple[Ingress, ...]:
        """Create it, or bring it to the desired state; its addresses, not checked."""
        ...

    async def update_load_balancer(self, request: LoadBalancerRequest) -> None:
        """Change its nodes. One that does not exist is no error."""
        ...

    async def delete_load_balancer(self, request: LoadBalancerRequest) -> None:
        """Delete it and what is left of it. One that does not exist is no error."""
        ...
