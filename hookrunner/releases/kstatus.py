"""Is an object ready? Pure functions over one object, by the rules of kstatus.

    verdict(deployment) -> Verdict(ready=False, message="1 of 3 replicas are updated")

Kinds without a status are ready as soon as they exist. Differences from kstatus, each in favour of waiting: a Pod that
cannot be scheduled or crashes may recover, so it does not count as failed; a paused Deployment is as its manifest says.
Source: https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kubetypes.json_values import JSON


@dataclass(frozen=True, slots=True)
class ObjectStatus:
    """`message` says why an object is not ready. `failed`: waiting will not make it ready."""

    ready: bool
    message: str = ""
    failed: bool = False


READY = ObjectStatus(ready=True)


def waits(message: str) -> ObjectStatus:
    """Progressing: not ready yet."""
    return ObjectStatus(ready=False, message=message)


def fails(message: str) -> ObjectStatus:
    """Failed: waiting does not help."""
    return ObjectStatus(ready=False, message=message, failed=True)


def spec_of(obj: JSON) -> JSON:
    """The spec, empty without one."""
    return obj.get("spec") or {}


def status_of(obj: JSON) -> JSON:
    """The status, empty without one. A custom kind may put any value there."""
    status = obj.get("status")
    return status if isinstance(status, dict) else {}


def condition(obj: JSON, name: str) -> JSON:
    """The condition of this type, empty without one."""
    conditions = status_of(obj).get("conditions")
    for entry in conditions if isinstance(conditions, list) else ():
        if isinstance(entry, dict) and entry.get("type") == name:
            return entry
    return {}


def holds(entry: JSON) -> bool:
    """Is a condition true?"""
    return bool(entry.get("status") == "True")


def words(entry: JSON) -> str:
    """Reason and message of a condition, or of a container's state."""
    return ": ".join(filter(None, (entry.get("reason"), entry.get("message")))) or "no reason is given"


def ended(obj: JSON) -> ObjectStatus:
    """Has a Job or a Pod completed? Helm waits for this if either is a hook."""
    if obj["kind"] == "Pod":
        return _pod_ended(obj) or waits(_pod_message(obj))
    return _job_ended(obj) or waits(f"{status_of(obj).get('succeeded', 0)} of {_completions(obj)} Pods have succeeded")


def job(obj: JSON) -> ObjectStatus:
    """A Job may run indefinitely: it only needs to have started."""
    begun = status_of(obj).get("startTime") or spec_of(obj).get("suspend")
    return _job_ended(obj) or (READY if begun else waits("has not started"))


def pod(obj: JSON) -> ObjectStatus:
    """Ready, or completed."""
    if (end := _pod_ended(obj)) is not None:
        return end
    return READY if holds(condition(obj, "Ready")) else waits(_pod_message(obj))


def _job_ended(obj: JSON) -> ObjectStatus | None:
    if holds(failed := condition(obj, "Failed")):
        return fails(f"the Job failed: {words(failed)}")
    return READY if holds(condition(obj, "Complete")) else None


def _completions(obj: JSON) -> JSON:
    return spec_of(obj).get("completions") or 1


def _pod_ended(obj: JSON) -> ObjectStatus | None:
    status = status_of(obj)
    if status.get("phase") == "Failed":
        return fails(f"the Pod failed: {_exit(status) or words(status)}")
    return READY if status.get("phase") == "Succeeded" else None


def _exit(status: JSON) -> str:
    """Which containers failed, and their exit codes."""
    states = [
        (container["name"], (container.get("state") or {}).get("terminated") or {}) for container in _containers(status)
    ]
    return ", ".join(
        f"container {name} ended with {end['exitCode']} ({words(end)})" for name, end in states if end.get("exitCode")
    )


def _pod_message(obj: JSON) -> str:
    """Why a Pod is not ready: a container that cannot start, the scheduler's message, or its phase."""
    status = status_of(obj)
    waiting_states = [
        (container["name"], (container.get("state") or {}).get("waiting") or {}) for container in _containers(status)
    ]
    stuck = [f"container {name}: {words(waiting)}" for name, waiting in waiting_states if waiting.get("reason")]
    scheduled = condition(obj, "PodScheduled")
    if scheduled.get("status") == "False":
        stuck.append(words(scheduled))
    return ", ".join([f"is {status.get('phase', 'Pending')}", *stuck])


