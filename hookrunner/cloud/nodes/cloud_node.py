"""A Node as the cloud loops need it: of 15 KB, what they decide on and what they tell a provider.

    node = read_node(obj)

A kubelet's heartbeat changes nothing of it, so equal projections mean that there is nothing to do.
"""

import sys
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from hookrunner.cloud.answers import NodeAddress
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
"""The taint that a kubelet with --cloud-provider=external sets."""
SHUTDOWN = "node.cloudprovider.kubernetes.io/shutdown"


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a Node; `time_added` as the API has it, empty if it is not set."""

    key: str
    effect: str
    value: str = ""
    time_added: str = ""

    @property
    def document(self) -> JSON:
        """As the API has it."""
        parts = {"key": self.key, "value": self.value, "effect": self.effect, "timeAdded": self.time_added}
        return {name: value for name, value in parts.items() if value}


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """Status and reason of a condition of a Node."""

    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class CloudNode:
    """A Node. `ready` is None if it is Unknown, or if there is no such condition; `created_at` are epoch seconds;
    `network_unavailable` is None without that condition. `version` is the resourceVersion, for the writes that are made
    of this state; nodes that differ in nothing else are equal."""

    name: str
    uid: str
    provider_id: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    taints: tuple[Taint, ...]
    addresses: tuple[NodeAddress, ...]
    pod_cidrs: tuple[str, ...]
    created_at: float
    ready: bool | None
    is_deleting: bool
    is_cordoned: bool
    network_unavailable: NodeCondition | None
    version: str = field(default="", compare=False)

    def has_taint(self, key: str, effect: str = "") -> bool:
        """Is there a taint of this key and, if one is given, of this effect?"""
        return any(taint.key == key and effect in ("", taint.effect) for taint in self.taints)

    @property
    def is_initialized(self) -> bool:
        """Is the kubelet's taint gone?"""
        return not self.has_taint(UNINITIALIZED)


def read_node(obj: JSON) -> CloudNode:
    """The projection of a Node as the API server sends it."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    network = conditions.get("NetworkUnavailable")
    return CloudNode(
        name=metadata["name"],
        uid=metadata["uid"],
        provider_id=spec.get("providerID") or "",
        labels=_interned(metadata.get("labels")),
        annotations=_interned(metadata.get("annotations")),
        taints=tuple(map(_read_taint, spec.get("taints") or ())),
        addresses=tuple(NodeAddress(sys.intern(a["type"]), a["address"]) for a in status.get("addresses") or ()),
        pod_cidrs=tuple(spec.get("podCIDRs") or filter(None, [spec.get("podCIDR")])),
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]).timestamp(),
        ready={"True": True, "False": False}.get((conditions.get("Ready") or {}).get("status", "")),
        is_deleting=bool(metadata.get("deletionTimestamp")),
        is_cordoned=bool(spec.get("unschedulable")),
        network_unavailable=NodeCondition(network["status"], network.get("reason", "")) if network else None,
        version=metadata.get("resourceVersion", ""),
    )


def _read_taint(taint: JSON) -> Taint:
    key, effect = sys.intern(taint["key"]), sys.intern(taint["effect"])
    return Taint(key, effect, taint.get("value") or "", taint.get("timeAdded") or "")


def _interned(texts: Mapping[str, str] | None) -> Mapping[str, str]:
    """Nodes of a cluster have the same keys, and many of the same values."""
    return {sys.intern(key): sys.intern(value) for key, value in (texts or {}).items()}
