"""Which Nodes a cloud controller manager would never initialise, and the taint with which it does.

A kubelet taints its Node only when it creates it, and only with --cloud-provider=external.
Source: https://kubernetes.io/docs/tasks/administer-cluster/running-cloud-controller/
"""

from collections.abc import Iterable

from hookrunner.cloud.cloud_node import UNINITIALIZED, Taint, read_node
from kubetypes.json_values import JSON


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


def _is_adoptable(obj: JSON) -> bool:
    node = read_node(obj)
    return not node.provider_id and node.is_initialized and not node.is_deleting
