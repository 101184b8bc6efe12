"""Nodes as kubelets create them, and machines as simcloud keeps them: for scenes and for benchmarks."""

from collections.abc import Iterable
from typing import Any

from tests.providers.provider_calls import PROVIDERS

Document = dict[str, Any]

SIMCLOUD = PROVIDERS / "simcloud"
UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
SHUTDOWN = {"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}


def node(
    name: str, *, ready: str | None = "True", taints: Iterable[Document] = (UNINITIALIZED,), **rest: Any
) -> Document:
    """A Node as a kubelet creates it. `rest`: labels, annotations, providerID, podCIDRs, addresses."""
    spec = {key: rest[key] for key in ("providerID", "podCIDRs") if key in rest}
    conditions = [{"type": "Ready", "status": ready, "reason": "Test"}] if ready else []
    return {
        "metadata": {"name": name, "labels": rest.get("labels", {}), "annotations": rest.get("annotations", {})},
        "spec": {"taints": list(taints), **spec, **({"podCIDR": spec["podCIDRs"][0]} if "podCIDRs" in spec else {})},
        "status": {"conditions": conditions, "addresses": rest.get("addresses", [])},
    }


def machine(name: str) -> Document:
    """What simcloud keeps of an instance."""
    return {
        "id": f"i-{name}",
        "state": "running",
        "type": "sim.small",
        "zone": "zone-a",
        "region": "region-1",
        "addresses": [{"type": "InternalIP", "address": "10.240.0.7"}, {"type": "ExternalIP", "address": "198.19.0.7"}],
        "labels": {},
    }
