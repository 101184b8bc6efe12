"""The condition `NetworkUnavailable` of a Node: whether its Pod networks have their routes.

    condition = decide_condition(node.network_unavailable, is_routed, keeps_foreign)
    if condition: await write_condition(client, node, condition)

The scheduler keeps Pods off a Node whose condition is True (by a taint that kube-controller-manager sets). The patch is
a strategic one: it changes this condition, and none of those that the kubelet writes.
Source: https://kubernetes.io/docs/reference/node/node-status/#condition
"""

import time

from hookrunner.cloud.nodes.cloud_node import CloudNode, NodeCondition
from hookrunner.cloud.nodes.node_informer import NODES
from hookrunner.errors import Denied, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef, WriteOptions
from hookrunner.model.timestamps import rfc3339
from kubetypes.light_dataclasses import dataclass

_RULE = refusals.rbac_rule(NODES, ["patch"], "status")
_OPTIONS = WriteOptions(timeout=10.0)


@dataclass(frozen=True, slots=True)
class RoutedCondition:
    """What the condition should say."""

    status: str
    reason: str
    message: str


ROUTED = RoutedCondition("False", "RouteCreated", "RouteController created a route")
UNROUTED = RoutedCondition("True", "NoRouteCreated", "RouteController failed to create a route")


def decide_condition(live: NodeCondition | None, is_routed: bool, keeps_foreign: bool) -> RoutedCondition | None:
    """What to write, None for nothing. `keeps_foreign`: the network plugin may have said that the network is there, and
    that is left to it."""
    wanted = ROUTED if is_routed else UNROUTED
    if live and (live.status, live.reason) == (wanted.status, wanted.reason):
        return None
    if live and keeps_foreign and live.status == "False" and live.reason != ROUTED.reason:
        return None
    return wanted


async def write_condition(client: Client, node: CloudNode, condition: RoutedCondition) -> None:
    """Write the condition of this Node, not of another of its name. One that is gone needs none. Raises KubeError."""
    now = rfc3339(time.time())
    entry = {
        "type": "NetworkUnavailable",
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": now,
        "lastHeartbeatTime": now,
    }
    patch = {"metadata": {"uid": node.uid}, "status": {"conditions": [entry]}}
    try:
        await writes.strategic_merge_patch(client, ObjectRef(NODES, "", node.name, "status"), patch, _OPTIONS)
    except NotFound:
        return
    except Denied as error:
        raise refusals.explain_rights(error, "say whether a Node has routes", _RULE) from None
