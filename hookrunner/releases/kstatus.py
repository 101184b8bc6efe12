"""Is an object ready, for a rollout that waits? By the rules of `health/object_health.py`, judged for one that waits.

    verdict(deployment) -> ObjectHealth("InProgress", "LessUpdated", "1 of 3 replicas are updated")

`str()` of a verdict follows the object's name in a sentence. Kinds without a rule are ready as soon as they exist.
"""

from datetime import UTC, datetime

from hookrunner.releases.health import workload_rules
from hookrunner.releases.health.object_health import health_of
from hookrunner.releases.health.object_status import AWAITED, CURRENT, ObjectHealth, count_of, in_progress
from kubetypes.json_values import JSON


def verdict(obj: JSON) -> ObjectHealth:
    """The status of a complete object. One whose status cannot be judged is ready: a custom kind may put any value
    there."""
    health = health_of(obj, datetime.now(UTC), AWAITED)
    return CURRENT if health.status == "Unknown" else health


def ended(obj: JSON) -> ObjectHealth:
    """Has a Job or a Pod completed? Helm waits for this if either is a hook."""
    if obj["kind"] == "Pod":
        return workload_rules.ended_pod(obj)
    if end := workload_rules.job_end(obj):
        return end
    succeeded, wanted = count_of(obj, "status", "succeeded"), count_of(obj, "spec", "completions", default=1)
    return in_progress("JobNotEnded", f"{succeeded} of {wanted} Pods have succeeded")
