"""Priorities of new Pods, from the PriorityClasses there are.

https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
"""

from collections.abc import Sequence
from typing import Any

from kubesandbox.status import About, forbidden

Object = dict[str, Any]

LOWER = "PreemptLowerPriority"
SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
NOT_YOURS = "must not be provided in pod spec; priority admission controller computed"


def prioritised(pod: Object, classes: Sequence[Object]) -> Object:
    """A new Pod with the priority and the preemption policy of its class, of the global default, or none.

    `classes` are all PriorityClasses. A new object. Raises `Refused` (403) if there is no such class or the Pod says
    something else than its class.
    """
    spec = dict(pod["spec"])
    name = spec.get("priorityClassName", "")
    found = next((one for one in classes if one["metadata"]["name"] == name), None)
    if not name:
        found = next((one for one in classes if one.get("globalDefault")), None)
    elif not found and name not in SYSTEM:
        raise forbidden(_about(pod), f"no PriorityClass with name {name} was found")
    if found:
        spec["priorityClassName"] = found["metadata"]["name"]
    value = found.get("value", 0) if found else SYSTEM.get(name, 0)
    policy = found.get("preemptionPolicy", LOWER) if found else LOWER
    if spec.setdefault("priority", value) != value:
        why = (
            f"the integer value of priority ({spec['priority']}) {NOT_YOURS} {value} from the given PriorityClass name"
        )
        raise forbidden(_about(pod), why)
    if spec.setdefault("preemptionPolicy", policy) != policy:
        said = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']})"
        raise forbidden(_about(pod), f"{said} {NOT_YOURS} {policy} from the given PriorityClass name")
    return {**pod, "spec": spec}


def needs_no_class(pod: Object) -> bool:
    """Whether a Pod names no class, or one of the system's."""
    return pod["spec"].get("priorityClassName", "") in ("", *SYSTEM)


def _about(pod: Object) -> About:
    return About("", "pods", pod["metadata"].get("name", ""))
