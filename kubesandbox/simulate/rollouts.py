"""How many Pods each ReplicaSet of a Deployment may have at the moment. Pure.

https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#strategy
"""

from collections.abc import Sequence
from math import ceil, floor

from kubesandbox.rules import Object
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
