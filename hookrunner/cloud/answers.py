"""What a cloud's program says, as values: capabilities, instances, load balancers, routes, and why a call failed.

Nothing abnormal is ever read as "the instance does not exist": `InstanceState.NOT_FOUND` comes from an entry that says
so, and from nowhere else; whatever cannot be read is `UNKNOWN` or a `ProviderError`. The wire format
`cloud.hookrunner.io/v1` is described in docs/providers.md.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import NamedTuple

from hookrunner.errors import HookrunnerError
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


class Interface(StrEnum):
    """What a provider may offer, under its name in the wire format."""

    INSTANCES = "instances"
    LOAD_BALANCER = "loadBalancer"
    ROUTES = "routes"


class ErrorCode(StrEnum):
    """Why a call failed, and so what the loops do. A code that is not listed is read as `UNAVAILABLE`."""

    NOT_FOUND = "NotFound"
    NOT_IMPLEMENTED = "NotImplemented"
    IMPLEMENTED_ELSEWHERE = "ImplementedElsewhere"
    PENDING = "Pending"
    THROTTLED = "Throttled"
    INVALID = "Invalid"
    UNAUTHENTICATED = "Unauthenticated"
    UNAVAILABLE = "Unavailable"


_PAUSES = {ErrorCode.UNAUTHENTICATED: 60.0, ErrorCode.NOT_IMPLEMENTED: 600.0}
"""Seconds until a person may have mended the credentials, and until the provider is asked anew what it can do."""


class ProviderError(HookrunnerError):
    """A call failed. `retry_after`: seconds, for `PENDING` and `THROTTLED`. `reason` is the message without the code;
    it holds no secret of the provider's environment."""

    def __init__(self, code: ErrorCode, message: str, retry_after: float = 0.0) -> None:
        self.code = code
        self.reason = message
        self.retry_after = retry_after
        super().__init__(f"{code}: {message}")

    @property
    def pause(self) -> float | None:
        """Exact seconds until the next attempt, which is then no failure; None if it is one, with a back-off."""
        if self.code in (ErrorCode.PENDING, ErrorCode.THROTTLED):
            return self.retry_after
        return _PAUSES.get(self.code)


class InstanceState(StrEnum):
    """What the cloud says of a Node's machine. `SKIP`: it is not the provider's business."""

    RUNNING = "running"
    SHUTDOWN = "shutdown"
    NOT_FOUND = "notFound"
    SKIP = "skip"
    UNKNOWN = "unknown"


class Want(StrEnum):
    """What is asked about an instance."""

    STATE = "state"
    METADATA = "metadata"


class NodeAddress(NamedTuple):
    """An address as `status.addresses` of a Node has it; `type` is one of Hostname, InternalIP, ExternalIP,
    InternalDNS, ExternalDNS."""

    type: str
    address: str


@dataclass(frozen=True, slots=True)
class InstanceMetadata:
    """What a Node takes over from its machine. Empty means that the cloud did not say. `problems`: why nothing of it
    can be used, each as a sentence that people may see (`shown_texts.py`); all else is empty then."""

    provider_id: str = ""
    instance_type: str = ""
    zone: str = ""
    region: str = ""
    addresses: tuple[NodeAddress, ...] = ()
    additional_labels: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstanceAnswer:
    """The answer about one Node. `metadata` is there if it was asked for and the state is `RUNNING` or `SHUTDOWN`,
    empty if the cloud gave none; `message` is for a person."""

    state: InstanceState
    metadata: InstanceMetadata | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class CloudCapabilities:
    """What a provider can do, and its limits. Times are seconds; `timeouts` are those of verbs that have their own."""

    provider_name: str
    provider_id_prefixes: tuple[str, ...]
    interfaces: tuple[Interface, ...] = ()
    route_node_addresses: bool = False
    serve: bool = False
    max_parallel: int = 4
    max_batch: int = 500
    timeouts: Mapping[str, float] = field(default_factory=dict)

    def offers(self, interface: Interface) -> bool:
        """Does it have this interface?"""
        return interface in self.interfaces

    def owns(self, provider_id: str) -> bool:
        """Is it an id of this provider?"""
        return provider_id.startswith(self.provider_id_prefixes)

    def without(self, interface: Interface) -> "CloudCapabilities":
        """The same without an interface, which turned out not to be there."""
        return replace(self, interfaces=tuple(other for other in self.interfaces if other is not interface))


@dataclass(frozen=True, slots=True)
class Ingress:
    """One entry of `status.loadBalancer.ingress` of a Service: an IP or a DNS name. `ports` as the API has them."""

    ip: str = ""
    hostname: str = ""
    ip_mode: str = ""
    ports: tuple[JSON, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadBalancerState:
    """The answer of `lb-get`."""

    exists: bool
    ingress: tuple[Ingress, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedLoadBalancer:
    """One of all load balancers of the cluster: its name in the cloud, `namespace/name` and the UID of its Service."""

    name: str
    service: str
    uid: str


@dataclass(frozen=True, slots=True)
class CloudRoute:
    """A route to a Pod network. `name` is the cloud's, empty for a new one; a new one has a `name_hint`."""

    target_node: str
    destination_cidr: str
    name: str = ""
    target_node_addresses: tuple[NodeAddress, ...] = ()
    blackhole: bool = False
    name_hint: str = ""


@dataclass(frozen=True, slots=True)
class RouteResults:
    """What became of each route, in the order in which they were given; None is success."""

    create: tuple[ProviderError | None, ...] = ()
    delete: tuple[ProviderError | None, ...] = ()
