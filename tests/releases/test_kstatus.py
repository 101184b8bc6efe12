"""The rules of readiness, as tables: an object, and the message about it. Level: pure."""

from typing import Any

from hookrunner.releases.health.object_health import has_rule
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


def of_deployment(**status: JSON) -> JSON:
    full: JSON = {
        "replicas": 3,
        "updatedReplicas": 3,
        "availableReplicas": 3,
        "readyReplicas": 3,
        "observedGeneration": 2,
    }
    return obj("Deployment", {"replicas": 3}, conditions=[condition("Available")], **(full | status))


EXCEEDED = [condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="too slow")]


@each(
    ("found", "message"),
    [
        (of_deployment(), READY),
        (of_deployment(observedGeneration=1), "its controller has not seen its latest change"),
        (of_deployment(updatedReplicas=1), "1 of 3 replicas are updated"),
        (of_deployment(replicas=4), "1 old replicas still exist"),
        (of_deployment(availableReplicas=2), "2 of 3 replicas are available"),
        (of_deployment(readyReplicas=None), "0 of 3 replicas are ready"),
        (of_deployment() | {"spec": {"replicas": 5, "paused": True}}, READY),
        (of_deployment() | {"spec": {"replicas": 0}, "status": {}}, "is not available: no reason is given"),
        (obj("Deployment"), "0 of 1 replicas are created"),
        (obj("Deployment", conditions=EXCEEDED), "!ProgressDeadlineExceeded: too slow"),
    ],
)
def test_deployments_are_judged_as_by_kstatus(found: JSON, message: str) -> None:
    assert message_of(verdict(found)) == message


DONE: JSON = {"replicas": 2, "readyReplicas": 2, "currentReplicas": 2, "updatedReplicas": 1} | {
    "currentRevision": "a",
    "updateRevision": "b",
}
LABELLED: JSON = {"replicas": 1, "fullyLabeledReplicas": 1}
ROLLING: JSON = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}, "replicas": 2}
ON_DELETE: JSON = {"updateStrategy": {"type": "OnDelete"}, "replicas": 2}
NODES: JSON = {"desiredNumberScheduled": 2, "currentNumberScheduled": 2, "numberAvailable": 2, "numberReady": 2}


@each(
    ("found", "message"),
    [
        (obj("StatefulSet", {"replicas": 2}, **DONE), "1 of 2 replicas are updated"),
        (obj("StatefulSet", {"replicas": 2}, **DONE | {"updateRevision": "a"}), READY),
        (obj("StatefulSet", {"replicas": 1}, **DONE), "1 old replicas still exist"),
        (obj("StatefulSet", {"replicas": 3}, **DONE), "2 of 3 replicas are created"),
        (obj("StatefulSet", ROLLING, **DONE), READY),
        (obj("StatefulSet", ROLLING, **DONE | {"updatedReplicas": 0}), "0 of 1 replicas are updated"),
        (obj("StatefulSet", ON_DELETE, **DONE), READY),
        (obj("DaemonSet"), "its controller has not seen it"),
        (obj("DaemonSet", observedGeneration=2, updatedNumberScheduled=1, **NODES), "1 of 2 replicas are updated"),
        (obj("DaemonSet", ON_DELETE, observedGeneration=2, updatedNumberScheduled=1, **NODES), READY),
        (obj("DaemonSet", observedGeneration=2, updatedNumberScheduled=2, **NODES), READY),
        (obj("DaemonSet", observedGeneration=2, desiredNumberScheduled=0), READY),
        (obj("ReplicaSet", **LABELLED, availableReplicas=1, readyReplicas=1), READY),
        (obj("ReplicaSet", **LABELLED), "0 of 1 replicas are available"),
        (obj("ReplicaSet", replicas=1), "0 of 1 replicas are labelled"),
        (obj("ReplicaSet", conditions=[condition("ReplicaFailure", message="no quota")]), "no quota"),
    ],
)
def test_other_workloads_are_judged_as_by_kstatus(found: JSON, message: str) -> None:
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


def definition_in(*conditions: JSON) -> JSON:
    return obj("CustomResourceDefinition", None, "apiextensions.k8s.io/v1", conditions=list(conditions))


def widget(**status: JSON) -> JSON:
    return obj("Widget", None, "example.com/v1", **status)


@each(
    ("found", "message"),
    [
        (obj("PersistentVolumeClaim", None, "v1", phase="Pending"), "is Pending, not Bound"),
        (obj("PersistentVolumeClaim", None, "v1", phase="Bound"), READY),
        (obj("Service", {"type": "LoadBalancer"}, "v1"), "has no cluster IP"),
        (obj("Service", {"type": "LoadBalancer", "clusterIP": "10.0.0.1"}, "v1"), READY),
        (obj("Service", {"type": "ExternalName"}, "v1"), READY),
        (definition_in(condition("Established"), condition("NamesAccepted")), READY),
        (definition_in(), "is not established: no reason is given"),
        (
            definition_in(condition("NamesAccepted", "False", reason="PluralConflict")),
            "!its names are not accepted: PluralConflict",
        ),
        (
            obj(
                "APIService",
                None,
                "apiregistration.k8s.io/v1",
                conditions=[condition("Available", "False", message="x")],
            ),
            "is not available: x",
        ),
        (widget(), READY),
        (widget(conditions=[condition("Ready", "Unknown", reason="Starting")]), "is not ready: Starting"),
        (widget(conditions=[condition("Ready")]), READY),
        (widget(observedGeneration=1), "its controller has not seen its latest change"),
        (widget(conditions=[condition("Reconciling", message="soon")]), "is being reconciled: soon"),
        (widget(conditions=[condition("Stalled", message="never")]), "!has stalled: never"),
        (widget(conditions="none") | {"spec": None}, READY),
        (widget() | {"status": "fine"}, READY),
        (widget() | {"metadata": {"name": "x", "deletionTimestamp": "now"}}, "is being deleted"),
    ],
)
def test_other_kinds_are_judged_as_by_kstatus(found: JSON, message: str) -> None:
    assert message_of(verdict(found)) == message


@each(
    ("kind", "api_version", "waits"),
    [
        ("ConfigMap", "v1", False),
        ("Role", "rbac.authorization.k8s.io/v1", False),
        ("Deployment", "apps/v1", True),
        ("Gateway", "gateway.networking.k8s.io/v1", True),
        ("Widget", "example.com/v1", True),
    ],
)
def test_kubernetes_kinds_without_a_status_are_not_awaited(kind: str, api_version: str, waits: bool) -> None:
    assert has_rule({"kind": kind, "apiVersion": api_version}) is waits
