"""ReplicaSets: as many Pods as are wanted, and how many there are.

https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/
"""

from kubesandbox.simulate import owned_objects
from kubesandbox.simulate.owned_objects import claimed, is_active, is_available, is_ending, is_ready
from kubesandbox.simulate.world import Create, Delete, PlannedStep, Tell, Update, World, Write
from kubesandbox.verbs.rules import Object

BURST = 50
"""Pods that are made in one go; between goes others have their turn."""


def step(wanted: Object, world: World) -> PlannedStep | None:
    """Make or end Pods, then write the status; or wait until a Pod has been Ready for long enough."""
    if claims := claimed(wanted, world, "pods"):
        return PlannedStep(claims)
    pods = world.owned("pods", wanted)
    writes = () if is_ending(wanted) else tuple(_scaled(wanted, [pod for pod in pods if is_active(pod)]))
    status = _status(wanted, pods, world)
    if writes:
        return PlannedStep(writes)
    if status != wanted["status"]:
        return PlannedStep((Update({**wanted, "status": status}, "status"),))
    seconds = wanted["spec"].get("minReadySeconds", 0)
    if any(is_ready(pod) and not is_available(pod, seconds, world.now) for pod in pods):
        return PlannedStep((), 1, "wait")
    return None


def _scaled(wanted: Object, active: list[Object]) -> list[Write]:
    """Pods that are missing, or too many."""
    spec, name = wanted["spec"], wanted["metadata"]["name"]
    writes: list[Write] = []
    for _ in range(min(BURST, spec.get("replicas", 1) - len(active))):
        made = owned_objects.pod(wanted, spec["template"], {"generateName": f"{name}-"})
        writes.append(Create(made, wanted))
    surplus = sorted(active, key=_last_to_go)[spec.get("replicas", 1) :]
    for pod in surplus:
        writes.append(Delete(pod))
        writes.append(Tell(wanted, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}"))
    return writes


def _last_to_go(pod: Object) -> tuple[bool, bool, tuple[str, str]]:
    """Pods without a node go first, then those that are not Ready, then the newest."""
    return not pod["spec"].get("nodeName"), not is_ready(pod), owned_objects.age(pod)


def _status(wanted: Object, pods: list[Object], world: World) -> Object:
    spec, active = wanted["spec"], [pod for pod in pods if is_active(pod)]
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    seconds = spec.get("minReadySeconds", 0)
    counts = {
        "fullyLabeledReplicas": sum(labels.items() <= (pod["metadata"].get("labels") or {}).items() for pod in active),
        "readyReplicas": sum(map(is_ready, active)),
        "availableReplicas": sum(is_available(pod, seconds, world.now) for pod in active),
    }
    kept = {key: wanted["status"][key] for key in ("conditions",) if key in wanted["status"]}
    return {
        **kept,
        "replicas": len(active),
        **{key: number for key, number in counts.items() if number},
        "terminatingReplicas": sum(map(is_ending, pods)),
        "observedGeneration": wanted["metadata"]["generation"],
    }
