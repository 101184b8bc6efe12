"""Each rule of kstatus as a row: an object, and its status with the reason. `test_kstatus_oracle` has the library.

Level: pure."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hookrunner.releases.health.object_health import has_rule, health_of
from hookrunner.releases.health.object_status import ObjectHealth
from tests.releases.watching import condition
from tests.tables import each

JSON = Any
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CURRENT = "Current"


def words(health: ObjectHealth) -> str:
    """Status, reason, and what is said after the object's name."""
    return ": ".join(filter(None, (" ".join(filter(None, (health.status, health.reason))), str(health))))


def obj(kind: str, api_version: str, spec: JSON = None, **status: JSON) -> JSON:
    metadata = {"name": "x", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec or {}, "status": status}


def widget(*conditions: JSON, **status: JSON) -> JSON:
    return obj("Widget", "example.com/v1", conditions=list(conditions), **status)


def without(found: JSON, *path: str) -> JSON:
    """The object without a field."""
    head, *rest = path
    return {key: value for key, value in found.items() if key != head} | (
        {head: without(found[head], *rest)} if rest else {}
    )


@each(
    ("found", "expected"),
    [
        (widget() | {"metadata": {"name": "x", "deletionTimestamp": "now"}}, "Terminating: is being deleted"),
        (
            widget(observedGeneration=1),
            "InProgress LatestGenerationNotObserved: its controller has not seen its latest change",
        ),
        (without(widget(observedGeneration=1), "metadata", "generation"), CURRENT),
        (
            widget(condition("Reconciling", reason="Busy", message="soon"), condition("Stalled")),
            "InProgress Busy: is being reconciled: Busy: soon",
        ),
        (
            widget(condition("Stalled", reason="Stuck", message="never"), condition("Reconciling")),
            "Failed Stuck: has stalled: Stuck: never",
        ),
        (widget(condition("Stalled", "False"), condition("Ready")), CURRENT),
        (widget(condition("Ready", "False", reason="Starting")), "InProgress Starting: is not ready: Starting"),
        (widget(condition("Ready", "Unknown", reason="Lost")), "InProgress Lost: is not ready: Lost"),
        (widget(), CURRENT),
        (widget() | {"status": "fine"}, "Unknown: its status.conditions are no list of conditions"),
        (widget() | {"status": {"conditions": ["Ready"]}}, "Unknown: its status.conditions are no list of conditions"),
        (obj("Secret", "v1"), CURRENT),
        (obj("ConfigMap", "v1"), CURRENT),
        (obj("CronJob", "batch/v1"), CURRENT),
        (obj("PodDisruptionBudget", "policy/v1", conditions=[condition("Ready", "False")]), CURRENT),
        (obj("Service", "v1", {"type": "LoadBalancer"}), "InProgress NoIPAssigned: has no cluster IP"),
        (obj("Service", "v1", {"type": "LoadBalancer", "clusterIP": "10.0.0.1"}), CURRENT),
        (obj("Service", "v1", {"type": "ExternalName"}), CURRENT),
        (obj("PersistentVolumeClaim", "v1", phase="Pending"), "InProgress NotBound: is Pending, not Bound"),
        (obj("PersistentVolumeClaim", "v1"), "InProgress NotBound: is unknown, not Bound"),
        (obj("PersistentVolumeClaim", "v1", phase="Bound"), CURRENT),
    ],
)
def test_generic_rules_and_simple_kinds(found: JSON, expected: str) -> None:
    assert words(health_of(found, NOW)) == expected


def pod(phase: str, *conditions: JSON, age: int = 3600, **status: JSON) -> JSON:
    found = obj("Pod", "v1", phase=phase, conditions=list(conditions), **status)
    found["metadata"]["creationTimestamp"] = (NOW - timedelta(seconds=age)).isoformat()
    return found


