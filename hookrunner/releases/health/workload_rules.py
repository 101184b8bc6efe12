"""The status of workloads by the rules of kstatus: pure functions over one object, the first rule that holds counts.

Numbers that are absent in the status are 0, `spec.replicas` is 1.
Source: https://github.com/kubernetes-sigs/cli-utils/tree/v0.37.2/pkg/kstatus/status; `tests/oracles` compares.
"""

from datetime import datetime, timedelta

from hookrunner.releases.health.object_status import (
    CURRENT,
    RUNNING,
    Judgement,
    MalformedObject,
    ObjectCondition,
    ObjectHealth,
    conditions_of,
    count_of,
    failed,
    field_of,
    generation_of,
    in_progress,
    text_of,
    time_of,
)
from hookrunner.releases.health.pod_findings import describe_end, describe_progress
from kubetypes.json_values import JSON

_NO_DEADLINE = 2**31 - 1
"""Of a Deployment, as the controller reads it: without a deadline the condition Progressing is never written."""

_SCHEDULED_WITHIN = timedelta(seconds=15)


def deployment(obj: JSON, judgement: Judgement) -> ObjectHealth:
    """All replicas updated, available and ready; failed when its own progress deadline has passed."""
    if judgement.with_pauses and field_of(obj, "spec", "paused"):
        return CURRENT
    conditions = conditions_of(obj)
    for condition in conditions:
        if condition.type == "Progressing" and condition.reason == "ProgressDeadlineExceeded":
            return failed(condition.reason, condition.message or "its progress deadline is exceeded", condition.words)
    wanted, replicas = count_of(obj, "spec", "replicas", default=1), count_of(obj, "status", "replicas")
    updated, ready = count_of(obj, "status", "updatedReplicas"), count_of(obj, "status", "readyReplicas")
    available = count_of(obj, "status", "availableReplicas")
    counts = (
        _fewer("LessReplicas", replicas, wanted, "created")
        or _fewer("LessUpdated", updated, wanted, "updated")
        or _extra(replicas, wanted)
        or _fewer("LessAvailable", available, updated, "available")
        or _fewer("LessReady", ready, wanted, "ready")
    )
    if counts:
        return counts
    progressed = any(c.type == "Progressing" and c.holds and c.reason == "NewReplicaSetAvailable" for c in conditions)
    has_deadline = count_of(obj, "spec", "progressDeadlineSeconds", default=_NO_DEADLINE) != _NO_DEADLINE
    if has_deadline and not progressed:
        return in_progress("ReplicaSetNotAvailable", "its new ReplicaSet is not available")
    available_words = [condition.words for condition in conditions if condition.type == "Available"]
    if not any(condition.type == "Available" and condition.holds for condition in conditions):
        clause = f"is not available: {next(iter(available_words), 'no reason is given')}"
        return in_progress("DeploymentNotAvailable", "it is not available", clause)
    return CURRENT


def replica_set(obj: JSON, _: Judgement) -> ObjectHealth:
    """All replicas labelled, available and ready."""
    for condition in conditions_of(obj):
        if condition.type == "ReplicaFailure" and condition.holds:
            return in_progress("ReplicaFailure", str(condition), condition.words)
    wanted, replicas = count_of(obj, "spec", "replicas", default=1), count_of(obj, "status", "replicas")
    return (
        _fewer("LessLabelled", count_of(obj, "status", "fullyLabeledReplicas"), wanted, "labelled")
        or _fewer("LessAvailable", count_of(obj, "status", "availableReplicas"), wanted, "available")
        or _fewer("LessReady", count_of(obj, "status", "readyReplicas"), wanted, "ready")
        or _extra(replicas, wanted)
        or CURRENT
    )


def stateful_set(obj: JSON, _: Judgement) -> ObjectHealth:
    """All replicas ready and updated as far as the partition allows; one that a person updates is current."""
    if text_of(obj, "spec", "updateStrategy", "type") == "OnDelete":
        return CURRENT
    wanted, replicas = count_of(obj, "spec", "replicas", default=1), count_of(obj, "status", "replicas")
    counts = (
        _fewer("LessReplicas", replicas, wanted, "created")
        or _fewer("LessReady", count_of(obj, "status", "readyReplicas"), wanted, "ready")
        or _extra(replicas, wanted)
    )
    return counts or _updated_stateful_set(obj, wanted)


def _updated_stateful_set(obj: JSON, wanted: int) -> ObjectHealth:
    partition = count_of(obj, "spec", "updateStrategy", "rollingUpdate", "partition", default=-1)
    if partition != -1:
        updated = count_of(obj, "status", "updatedReplicas")
        return _fewer("PartitionRollout", updated, wanted - partition, "updated") or CURRENT
    if few := _fewer("LessCurrent", count_of(obj, "status", "currentReplicas"), wanted, "current"):
        return few
    if text_of(obj, "status", "currentRevision") != text_of(obj, "status", "updateRevision"):
        updated = count_of(obj, "status", "updatedReplicas")
        clause = f"{updated} of {wanted} replicas are updated"
        return in_progress("RevisionMismatch", "its replicas are being updated", clause)
    return CURRENT


