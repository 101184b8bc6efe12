"""What a rollout that waits judges otherwise than `health/test_object_health.py`, and when Pods and Jobs have ended.

Level: pure."""

from typing import Any

from hookrunner.releases.health.object_status import ObjectHealth
from hookrunner.releases.kstatus import ended, verdict
from tests.releases.watching import condition
from tests.tables import each

JSON = Any
READY = ""


def obj(kind: str, spec: JSON = None, api_version: str = "apps/v1", **status: JSON) -> JSON:
    metadata = {"name": "x", "generation": 2}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec or {}, "status": status}


def message_of(found: ObjectHealth) -> str:
    """The message, marked if there is no hope."""
    assert found.is_current is not bool(str(found))
    return f"!{found}" if found.has_failed else str(found)


def daemon_set(kind: str) -> JSON:
    """One of two Pods is updated."""
    counts: JSON = {"desiredNumberScheduled": 2, "currentNumberScheduled": 2, "numberAvailable": 2, "numberReady": 2}
    strategy = {"updateStrategy": {"type": kind}}
    return obj("DaemonSet", strategy, observedGeneration=2, updatedNumberScheduled=1, **counts)


@each(
    ("found", "message"),
    [
        (obj("Deployment"), "0 of 1 replicas are created"),
        (obj("Deployment", {"replicas": 5, "paused": True}), READY),
        (daemon_set("RollingUpdate"), "1 of 2 replicas are updated"),
        (daemon_set("OnDelete"), READY),
        (obj("Widget", None, "example.com/v1", conditions="none") | {"spec": None}, READY),
        (obj("Widget", None, "example.com/v1") | {"status": "fine"}, READY),
    ],
)
def test_what_a_person_holds_back_or_nobody_can_judge_is_not_awaited(found: JSON, message: str) -> None:
    assert message_of(verdict(found)) == message


def pod(phase: str, *conditions: JSON, **status: JSON) -> JSON:
    return obj("Pod", None, "v1", phase=phase, conditions=list(conditions), **status)


def job(*conditions: JSON, spec: JSON = None, **status: JSON) -> JSON:
    return obj("Job", spec, "batch/v1", conditions=list(conditions), **status)


PULLS = [{"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]
DIED = [{"name": "c", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}]
UNSCHEDULABLE = condition("PodScheduled", "False", reason="Unschedulable", message="0/1 nodes")


@each(
    ("found", "ready", "end"),
    [
        (pod("Running", condition("Ready")), READY, "is Running"),
        (pod("Running"), "is Running", "is Running"),
        (pod("Succeeded"), READY, READY),
        (pod("Failed", containerStatuses=DIED), *["!the Pod failed: container c ended with 3 (Error)"] * 2),
        (pod("Failed", reason="Evicted", message="no memory"), *["!the Pod failed: Evicted: no memory"] * 2),
        (pod("Pending", containerStatuses=PULLS), *["is Pending, container c: ImagePullBackOff: no such image"] * 2),
        (pod("Pending", UNSCHEDULABLE), *["is Pending, Unschedulable: 0/1 nodes"] * 2),
        (job(), "has not started", "0 of 1 Pods have succeeded"),
        (job(spec={"completions": 5}, startTime="now", succeeded=2), READY, "2 of 5 Pods have succeeded"),
        (job(spec={"suspend": True}), READY, "0 of 1 Pods have succeeded"),
        (job(condition("Complete")), READY, READY),
        (job(condition("Failed", reason="DeadlineExceeded")), *["!the Job failed: DeadlineExceeded"] * 2),
    ],
)
def test_pods_and_jobs_are_ready_or_have_ended(found: JSON, ready: str, end: str) -> None:
    assert (message_of(verdict(found)), message_of(ended(found))) == (ready, end)
