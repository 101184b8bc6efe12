"""Requests to a cloud's program, as bytes: what it learns of Nodes, Services and routes.

    request = CallRequest("instances", "b1f2", 60.0, "kubernetes", instances_params(asked))
    request.text

Nothing secret goes into a request. The format is described in docs/providers.md; its schemas are in `schemas.py`.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime

import orjson

from hookrunner.cloud.answers import CloudRoute, Want
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.node_addresses import to_documents
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

API_VERSION = "cloud.hookrunner.io/v1"


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One question. `deadline`: seconds that the program has for it."""

    verb: str
    request_id: str
    deadline: float
    cluster: str
    params: JSON

    @property
    def text(self) -> bytes:
        """One line of JSON, without its end."""
        return orjson.dumps(
            {
                "apiVersion": API_VERSION,
                "verb": self.verb,
                "requestID": self.request_id,
                "deadlineSeconds": self.deadline,
                "cluster": {"name": self.cluster},
                "params": self.params,
            }
        )


@dataclass(frozen=True, slots=True)
class InstancesQuestion:
    """What is asked about each of these Nodes."""

    nodes: Sequence[CloudNode]
    want: AbstractSet[Want]


@dataclass(frozen=True, slots=True)
class RouteChanges:
    """Routes to delete, and then others to create."""

    create: Sequence[CloudRoute]
    delete: Sequence[CloudRoute]


def instances_params(asked: InstancesQuestion) -> JSON:
    """Of `instances`: which Nodes, and what is asked about each of them."""
    return {"nodes": [_questioned_node(node) for node in asked.nodes], "want": sorted(asked.want)}


def service_params(asked: LoadBalancerRequest) -> dict[str, JSON]:
    """Of the verbs about one load balancer."""
    return {"service": asked.service, "name": asked.name}


def service_and_nodes_params(asked: LoadBalancerRequest) -> JSON:
    """The same with its Nodes, sorted by name."""
    nodes = sorted(asked.nodes, key=lambda node: node.name)
    return {**service_params(asked), "nodes": [_backend_node(node) for node in nodes]}


def routes_params(asked: RouteChanges) -> JSON:
    """Of `routes-apply`."""
    return {
        "create": [{**_route(route), "nameHint": route.name_hint} for route in asked.create],
        "delete": [{**_route(route), "name": route.name, "blackhole": route.blackhole} for route in asked.delete],
    }


def _questioned_node(node: CloudNode) -> JSON:
    return {
        **_backend_node(node),
        "annotations": dict(node.annotations),
        "createdAt": datetime.fromtimestamp(node.created_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "ready": node.ready,
    }


def _backend_node(node: CloudNode) -> dict[str, JSON]:
    return {
        "name": node.name,
        "uid": node.uid,
        "providerID": node.provider_id,
        "addresses": to_documents(node.addresses),
        "labels": dict(node.labels),
    }


def _route(route: CloudRoute) -> dict[str, JSON]:
    return {
        "targetNode": route.target_node,
        "targetNodeAddresses": to_documents(route.target_node_addresses),
        "destinationCIDR": route.destination_cidr,
    }
