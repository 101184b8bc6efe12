"""What Pods say about a workload that does not become ready. Level: pure."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hookrunner.releases.health.pod_findings import PodObstacle, current_pods, find_obstacle
from tests.releases.watching import condition
from tests.tables import each

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
UNSCHEDULABLE = condition("PodScheduled", "False", reason="Unschedulable", message="0/3 nodes are available")


def pod(name: str = "web-1", age: int = 60, labels: Any = None, **status: Any) -> Any:
    created = (NOW - timedelta(seconds=age)).isoformat()
    metadata = {"name": name, "creationTimestamp": created, "labels": labels or {}}
    return {"kind": "Pod", "metadata": metadata, "status": status}


def waiting(reason: str, message: str = "", last: Any = None) -> Any:
    return [{"name": "c", "state": {"waiting": {"reason": reason, "message": message}}, "lastState": last or {}}]


EXIT = {"terminated": {"exitCode": 3, "reason": "Error"}}
CRASHES, PULLS = "Pod web-1: container c crashes again and again", "Pod web-1: container c: ImagePullBackOff"


@each(
    ("found", "expected"),
    [
        (pod(), None),
        (pod(containerStatuses=waiting("ContainerCreating")), None),
        (pod(containerStatuses=waiting("CrashLoopBackOff", last=EXIT)), f"!{CRASHES} (exit code 3, Error)"),
        (pod(initContainerStatuses=waiting("CrashLoopBackOff")), f"!{CRASHES}"),
        (pod(containerStatuses=waiting("ImagePullBackOff", "no such image")), f"{PULLS}: no such image"),
        (pod(conditions=[UNSCHEDULABLE]), "!Pod web-1 cannot be scheduled: 0/3 nodes are available"),
        (pod(conditions=[UNSCHEDULABLE], age=14), None),
        (pod(conditions="none", containerStatuses=None), None),
    ],
)
def test_obstacle_of_a_pod_is_named(found: Any, expected: str | None) -> None:
    obstacle = find_obstacle([found], NOW)
    assert (obstacle and f"{'!' * obstacle.is_fatal}{obstacle.message}") == expected


def test_fatal_obstacle_comes_first() -> None:
    pods = [pod("a", containerStatuses=waiting("ErrImagePull", "gone")), pod("b", conditions=[UNSCHEDULABLE])]
    assert find_obstacle(pods, NOW) == PodObstacle("Pod b cannot be scheduled: 0/3 nodes are available", True)


def workload(kind: str, **annotations: str) -> Any:
    return {"kind": kind, "metadata": {"annotations": annotations}, "status": {"updateRevision": "new"}}


def replica_set(revision: str, template: str) -> Any:
    metadata = {
        "annotations": {"deployment.kubernetes.io/revision": revision},
        "labels": {"pod-template-hash": template},
    }
    return {"metadata": metadata}


@each(
    ("owner", "label"),
    [
        (workload("Deployment", **{"deployment.kubernetes.io/revision": "2"}), "pod-template-hash"),
        (workload("StatefulSet"), "controller-revision-hash"),
        (workload("DaemonSet", **{"deprecated.daemonset.template.generation": "new"}), "pod-template-generation"),
    ],
)
def test_pods_of_an_earlier_template_say_nothing(owner: Any, label: str) -> None:
    pods = [pod("old", labels={label: "old"}), pod("new", labels={label: "new"})]
    current = current_pods(owner, pods, [replica_set("1", "old"), replica_set("2", "new")])
    assert [found["metadata"]["name"] for found in current] == ["new"]


def test_all_pods_of_other_workloads_count_unless_they_are_being_deleted() -> None:
    leaving = pod("leaving")
    leaving["metadata"]["deletionTimestamp"] = "now"
    assert current_pods(workload("Job"), [pod("a"), leaving]) == [pod("a")]