def daemon_set(obj: JSON, judgement: Judgement) -> ObjectHealth:
    """One updated and ready Pod on each node that should have one."""
    if generation_of(obj, "metadata", "generation") is None:
        return in_progress("NoGeneration", "it has no generation")
    if generation_of(obj, "status", "observedGeneration") is None:
        return in_progress("NoObservedGeneration", "its controller has not seen it")
    wanted = count_of(obj, "status", "desiredNumberScheduled", default=-1)
    if wanted == -1:
        return in_progress("NoDesiredNumber", "its controller has not counted its nodes")
    is_held_back = judgement.with_pauses and text_of(obj, "spec", "updateStrategy", "type") == "OnDelete"
    updated = wanted if is_held_back else count_of(obj, "status", "updatedNumberScheduled")
    return (
        _fewer("LessCurrent", count_of(obj, "status", "currentNumberScheduled"), wanted, "scheduled")
        or _fewer("LessUpdated", updated, wanted, "updated")
        or _fewer("LessAvailable", count_of(obj, "status", "numberAvailable"), wanted, "available")
        or _fewer("LessReady", count_of(obj, "status", "numberReady"), wanted, "ready")
        or CURRENT
    )


def job(obj: JSON, judgement: Judgement) -> ObjectHealth:
    """Begun, suspended or complete; a Job may run indefinitely."""
    is_suspended = bool(field_of(obj, "spec", "suspend"))
    for condition in conditions_of(obj):
        if end := _job_end(condition):
            return end
        if condition.type == "Suspended" and condition.holds and is_suspended:
            return CURRENT
    if judgement.with_pauses and is_suspended:
        return CURRENT
    return RUNNING if text_of(obj, "status", "startTime") else in_progress("JobNotStarted", "it has not started")


def job_end(obj: JSON) -> ObjectHealth | None:
    """Current if it is complete, failed if it has failed; None if it has not ended."""
    return next(filter(None, map(_job_end, conditions_of(obj))), None)


def _job_end(condition: ObjectCondition) -> ObjectHealth | None:
    if condition.type == "Complete" and condition.holds:
        return CURRENT
    if condition.type == "Failed" and condition.holds:
        return failed("JobFailed", str(condition), f"the Job failed: {condition.words}")
    return None


def pod(obj: JSON, now: datetime, judgement: Judgement) -> ObjectHealth:
    """Ready or ended. One that cannot be scheduled has 15 s from its creation until it counts as failed. Without signs,
    it may recover until it has failed."""
    phase = text_of(obj, "status", "phase")
    is_ready = any(condition.type == "Ready" and condition.holds for condition in conditions_of(obj))
    if not judgement.with_signs:
        return CURRENT if is_ready and phase != "Failed" else ended_pod(obj)
    match phase:
        case "Succeeded" | "Failed":
            return CURRENT
        case "Running":
            return CURRENT if is_ready else _running_pod(obj)
        case "Pending":
            return _pending_pod(obj, now)
        case "":
            return in_progress("PodNotObserved", "no kubelet has seen it")
    raise MalformedObject(f"its phase is {phase!r}")


def ended_pod(obj: JSON) -> ObjectHealth:
    """Current if it has succeeded, failed if it has failed; otherwise in progress with what it waits for."""
    match text_of(obj, "status", "phase"):
        case "Succeeded":
            return CURRENT
        case "Failed":
            return failed("PodFailed", f"the Pod failed: {describe_end(obj)}")
    return in_progress("PodNotEnded", describe_progress(obj))


def _running_pod(obj: JSON) -> ObjectHealth:
    containers = field_of(obj, "status", "containerStatuses")
    names = [
        text_of(container, "name")
        for container in (containers if isinstance(containers, list) else ())
        if text_of(container, "state", "waiting", "reason") == "CrashLoopBackOff"
    ]
    if names:
        return failed("ContainerCrashLooping", f"containers that crash again and again: {', '.join(names)}")
    return in_progress("PodRunningNotReady", "it runs and is not ready")


def _pending_pod(obj: JSON, now: datetime) -> ObjectHealth:
    scheduled = next((c for c in conditions_of(obj) if c.type == "PodScheduled" and c.status == "False"), None)
    if scheduled is None or scheduled.reason != "Unschedulable":
        return in_progress("PodPending", "it is pending")
    created = time_of(obj, "metadata", "creationTimestamp")
    if created and now - created < _SCHEDULED_WITHIN:
        return in_progress("PodNotScheduled", str(scheduled))
    return failed("PodUnschedulable", scheduled.message or "no node fits it")


def _fewer(reason: str, count: int, wanted: int, word: str) -> ObjectHealth | None:
    return in_progress(reason, f"{count} of {wanted} replicas are {word}") if count < wanted else None


def _extra(replicas: int, wanted: int) -> ObjectHealth | None:
    return in_progress("ExtraPods", f"{replicas - wanted} old replicas still exist") if replicas > wanted else None
