"""The columns of pods. STATUS is not the phase: it is what a person wants to know first."""

from collections.abc import Iterator
from datetime import datetime

from kubesandbox.columns.ages import since
from kubesandbox.columns.parts import NONE, Cells, Object, age, at, has_condition, name
from kubetypes.json_values import JSON

ENDED = ("Succeeded", "Failed")
MESSAGES = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def row_conditions(pod: Object) -> list[JSON]:
    """The `conditions` of a pod's row: kubectl hides rows that are `Completed` in some views."""
    phase = at(pod, "status.phase", "")
    told = {"type": "Completed", "status": "True", "reason": phase, "message": MESSAGES.get(phase, "")}
    return [told] if phase in ENDED else []


def pod_cells(pod: Object, now: datetime) -> Cells:
    """Name, Ready, Status, Restarts, Age; IP, Node, Nominated Node, Readiness Gates."""
    sidecars = _sidecars(pod)
    seen = list(_initialising(pod, sidecars))
    waiting = bool(seen) and not _done(seen[-1], sidecars)
    started = not waiting or has_condition(pod, "Initialized")
    containers: list[Object] = at(pod, "status.containerStatuses", [])
    ready = sum(_ready_sidecar(one, sidecars) for one in seen)
    reason = _initial_reason(pod, seen[-1], len(seen) - 1) if waiting else _plain_reason(pod)
    if started:
        reason = _running_reason(pod, containers, reason)
        ready += sum(_running(one) for one in containers)
        seen = [one for one in seen if one["name"] in sidecars] + containers
    total = len(at(pod, "spec.containers", [])) + len(sidecars)
    return [
        name(pod),
        f"{ready}/{total}",
        _deletion_reason(pod) or reason,
        _restarts(seen, now),
        age(pod, now),
        (at(pod, "status.podIPs") or [{}])[0].get("ip") or NONE,
        at(pod, "spec.nodeName") or NONE,
        at(pod, "status.nominatedNodeName") or NONE,
        _gates(pod),
    ]


def _sidecars(pod: Object) -> set[str]:
    """Init containers that go on running."""
    return {one["name"] for one in at(pod, "spec.initContainers", []) if one.get("restartPolicy") == "Always"}


def _initialising(pod: Object, sidecars: set[str]) -> Iterator[Object]:
    """Statuses of init containers up to the first that is not done."""
    for one in at(pod, "status.initContainerStatuses", []):
        yield one
        if not _done(one, sidecars):
            return


def _done(status: Object, sidecars: set[str]) -> bool:
    return at(status, "state.terminated.exitCode") == 0 or (status["name"] in sidecars and bool(status.get("started")))


def _ready_sidecar(status: Object, sidecars: set[str]) -> bool:
    ended = at(status, "state.terminated.exitCode") == 0
    return not ended and status["name"] in sidecars and bool(status.get("started") and status.get("ready"))


def _plain_reason(pod: Object) -> str:
    gated = "SchedulingGated"
    scheduled = [one for one in at(pod, "status.conditions", []) if one.get("type") == "PodScheduled"]
    if any(one.get("reason") == gated for one in scheduled):
        return gated
    return str(at(pod, "status.reason") or at(pod, "status.phase", ""))


def _initial_reason(pod: Object, status: Object, index: int) -> str:
    """Why initialisation is not over."""
    if ended := at(status, "state.terminated"):
        return f"Init:{_end(ended)}"
    waiting = at(status, "state.waiting.reason", "")
    if waiting not in ("", "PodInitializing"):
        return f"Init:{waiting}"
    return f"Init:{index}/{len(at(pod, 'spec.initContainers', []))}"


def _end(terminated: Object) -> str:
    if reason := terminated.get("reason"):
        return str(reason)
    signal = terminated.get("signal", 0)
    return f"Signal:{signal}" if signal else f"ExitCode:{terminated.get('exitCode', 0)}"


def _running(status: Object) -> bool:
    """Whether a container counts as ready: nothing that waits or has ended does."""
    state = status.get("state", {})
    idle = at(state, "waiting.reason") or state.get("terminated") is not None
    return not idle and bool(status.get("ready")) and state.get("running") is not None


def _running_reason(pod: Object, containers: list[Object], reason: str) -> str:
    """The reason of the first container that has one; an error among others that completed."""
    failed = ""
    for one in reversed(containers):
        ended = at(one, "state.terminated")
        if waiting := at(one, "state.waiting.reason"):
            reason = waiting
        elif ended is not None:
            reason = _end(ended)
            failed = reason if ended.get("exitCode", 0) else failed
    if reason != "Completed":
        return reason
    running = any(map(_running, containers))
    if running and has_ready_condition(pod):
        return "Running"
    return failed or ("NotReady" if running else reason)


def has_ready_condition(pod: Object) -> bool:
    """Whether any condition says that the pod is ready."""
    conditions = at(pod, "status.conditions", [])
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _deletion_reason(pod: Object) -> str:
    if not at(pod, "metadata.deletionTimestamp"):
        return ""
    if at(pod, "status.reason") == "NodeLost":
        return "Unknown"
    return "" if at(pod, "status.phase") in ENDED else "Terminating"


def _restarts(statuses: list[Object], now: datetime) -> str:
    count = sum(one.get("restartCount", 0) for one in statuses)
    # Times of the API in UTC sort as texts.
    last = max((at(one, "lastState.terminated.finishedAt", "") for one in statuses), default="")
    return f"{count} ({since(last, now)} ago)" if count and last else str(count)


def _gates(pod: Object) -> str:
    gates = at(pod, "spec.readinessGates", [])
    return f"{sum(has_condition(pod, one['conditionType']) for one in gates)}/{len(gates)}" if gates else NONE


CELLS = {"pods": pod_cells}
