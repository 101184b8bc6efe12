"""Nodes as the API server has them, and their projections."""

from typing import Any

from hookrunner.cloud.nodes.cloud_node import UNINITIALIZED, CloudNode, read_node

KUBELET_TAINT = {"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}
NOT_READY_TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
PROVIDED_IP = "alpha.kubernetes.io/provided-node-ip"
CREATED = "2026-11-22T00:00:00Z"


def node(name: str = "a", ready: bool | None = True, provider_id: str = "", **parts: Any) -> Any:
    """A Node; `parts` are `labels`, `annotations`, `taints`, `addresses` (pairs), `pod_cidrs`, `uid`, `created`,
    `unschedulable`, `deleting`, `conditions`."""
    metadata = {"name": name, "creationTimestamp": parts.get("created", CREATED)}
    metadata |= {key: parts[key] for key in ("labels", "annotations", "uid") if key in parts}
    metadata |= {"deletionTimestamp": CREATED} if parts.get("deleting") else {}
    spec = {"providerID": provider_id, "taints": parts.get("taints"), "podCIDRs": parts.get("pod_cidrs")}
    spec |= {"unschedulable": parts.get("unschedulable")}
    addresses = [{"type": type_, "address": address} for type_, address in parts.get("addresses", ())]
    condition = [] if ready is None else [{"type": "Ready", "status": str(ready)}]
    status = {"addresses": addresses, "conditions": condition + parts.get("conditions", [])}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {key: value for key, value in spec.items() if value},
        "status": status,
    }


def new_node(name: str = "a", **parts: Any) -> Any:
    """A Node that a kubelet has just registered."""
    return node(name, taints=[KUBELET_TAINT, NOT_READY_TAINT], **parts)


def projected(document: Any) -> CloudNode:
    """The projection, with a uid and a version if it has none."""
    metadata = {"uid": f"uid-{document['metadata']['name']}", "resourceVersion": "1"} | document["metadata"]
    return read_node({**document, "metadata": metadata})