CRASHES = [{"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]
UNSCHEDULABLE = condition("PodScheduled", "False", reason="Unschedulable")


@each(
    ("found", "expected"),
    [
        (pod("Succeeded"), CURRENT),
        (pod("Failed"), CURRENT),
        (pod("Running", condition("Ready"), containerStatuses=CRASHES), CURRENT),
        (
            pod("Running", containerStatuses=CRASHES),
            "Failed ContainerCrashLooping: containers that crash again and again: c",
        ),
        (pod("Running", initContainerStatuses=CRASHES), "InProgress PodRunningNotReady: runs and is not ready"),
        (pod("Pending", UNSCHEDULABLE, age=14), "InProgress PodNotScheduled: Unschedulable"),
        (pod("Pending", UNSCHEDULABLE, age=16), "Failed PodUnschedulable: no node fits it"),
        (pod("Pending", condition("PodScheduled", "False", reason="Gated")), "InProgress PodPending: is pending"),
        (pod("Pending"), "InProgress PodPending: is pending"),
        (pod(""), "InProgress PodNotObserved: no kubelet has seen it"),
        (pod("Dreaming"), "Unknown: its phase is 'Dreaming'"),
    ],
)
def test_pods(found: JSON, expected: str) -> None:
    assert words(health_of(found, NOW)) == expected


COUNTS = {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "readyReplicas": 3}
PROGRESSED = condition("Progressing", reason="NewReplicaSetAvailable")


def deployment(*conditions: JSON, spec: JSON = None, **status: JSON) -> JSON:
    conditions = conditions or (condition("Available"), PROGRESSED)
    wanted = {"replicas": 3, "progressDeadlineSeconds": 600} | (spec or {})
    return obj("Deployment", "apps/v1", wanted, conditions=list(conditions), **COUNTS | status)


@each(
    ("found", "expected"),
    [
        (deployment(), CURRENT),
        (
            deployment(condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="too slow")),
            "Failed ProgressDeadlineExceeded: ProgressDeadlineExceeded: too slow",
        ),
        (deployment(replicas=2), "InProgress LessReplicas: 2 of 3 replicas are created"),
        (deployment(updatedReplicas=2), "InProgress LessUpdated: 2 of 3 replicas are updated"),
        (deployment(replicas=4), "InProgress ExtraPods: 1 old replicas still exist"),
        (deployment(availableReplicas=2), "InProgress LessAvailable: 2 of 3 replicas are available"),
        (deployment(readyReplicas=None), "InProgress LessReady: 0 of 3 replicas are ready"),
        (deployment(condition("Available")), "InProgress ReplicaSetNotAvailable: its new ReplicaSet is not available"),
        (deployment(condition("Available"), spec={"progressDeadlineSeconds": 2**31 - 1}), CURRENT),
        (deployment(condition("Available")) | {"spec": {"replicas": 3}}, CURRENT),
        (deployment(PROGRESSED), "InProgress DeploymentNotAvailable: is not available: no reason is given"),
        (
            deployment() | {"apiVersion": "extensions/v1beta1", "spec": {"replicas": 4}},
            "InProgress LessReplicas: 3 of 4 replicas are created",
        ),
        (obj("Deployment", "apps/v1"), "InProgress LessReplicas: 0 of 1 replicas are created"),
        (deployment(spec={"paused": True}, replicas=2), "InProgress LessReplicas: 2 of 3 replicas are created"),
    ],
)
def test_deployments(found: JSON, expected: str) -> None:
    assert words(health_of(found, NOW)) == expected


def replica_set(*conditions: JSON, **status: JSON) -> JSON:
    counts = {"replicas": 2, "fullyLabeledReplicas": 2, "availableReplicas": 2, "readyReplicas": 2}
    return obj("ReplicaSet", "apps/v1", {"replicas": 2}, conditions=list(conditions), **counts | status)


def stateful_set(spec: JSON = None, **status: JSON) -> JSON:
    counts = {"replicas": 2, "readyReplicas": 2, "currentReplicas": 2, "updatedReplicas": 1}
    revisions = {"currentRevision": "a", "updateRevision": "a"}
    return obj("StatefulSet", "apps/v1", {"replicas": 2} | (spec or {}), **counts | revisions | status)


PARTITION = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}}
ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}


