"""Events are served as `v1` and as `events.k8s.io/v1`; they are the same objects. Each is kept as it was written last.

https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
"""

from typing import Any

from kubesandbox.kinds import EVENTS, Kind

NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
"""Fields of `v1`, and what `events.k8s.io/v1` calls them."""
OLD = {new: old for old, new in NAMES.items()}
OF_V1 = ("reportingComponent", "reportingInstance")
"""Fields that only `v1` writes when they are empty."""


def as_version(obj: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """An Event as a version shows it; any other object as it is. A new object that shares its parts with `obj`."""
    if kind.stored not in EVENTS or obj["apiVersion"] == kind.api_version:
        return obj
    if kind.group:
        said = {NAMES.get(key, key): value for key, value in obj.items() if value or key not in OF_V1}
    else:
        said = {OLD.get(key, key): value for key, value in obj.items()}
        said |= {key: "" for key in OF_V1 if key not in said}
    return said | {"apiVersion": kind.api_version}
