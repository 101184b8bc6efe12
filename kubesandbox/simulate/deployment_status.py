"""What is said of a Deployment: numbers, and whether it is available and makes progress. Pure.

https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status
"""

from collections.abc import Sequence
from datetime import datetime

from kubesandbox.rules import Object
from kubesandbox.simulate.making import condition, when, with_condition
from kubesandbox.simulate.rollouts import unavailable
from kubesandbox.times import rfc3339

LATE = "ProgressDeadlineExceeded"
DONE = "NewReplicaSetAvailable"


def of(deployment: Object, new: Object | None, old: Sequence[Object], now: datetime) -> Object:
    """The status as it should be."""
    sets = [*old, *([new] if new else [])]
    wanted = sum(int(one["spec"].get("replicas", 1)) for one in sets)
    counts = {
        "replicas": _total(sets, "replicas"),
        "updatedReplicas": _total([new] if new else [], "replicas"),
        "readyReplicas": _total(sets, "readyReplicas"),
        "availableReplicas": _total(sets, "availableReplicas"),
        "unavailableReplicas": max(0, wanted - _total(sets, "availableReplicas")),
    }
    status = {key: number for key, number in counts.items() if number}
    status |= {"terminatingReplicas": _total(sets, "terminatingReplicas")}
    status |= {"observedGeneration": deployment["metadata"]["generation"]}
    if "collisionCount" in deployment["status"]:
        status["collisionCount"] = deployment["status"]["collisionCount"]
    return {**status, "conditions": _conditions(deployment, new, old, status, now)}


def complete(deployment: Object, new: Object | None, old: Sequence[Object]) -> bool:
    """Whether all Pods are of the newest template, and available."""
    wanted = deployment["spec"].get("replicas", 1)
    if new is None or new["spec"].get("replicas", 1) != wanted:
        return False
    rest = sum(one["status"].get("replicas", 0) for one in old)
    return bool(new["status"].get("availableReplicas", 0) == new["status"].get("replicas", 0) == wanted and not rest)


def seconds_left(deployment: Object, now: datetime) -> float | None:
    """Until it is said that there is no progress; None if that need not be waited for."""
    progressing = condition(deployment["status"].get("conditions"), "Progressing")
    limit = deployment["spec"].get("progressDeadlineSeconds", 600)
    if limit >= 2**31 - 1 or progressing.get("reason") in (None, DONE, LATE, "DeploymentPaused"):
        return None
    return float(limit - (now - when(progressing["lastUpdateTime"])).total_seconds())


def _conditions(
    deployment: Object, new: Object | None, old: Sequence[Object], status: Object, now: datetime
) -> list[Object]:
    known = deployment["status"].get("conditions") or []
    enough = status.get("availableReplicas", 0) >= deployment["spec"].get("replicas", 1) - unavailable(deployment)
    has, word = ("True", "Available") if enough else ("False", "Unavailable")
    message = f"Deployment {'has' if enough else 'does not have'} minimum availability."
    available = {"type": "Available", "status": has, "reason": f"MinimumReplicas{word}", "message": message}
    conditions = _said(known, available, now)
    progress = _progress(deployment, new, old, status, now)
    return _said(conditions, progress, now, moved=_moved(deployment["status"], status)) if progress else conditions


def _progress(
    deployment: Object, new: Object | None, old: Sequence[Object], status: Object, now: datetime
) -> Object | None:
    """The condition Progressing; None before the first progress."""
    if deployment["spec"].get("paused"):
        return _progressing("Unknown", "DeploymentPaused", "Deployment is paused")
    if new is None:
        return None
    name = new["metadata"]["name"]
    if complete(deployment, new, old):
        return _progressing("True", DONE, f'ReplicaSet "{name}" has successfully progressed.')
    left = seconds_left(deployment, now)
    known = condition(deployment["status"].get("conditions"), "Progressing")
    if _moved(deployment["status"], status) or not known or known["reason"] in (DONE, "DeploymentPaused"):
        return _progressing("True", "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.')
    if known["reason"] == LATE or (left is not None and left <= 0):
        return _progressing("False", LATE, f'ReplicaSet "{name}" has timed out progressing.')
    return _progressing(known["status"], known["reason"], known["message"])


def _progressing(status: str, reason: str, message: str) -> Object:
    return {"type": "Progressing", "status": status, "reason": reason, "message": message}


def _moved(old: Object, new: Object) -> bool:
    """Whether more Pods are updated, ready or available, or fewer are left of the old."""
    rest_before, rest = (one.get("replicas", 0) - one.get("updatedReplicas", 0) for one in (old, new))
    keys = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return rest < rest_before or any(new.get(key, 0) > old.get(key, 0) for key in keys)


def _said(known: Sequence[Object], new: Object, now: datetime, *, moved: bool = False) -> list[Object]:
    """With a condition and when it was last updated, which stays if nothing is new."""
    old = condition(known, new["type"])
    same = all(old.get(key) == value for key, value in new.items()) and not moved
    return with_condition(known, {**new, "lastUpdateTime": old["lastUpdateTime"] if same else rfc3339(now)}, now)


def _total(sets: Sequence[Object], key: str) -> int:
    return sum(int(one.get("status", {}).get(key, 0)) for one in sets)
