"""Which Nodes a cloud controller manager would never initialise, and the taint with which it does.

A kubelet taints its Node only when it creates it, and only with --cloud-provider=external.
Source: https://kubernetes.io/docs/tasks/administer-cluster/running-cloud-controller/
"""

from collections.abc import Iterable

from hookrunner.cloud.answers import InstanceAnswer, InstanceState
from hookrunner.cloud.nodes.cloud_node import UNINITIALIZED, Taint, read_node
from kubetypes.json_values import JSON

_LEFT_OUT = {
    InstanceState.SKIP: "it is not a machine of this provider",
    InstanceState.NOT_FOUND: "the provider has no such machine",
    InstanceState.UNKNOWN: "the provider does not know; try again later",
}


def adoptable_nodes(objects: Iterable[JSON]) -> list[JSON]:
    """Those Nodes without providerID and without the kubelet's taint that are not being deleted."""
    return [obj for obj in objects if _is_adoptable(obj)]


def adoption_patch(obj: JSON) -> JSON:
    """The merge patch that adds the kubelet's taint; the server refuses it if the Node has changed meanwhile."""
    taint = Taint(UNINITIALIZED, "NoSchedule", "true")
    return {
        "metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]},
        "spec": {"taints": [*(obj.get("spec", {}).get("taints") or ()), taint.document]},
    }


def why_left_out(answer: InstanceAnswer) -> str:
    """Why a Node would stay tainted for good, or until the provider knows; "" for one that it knows."""
    why = _LEFT_OUT.get(answer.state, "")
    return f"{why} ({answer.message})" if why and answer.message else why


def _is_adoptable(obj: JSON) -> bool:
    node = read_node(obj)
    return not node.provider_id and node.is_initialized and not node.is_deleting