def _containers(status: JSON) -> list[JSON]:
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def deployment(obj: JSON) -> ObjectStatus:
    """All replicas updated and available. A paused Deployment is as its manifest says."""
    spec, status = spec_of(obj), status_of(obj)
    if spec.get("paused"):
        return READY
    progressing = condition(obj, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return fails(words(progressing))
    wanted = spec.get("replicas", 1)
    counts = _all_of(wanted, {"created": status.get("replicas"), "updated": status.get("updatedReplicas")})
    if not counts.ready:
        return counts
    if status.get("replicas", 0) > wanted:
        return waits(f"{status['replicas'] - wanted} old replicas are still there")
    counts = _all_of(wanted, {"available": status.get("availableReplicas"), "ready": status.get("readyReplicas")})
    if not counts.ready:
        return counts
    available = condition(obj, "Available")
    return READY if holds(available) else waits(f"is not available: {words(available)}")


def replica_set(obj: JSON) -> ObjectStatus:
    """As many replicas as desired."""
    status = status_of(obj)
    if holds(failure := condition(obj, "ReplicaFailure")):
        return waits(words(failure))
    counts = {"created": status.get("replicas"), "available": status.get("availableReplicas")}
    return _all_of(spec_of(obj).get("replicas", 1), counts | {"ready": status.get("readyReplicas")})


def stateful_set(obj: JSON) -> ObjectStatus:
    """All replicas ready, and updated as far as the partition allows."""
    spec, status = spec_of(obj), status_of(obj)
    strategy = spec.get("updateStrategy") or {}
    wanted = spec.get("replicas", 1)
    counts = _all_of(wanted, {"created": status.get("replicas"), "ready": status.get("readyReplicas")})
    if not counts.ready:
        return counts
    if status.get("replicas", 0) > wanted:
        return waits(f"{status['replicas'] - wanted} replicas too many are still there")
    if strategy.get("type") == "OnDelete":
        return READY
    partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
    updated = status.get("updatedReplicas") or 0
    if partition:
        return _all_of(max(wanted - partition, 0), {"updated": updated})
    if status.get("currentRevision") != status.get("updateRevision"):
        return waits(f"{updated} of {wanted} replicas are updated")
    return READY


def daemon_set(obj: JSON) -> ObjectStatus:
    """One Pod on each node that should have one."""
    status = status_of(obj)
    if "desiredNumberScheduled" not in status or "observedGeneration" not in status:
        return waits("its controller has not seen it")
    parts = {"scheduled": status.get("currentNumberScheduled"), "updated": status.get("updatedNumberScheduled")}
    if (spec_of(obj).get("updateStrategy") or {}).get("type") == "OnDelete":
        del parts["updated"]
    parts |= {"available": status.get("numberAvailable"), "ready": status.get("numberReady")}
    return _all_of(status["desiredNumberScheduled"], parts)


def _all_of(wanted: int, parts: Mapping[str, JSON]) -> ObjectStatus:
    """Are there as many replicas of each sort as desired?"""
    few = [f"{count or 0} of {wanted} replicas are {word}" for word, count in parts.items() if (count or 0) < wanted]
    return waits(few[0]) if few else READY


_K8S_IO = (
    *("admissionregistration", "apiextensions", "apiregistration", "authentication", "authorization", "certificates"),
    *("coordination", "discovery", "events", "flowcontrol.apiserver", "networking", "node", "rbac.authorization"),
    *("resource", "scheduling", "storage"),
)
_SERVED_BY_KUBERNETES = frozenset({"", "apps", "autoscaling", "batch", "extensions", "policy"}) | {
    f"{group}.k8s.io" for group in _K8S_IO
}
_Rule = Callable[[JSON], ObjectStatus]


def verdict(obj: JSON) -> ObjectStatus:
    """The status of a complete object."""
    generic = _generic(obj)
    if not generic.ready:
        return generic
    return _RULES.get(_group_kind(obj), _by_ready_condition)(obj)


def may_wait(obj: JSON) -> bool:
    """Can an object of this kind exist and not be ready? A manifest is enough to tell."""
    return _group_kind(obj) in _RULES or not is_built_in(obj)


def is_built_in(obj: JSON) -> bool:
    """Is the object of a group that the API server itself serves?"""
    return _group_kind(obj)[0] in _SERVED_BY_KUBERNETES


def _group_kind(obj: JSON) -> tuple[str, str]:
    return obj["apiVersion"].rpartition("/")[0], obj["kind"]


def _generic(obj: JSON) -> ObjectStatus:
    """The rules for every kind."""
    if obj["metadata"].get("deletionTimestamp"):
        return waits("is being deleted")
    observed = status_of(obj).get("observedGeneration")
    if observed is not None and observed != obj["metadata"].get("generation"):
        return waits("its controller has not seen its latest change")
    if holds(reconciling := condition(obj, "Reconciling")):
        return waits(f"is being reconciled: {words(reconciling)}")
    if holds(stalled := condition(obj, "Stalled")):
        return fails(f"has stalled: {words(stalled)}")
    return READY


def _by_ready_condition(obj: JSON) -> ObjectStatus:
    """By the condition `Ready`; a kind without it is ready."""
    ready = condition(obj, "Ready")
    return READY if not ready or holds(ready) else waits(f"is not ready: {words(ready)}")


def _claim(obj: JSON) -> ObjectStatus:
    phase = status_of(obj).get("phase", "Pending")
    return READY if phase == "Bound" else waits(f"is {phase}, not Bound")


def _service(obj: JSON) -> ObjectStatus:
    spec = spec_of(obj)
    lacks = spec.get("type") == "LoadBalancer" and not spec.get("clusterIP")
    return waits("has no cluster IP") if lacks else READY


def _definition(obj: JSON) -> ObjectStatus:
    names, established = condition(obj, "NamesAccepted"), condition(obj, "Established")
    if names.get("status") == "False":
        return fails(f"its names are not accepted: {words(names)}")
    return READY if holds(established) else waits(f"is not established: {words(established)}")


def _api_service(obj: JSON) -> ObjectStatus:
    available = condition(obj, "Available")
    return READY if holds(available) else waits(f"is not available: {words(available)}")


_RULES: Mapping[tuple[str, str], _Rule] = MappingProxyType(
    {
        ("apps", "Deployment"): deployment,
        ("apps", "ReplicaSet"): replica_set,
        ("apps", "StatefulSet"): stateful_set,
        ("apps", "DaemonSet"): daemon_set,
        ("batch", "Job"): job,
        ("", "Pod"): pod,
        ("", "PersistentVolumeClaim"): _claim,
        ("", "Service"): _service,
        ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
        ("apiregistration.k8s.io", "APIService"): _api_service,
    }
)
