"""Pods and Jobs, which end: ready, completed, or why not."""

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


def ended(obj: JSON) -> Verdict:
    """Has a Job or a Pod completed? What Helm waits for where either is a hook."""
    if obj["kind"] == "Pod":
        return _pod_ended(obj) or waits(_pod_message(obj))
    return _job_ended(obj) or waits(f"{status_of(obj).get('succeeded', 0)} of {_completions(obj)} Pods have succeeded")


def job(obj: JSON) -> Verdict:
    """It may run for ever: to have begun is enough."""
    begun = status_of(obj).get("startTime") or spec_of(obj).get("suspend")
    return _job_ended(obj) or (READY if begun else waits("has not started"))


def pod(obj: JSON) -> Verdict:
    """Ready, or completed."""
    if (end := _pod_ended(obj)) is not None:
        return end
    return READY if holds(condition(obj, "Ready")) else waits(_pod_message(obj))


def _job_ended(obj: JSON) -> Verdict | None:
    if holds(failed := condition(obj, "Failed")):
        return fails(f"the Job failed: {words(failed)}")
    return READY if holds(condition(obj, "Complete")) else None


def _completions(obj: JSON) -> JSON:
    return spec_of(obj).get("completions") or 1


def _pod_ended(obj: JSON) -> Verdict | None:
    status = status_of(obj)
    if status.get("phase") == "Failed":
        return fails(f"the Pod failed: {_exit(status) or words(status)}")
    return READY if status.get("phase") == "Succeeded" else None


def _exit(status: JSON) -> str:
    """Which containers ended badly, and with what."""
    last = [(one["name"], (one.get("state") or {}).get("terminated") or {}) for one in _containers(status)]
    return ", ".join(
        f"container {name} ended with {end['exitCode']} ({words(end)})" for name, end in last if end.get("exitCode")
    )


def _pod_message(obj: JSON) -> str:
    """Why a Pod waits: a container that cannot start, the scheduler's words, or just its phase."""
    status = status_of(obj)
    held = [(one["name"], (one.get("state") or {}).get("waiting") or {}) for one in _containers(status)]
    stuck = [f"container {name}: {words(waiting)}" for name, waiting in held if waiting.get("reason")]
    scheduled = condition(obj, "PodScheduled")
    if scheduled.get("status") == "False":
        stuck.append(words(scheduled))
    return ", ".join([f"is {status.get('phase', 'Pending')}", *stuck])


def _containers(status: JSON) -> list[JSON]:
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
