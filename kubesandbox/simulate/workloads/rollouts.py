"""How many Pods each ReplicaSet of a Deployment may have at the moment, and the Deployment's status. Pure.

https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#strategy
"""

from collections.abc import Sequence
from datetime import datetime
from math import ceil, floor

from kubesandbox.simulate.owned_objects import condition, when, with_condition
from kubesandbox.times import rfc3339
from kubesandbox.verbs.rules import Object
from kubetypes.json_values import JSON


def surge(deployment: Object) -> int:
    """How many Pods there may be beyond `replicas`."""
    rolling = deployment["spec"]["strategy"].get("rollingUpdate")
    return resolved(rolling.get("maxSurge", "25%"), _replicas(deployment), up=True) if rolling else 0


def unavailable(deployment: Object) -> int:
    """How many of the `replicas` may be missing. It is never 0 together with `surge`."""
    rolling = deployment["spec"]["strategy"].get("rollingUpdate")
    if not rolling:
        return 0
    number = resolved(rolling.get("maxUnavailable", "25%"), _replicas(deployment), up=False)
    return min(number or (0 if surge(deployment) else 1), _replicas(deployment))


def resolved(value: JSON, whole: int, *, up: bool) -> int:
    """A number, or a percentage of the whole."""
    if isinstance(value, int):
        return value
    share = int(value.removesuffix("%")) * whole / 100
    return ceil(share) if up else floor(share)


def first_size(deployment: Object, old: Sequence[Object]) -> int:
    """The size of a new set."""
    if _recreates(deployment):
        return 0 if old else _replicas(deployment)
    room = _replicas(deployment) + surge(deployment) - sum(map(_replicas, old))
    return max(0, min(room, _replicas(deployment)))


def sizes(
    deployment: Object, new: Object | None, old: Sequence[Object], old_has_pods: bool, paused: bool
) -> dict[str, int]:
    """The size that each set, by name, should have now. Sets that stay as they are may be missing."""
    wanted = _replicas(deployment)
    active = [one for one in old if _replicas(one)]
    if new is None or paused:
        latest = new or (active[-1] if len(active) == 1 else None)
        return {_name(latest): wanted} if latest is not None and not (active and new) else {}
    if _recreates(deployment):
        return {_name(one): 0 for one in active} or ({} if old_has_pods else {_name(new): wanted})
    grown = _grown(deployment, new, active)
    return {_name(new): grown} | _shrunk(deployment, new, active)


def _grown(deployment: Object, new: Object, active: Sequence[Object]) -> int:
    """The new set takes the room that there is; beyond `replicas` it never goes."""
    size, wanted = _replicas(new), _replicas(deployment)
    room = wanted + surge(deployment) - size - sum(map(_replicas, active))
    return wanted if size > wanted else size + max(0, min(room, wanted - size))


def _shrunk(deployment: Object, new: Object, active: Sequence[Object]) -> dict[str, int]:
    """The old sets give up Pods that are not available first, then as many as may be missing, the oldest set first."""
    least = _replicas(deployment) - unavailable(deployment)
    lacking = _replicas(new) - _available(new)
    spare = _replicas(new) + sum(map(_replicas, active)) - least - lacking
    available = _available(new) + sum(map(_available, active)) - least
    sizes = {}
    for one in active:
        idle = min(max(0, spare), _replicas(one) - min(_available(one), _replicas(one)))
        gone = min(max(0, available), _replicas(one) - idle, max(0, spare - idle))
        spare, available = spare - idle - gone, available - gone
        sizes[_name(one)] = _replicas(one) - idle - gone
    return sizes


def _recreates(deployment: Object) -> bool:
    return bool(deployment["spec"]["strategy"]["type"] == "Recreate")


def _replicas(obj: Object) -> int:
    return int(obj["spec"].get("replicas", 1))


def _available(one: Object) -> int:
    return int(one.get("status", {}).get("availableReplicas", 0))


def _name(one: Object) -> str:
    return str(one["metadata"]["name"])


# ── status ────────────────────────────────────────────────────────────────────────────────────────────────────────────

# The status of a Deployment: numbers, and whether it is available and makes progress.
#
# https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status


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
    """Seconds until the missing progress is reported; None if there is nothing to wait for."""
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
