"""Nodes, Services and routes that no cloud has, for questions whose right answer is known without knowing the cloud."""

import time
from secrets import token_hex
from uuid import uuid4

from hookrunner.cloud.answers import CloudRoute
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from hookrunner.cloud.services.cloud_service import read_service
from kubetypes.json_values import JSON

FOREIGN_ID = "hookrunner-check-other-cloud://i-1"
"""A providerID of a cloud that does not exist."""
CHECK_CIDR = "198.18.255.0/28"
"""A network for benchmarks (RFC 2544), in which no Pods are."""


def made_up_node(provider_id: str = "", name: str = "") -> CloudNode:
    """A Node that has not been initialised, and is not Ready."""
    return CloudNode(
        name=name or f"hookrunner-check-{token_hex(4)}",
        uid=str(uuid4()),
        provider_id=provider_id,
        labels={},
        annotations={},
        taints=(),
        addresses=(),
        pod_cidrs=(),
        created_at=time.time(),
        ready=None,
        is_deleting=False,
        is_cordoned=False,
        network_unavailable=None,
    )


def made_up_nodes(number: int) -> list[CloudNode]:
    """Several without a providerID."""
    return [made_up_node() for _ in range(number)]


def made_up_service() -> JSON:
    """A Service of type LoadBalancer as the API server would send it."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": f"hookrunner-check-{token_hex(4)}",
            "namespace": "default",
            "uid": str(uuid4()),
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "type": "LoadBalancer",
            "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080, "nodePort": 30080}],
            "selector": {"app": "hookrunner-check"},
            "clusterIP": "10.96.0.10",
            "clusterIPs": ["10.96.0.10"],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster",
            "allocateLoadBalancerNodePorts": True,
            "sessionAffinity": "None",
        },
        "status": {"loadBalancer": {}},
    }


def made_up_balancer(nodes: tuple[CloudNode, ...] = ()) -> LoadBalancerRequest:
    """A question about such a Service, with these backends."""
    service = made_up_service()
    return LoadBalancerRequest(service, read_service(service).balancer_name, nodes)


def made_up_route(node: CloudNode) -> CloudRoute:
    """A route to a network without Pods."""
    return CloudRoute(node.name, CHECK_CIDR, target_node_addresses=node.addresses, name_hint=node.uid)