@each(
    ("found", "expected"),
    [
        (replica_set(), CURRENT),
        (replica_set(condition("ReplicaFailure", message="no quota")), "InProgress ReplicaFailure: no quota"),
        (obj("ReplicaSet", "apps/v1"), "InProgress LessLabelled: 0 of 1 replicas are labelled"),
        (replica_set(fullyLabeledReplicas=1), "InProgress LessLabelled: 1 of 2 replicas are labelled"),
        (replica_set(availableReplicas=1), "InProgress LessAvailable: 1 of 2 replicas are available"),
        (replica_set(readyReplicas=1), "InProgress LessReady: 1 of 2 replicas are ready"),
        (replica_set(replicas=3), "InProgress ExtraPods: 1 old replicas still exist"),
        (stateful_set(), CURRENT),
        (stateful_set(ON_DELETE, replicas=0), CURRENT),
        (stateful_set(replicas=1), "InProgress LessReplicas: 1 of 2 replicas are created"),
        (stateful_set(readyReplicas=1), "InProgress LessReady: 1 of 2 replicas are ready"),
        (stateful_set(replicas=3), "InProgress ExtraPods: 1 old replicas still exist"),
        (stateful_set(PARTITION, updateRevision="b"), CURRENT),
        (stateful_set(PARTITION, updatedReplicas=0), "InProgress PartitionRollout: 0 of 1 replicas are updated"),
        (stateful_set(currentReplicas=1), "InProgress LessCurrent: 1 of 2 replicas are current"),
        (stateful_set(updateRevision="b"), "InProgress RevisionMismatch: 1 of 2 replicas are updated"),
    ],
)
def test_replica_sets_and_stateful_sets(found: JSON, expected: str) -> None:
    assert words(health_of(found, NOW)) == expected


def daemon_set(**status: JSON) -> JSON:
    counts = {"desiredNumberScheduled": 2, "currentNumberScheduled": 2, "updatedNumberScheduled": 2}
    ready = {"numberAvailable": 2, "numberReady": 2, "observedGeneration": 2}
    return obj("DaemonSet", "apps/v1", **counts | ready | status)


def job(*conditions: JSON, spec: JSON = None, **status: JSON) -> JSON:
    return obj("Job", "batch/v1", spec, conditions=list(conditions), **status)


@each(
    ("found", "expected"),
    [
        (daemon_set(), CURRENT),
        (obj("DaemonSet", "apps/v1", observedGeneration=2, desiredNumberScheduled=0), CURRENT),
        (without(daemon_set(), "metadata", "generation"), "InProgress NoGeneration: has no generation"),
        (
            without(daemon_set(), "status", "observedGeneration"),
            "InProgress NoObservedGeneration: its controller has not seen it",
        ),
        (
            without(daemon_set(), "status", "desiredNumberScheduled"),
            "InProgress NoDesiredNumber: its controller has not counted its nodes",
        ),
        (daemon_set(currentNumberScheduled=1), "InProgress LessCurrent: 1 of 2 replicas are scheduled"),
        (daemon_set(updatedNumberScheduled=1), "InProgress LessUpdated: 1 of 2 replicas are updated"),
        (daemon_set(numberAvailable=1), "InProgress LessAvailable: 1 of 2 replicas are available"),
        (daemon_set(numberReady=1), "InProgress LessReady: 1 of 2 replicas are ready"),
        (job(condition("Complete"), condition("Failed")), CURRENT),
        (job(condition("Failed"), condition("Complete")), "Failed JobFailed: the Job failed: no reason is given"),
        (job(condition("Suspended"), spec={"suspend": True}), CURRENT),
        (job(spec={"suspend": True}), "InProgress JobNotStarted: has not started"),
        (job(), "InProgress JobNotStarted: has not started"),
        (job(startTime="2026-01-01T00:00:00Z"), CURRENT),
    ],
)
def test_daemon_sets_and_jobs(found: JSON, expected: str) -> None:
    assert words(health_of(found, NOW)) == expected


