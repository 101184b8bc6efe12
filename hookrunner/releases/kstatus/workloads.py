"""Workloads that keep a number of Pods: are as many there, updated and ready as are wanted?"""

from collections.abc import Mapping

from hookrunner.model.resources import JSON
from hookrunner.releases.kstatus.verdicts import (
    READY,
    Verdict,
    condition,
    fails,
    holds,
    spec_of,
    status_of,
    waits,
    words,
)


def deployment(obj: JSON) -> Verdict:
    """All of it updated and available. A paused one is as its manifest says."""
    spec, status = spec_of(obj), status_of(obj)
    if spec.get("paused"):
        return READY
    progressing = condition(obj, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return fails(words(progressing))
    wanted = spec.get("replicas", 1)
    found = _all_of(wanted, {"created": status.get("replicas"), "updated": status.get("updatedReplicas")})
    if not found.ready:
        return found
    if status.get("replicas", 0) > wanted:
        return waits(f"{status['replicas'] - wanted} old replicas are still there")
    found = _all_of(wanted, {"available": status.get("availableReplicas"), "ready": status.get("readyReplicas")})
    if not found.ready:
        return found
    available = condition(obj, "Available")
    return READY if holds(available) else waits(f"is not available: {words(available)}")


def replica_set(obj: JSON) -> Verdict:
    """As many as wanted."""
    status = status_of(obj)
    if holds(failure := condition(obj, "ReplicaFailure")):
        return waits(words(failure))
    counts = {"created": status.get("replicas"), "available": status.get("availableReplicas")}
    return _all_of(spec_of(obj).get("replicas", 1), counts | {"ready": status.get("readyReplicas")})


def stateful_set(obj: JSON) -> Verdict:
    """All ready, and updated as far as its partition lets it."""
    spec, status = spec_of(obj), status_of(obj)
    strategy = spec.get("updateStrategy") or {}
    wanted = spec.get("replicas", 1)
    found = _all_of(wanted, {"created": status.get("replicas"), "ready": status.get("readyReplicas")})
    if not found.ready:
        return found
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


def daemon_set(obj: JSON) -> Verdict:
    """One on each node that is to have one."""
    status = status_of(obj)
    if "desiredNumberScheduled" not in status or "observedGeneration" not in status:
        return waits("its controller has not seen it")
    parts = {"scheduled": status.get("currentNumberScheduled"), "updated": status.get("updatedNumberScheduled")}
    if (spec_of(obj).get("updateStrategy") or {}).get("type") == "OnDelete":
        del parts["updated"]
    parts |= {"available": status.get("numberAvailable"), "ready": status.get("numberReady")}
    return _all_of(status["desiredNumberScheduled"], parts)


def _all_of(wanted: int, parts: Mapping[str, JSON]) -> Verdict:
    """Are there as many of each as wanted?"""
    few = [f"{count or 0} of {wanted} replicas are {word}" for word, count in parts.items() if (count or 0) < wanted]
    return waits(few[0]) if few else READY
