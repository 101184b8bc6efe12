"""Nodes: two fake ones if the seeds have none; one without a status becomes Ready."""

from collections.abc import Iterator
from typing import Any

from kubesandbox.simulate.owned_objects import condition
from kubesandbox.simulate.world import PlannedStep, Update, World
from kubesandbox.times import rfc3339
from kubesandbox.verbs.rules import Object

NAMES = ("sandbox-1", "sandbox-2")
ARCHITECTURE, SYSTEM = "amd64", "linux"
VERSION = "sandbox"
CAPACITY = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
READY = ("Ready", "KubeletReady", "kubelet is posting ready status")
NOT_READY = "node.kubernetes.io/not-ready"


def first_nodes(world: World) -> Iterator[Object]:
    """The nodes to begin with, unless there are some."""
    if not world.all("nodes"):
        for name in NAMES:
            labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": SYSTEM, "kubernetes.io/arch": ARCHITECTURE}
            yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def step(node: Object, world: World) -> PlannedStep | None:
    """A node without a Ready condition gets one, and what a kubelet says of its machine; then its taint goes."""
    taints = node.get("spec", {}).get("taints") or []
    ready = condition(node.get("status", {}).get("conditions"), "Ready")
    if not ready:
        known = node.get("status", {})
        given = {key: known[key] for key in ("capacity", "allocatable", "addresses") if known.get(key)}
        said = {**known, **_machine(node, world), **given, "conditions": _conditions(rfc3339(world.now))}
        return PlannedStep((Update({**node, "status": said}, "status"),))
    left = [taint for taint in taints if taint["key"] != NOT_READY]
    if ready["status"] == "True" and left != taints:
        spec = {key: value for key, value in node["spec"].items() if key != "taints"}
        return PlannedStep((Update({**node, "spec": {**spec, **({"taints": left} if left else {})}}),))
    return None


def _machine(node: Object, world: World) -> dict[str, Any]:
    place = [one["metadata"]["name"] for one in world.all("nodes")].index(node["metadata"]["name"])
    addresses = [("InternalIP", f"192.168.0.{place + 1}"), ("Hostname", node["metadata"]["name"])]
    return {
        "capacity": CAPACITY,
        "allocatable": CAPACITY,
        "addresses": [{"type": type_, "address": address} for type_, address in addresses],
        "nodeInfo": {
            "architecture": ARCHITECTURE,
            "operatingSystem": SYSTEM,
            "kubeletVersion": VERSION,
            "kubeProxyVersion": "",
            "containerRuntimeVersion": VERSION,
            "kernelVersion": VERSION,
            "osImage": VERSION,
            "bootID": "",
            "machineID": "",
            "systemUUID": "",
        },
    }


def _conditions(now: str) -> list[Object]:
    said = [(*one, "False") for one in PRESSURES] + [(*READY, "True")]
    return [
        {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        for type_, reason, message, status in said
    ]