def definition_in(*conditions: JSON) -> JSON:
    return obj("CustomResourceDefinition", "apiextensions.k8s.io/v1", conditions=list(conditions))


def api_service(*conditions: JSON) -> JSON:
    return obj("APIService", "apiregistration.k8s.io/v1", conditions=list(conditions))


@each(
    ("found", "expected"),
    [
        (
            definition_in(condition("NamesAccepted", "False", reason="Taken")),
            "Failed Taken: its names are not accepted: Taken",
        ),
        (
            definition_in(condition("Established", "False", reason="NotAccepted")),
            "Failed NotAccepted: is not established: NotAccepted",
        ),
        (
            definition_in(condition("Established", "False", reason="Installing")),
            "InProgress Installing: is not established: Installing",
        ),
        (definition_in(condition("Established"), condition("NamesAccepted", "False")), CURRENT),
        (definition_in(), "InProgress Installing: is not established: no reason is given"),
        (api_service(condition("Available")), CURRENT),
        (
            api_service(condition("Available", "False", reason="MissingEndpoints", message="none")),
            "InProgress MissingEndpoints: is not available: MissingEndpoints: none",
        ),
        (api_service(), "InProgress NotAvailable: is not available: no reason is given"),
        (widget(condition("Degraded", reason="Broken"), condition("Available", "False")), "Failed Broken"),
        (widget(condition("Available", "False", reason="Down"), condition("Progressing")), "InProgress Down"),
        (widget(condition("Progressing", reason="Rolling"), condition("Degraded", "False")), "InProgress Rolling"),
        (widget(condition("Degraded"), condition("Ready")), CURRENT),
        (obj("Node", "v1", conditions=[condition("Degraded")]), CURRENT),
    ],
)
def test_definitions_apis_and_operators(found: JSON, expected: str) -> None:
    assert words(health_of(found, NOW)) == expected


@each(
    ("kind", "api_version", "expected"),
    [
        ("ConfigMap", "v1", False),
        ("ClusterRole", "rbac.authorization.k8s.io/v1", False),
        ("Gateway", "gateway.networking.k8s.io/v1", True),
        ("PodDisruptionBudget", "policy/v1", False),
        ("Deployment", "apps/v1", True),
        ("Pod", "v1", True),
        ("APIService", "apiregistration.k8s.io/v1", True),
        ("Widget", "example.com/v1", True),
    ],
)
def test_kinds_that_can_be_other_than_current(kind: str, api_version: str, expected: bool) -> None:
    assert has_rule({"kind": kind, "apiVersion": api_version}) is expected


@each(("type", "expected"), [("LoadBalancer", True), ("ClusterIP", False), (None, False)])
def test_only_services_with_an_address_from_outside_have_a_rule(type: str | None, expected: bool) -> None:
    assert has_rule(obj("Service", "v1", {"type": type} if type else {})) is expected


def test_message_names_numbers_and_words_of_the_cluster() -> None:
    assert health_of(daemon_set(numberReady=1), NOW).message == "1 of 2 replicas are ready"
    failing = job(condition("Failed", reason="DeadlineExceeded", message="too slow"))
    assert health_of(failing, NOW) == ObjectHealth("Failed", "JobFailed", "DeadlineExceeded: too slow")


def test_only_a_job_that_has_not_ended_is_running() -> None:
    begun = {"startTime": "2026-01-01T00:00:00Z"}
    jobs = (job(**begun), job(condition("Complete"), **begun), job())
    assert [health_of(present, NOW).is_running for present in jobs] == [True, False, False]
