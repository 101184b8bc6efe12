"""Nodes with Pod networks, and routes of a cloud."""

from collections.abc import Iterable
from ipaddress import ip_network
from typing import Any

from hookrunner.cloud.answers import CloudRoute, NodeAddress
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.routes.pod_networks import Network
from tests.cloud.node_samples import node, projected

CLUSTER: tuple[Network, ...] = (ip_network("10.120.0.0/16"), ip_network("a00::/8"))


def with_networks(name: str, *cidrs: str, address: str = "", **parts: Any) -> Any:
    """A Node with Pod networks and one address."""
    addresses = [("InternalIP", address)] if address else []
    return node(name, pod_cidrs=list(cidrs), addresses=addresses, **parts)


def nodes_of(documents: Iterable[Any]) -> list[CloudNode]:
    """The projections."""
    return [projected(document) for document in documents]


def route(target: str, cidr: str, address: str = "", blackhole: bool = False) -> CloudRoute:
    """A route as a cloud lists it."""
    addresses = (NodeAddress("InternalIP", address),) if address else ()
    return CloudRoute(target, cidr, f"route-{target}-{cidr}", addresses, blackhole)
