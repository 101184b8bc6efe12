"""ReplicaSets, StatefulSets, DaemonSets and Jobs in virtual time. Level: pure."""

from typing import Any

import pytest

from tests.kubesandbox.simulate.lab import Lab, running

pytestmark = pytest.mark.looptime

STATEFUL = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 3
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: pg:1}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
DAEMONS = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: agent:1}]}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}
"""


def image(text: str) -> Any:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": text}]}}}}


def images(lab: Lab) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in lab.all("pods")}


def conditions(obj: Any) -> dict[str, str]:
    return {one["type"]: one["reason"] for one in obj["status"].get("conditions") or () if one["status"] == "True"}


async def test_a_stateful_set_starts_its_pods_in_order() -> None:
    async with running() as lab:
        lab.create(STATEFUL)
        seen: list[list[str]] = []
        while lab.one("statefulsets.apps", "db")["status"].get("readyReplicas") != 3:
            if not seen or seen[-1] != lab.names("pods"):
                seen.append(lab.names("pods"))
            await lab.later(0.1)
        assert seen == [[], ["db-0"], ["db-0", "db-1"], ["db-0", "db-1", "db-2"]]
        assert lab.names("persistentvolumeclaims") == ["data-db-0", "data-db-1", "data-db-2"]
        pod = lab.one("pods", "db-1")
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-1", "db")
        assert pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] == "data-db-1"


@pytest.mark.slow
async def test_a_stateful_set_shrinks_from_the_end_and_keeps_its_claims() -> None:
    async with running() as lab:
        lab.create(STATEFUL)
        await lab.later(30)
        lab.patch("statefulsets.apps", "db", {"spec": {"replicas": 1}})
        await lab.later(30)
        assert lab.names("pods") == ["db-0"]
        assert len(lab.all("persistentvolumeclaims")) == 3
        assert lab.one("statefulsets.apps", "db")["status"]["replicas"] == 1


@pytest.mark.slow
async def test_a_stateful_set_renews_its_pods_from_the_end() -> None:
    async with running() as lab:
        lab.create(STATEFUL)
        await lab.later(30)
        lab.patch("statefulsets.apps", "db", image("pg:2"))
        order: list[str] = []
        while images(lab) != {"pg:2"} or len(lab.all("pods")) < 3:
            new = [
                pod["metadata"]["name"] for pod in lab.all("pods") if pod["spec"]["containers"][0]["image"] == "pg:2"
            ]
            order += [name for name in new if name not in order]
            await lab.later(0.1)
        assert order[:2] == ["db-2", "db-1"]
        await lab.later(10)
        status = lab.one("statefulsets.apps", "db")["status"]
        assert status["currentRevision"] == status["updateRevision"]
        assert len(lab.all("controllerrevisions.apps")) == 2


@pytest.mark.slow
async def test_a_partition_keeps_the_first_pods_as_they_are() -> None:
    async with running() as lab:
        lab.create(STATEFUL)
        await lab.later(30)
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        lab.patch("statefulsets.apps", "db", {"spec": {**image("pg:2")["spec"], "updateStrategy": strategy}})
        await lab.later(30)
        assert [pod["spec"]["containers"][0]["image"] for pod in lab.all("pods")] == ["pg:1", "pg:1", "pg:2"]
        lab.delete("pods", "db-0")
        await lab.later(30)
        assert lab.names("pods") == ["db-0", "db-1", "db-2"]


async def test_a_daemon_set_has_a_pod_on_each_node() -> None:
    async with running() as lab:
        lab.create(DAEMONS)
        await lab.later(10)
        lab.create("{apiVersion: v1, kind: Node, metadata: {name: third}}")
        await lab.later(10)
        assert sorted(pod["spec"]["nodeName"] for pod in lab.all("pods")) == ["sandbox-1", "sandbox-2", "third"]
        status = lab.one("daemonsets.apps", "agent")["status"]
        assert (status["desiredNumberScheduled"], status["numberReady"], status["updatedNumberScheduled"]) == (3, 3, 3)


@pytest.mark.slow
async def test_a_daemon_set_renews_its_pods_one_after_the_other() -> None:
    async with running() as lab:
        lab.create(DAEMONS)
        await lab.later(10)
        lab.patch("daemonsets.apps", "agent", image("agent:2"))
        ready = []
        while images(lab) != {"agent:2"} or len(lab.all("pods")) < 2:
            alive = [pod for pod in lab.all("pods") if "deletionTimestamp" not in pod["metadata"]]
            ready.append(len([pod for pod in alive if pod["status"]["phase"] == "Running"]))
            await lab.later(0.1)
        assert min(ready) == 1
        await lab.later(10)
        assert lab.one("daemonsets.apps", "agent")["status"]["updatedNumberScheduled"] == 2


async def test_a_daemon_set_leaves_a_node_that_it_no_longer_selects() -> None:
    async with running() as lab:
        lab.create(DAEMONS.replace("    spec: {", "    spec: {nodeSelector: {kubernetes.io/hostname: sandbox-1}, "))
        await lab.later(10)
        assert [pod["spec"]["nodeName"] for pod in lab.all("pods")] == ["sandbox-1"]
        lab.patch("nodes", "sandbox-1", {"metadata": {"labels": {"kubernetes.io/hostname": "other"}}})
        await lab.later(10)
        assert lab.all("pods") == []


async def test_a_job_completes() -> None:
    async with running() as lab:
        lab.create(JOB.replace("  template", "  completions: 3\n  parallelism: 2\n  template"))
        await lab.later(2)
        assert lab.one("jobs.batch", "once")["status"]["active"] == 2
        await lab.later(20)
        job = lab.one("jobs.batch", "once")
        assert (job["status"]["succeeded"], "active" in job["status"]) == (3, False)
        assert conditions(job) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
        assert job["status"]["completionTime"] > job["status"]["startTime"]
        assert lab.events("Completed") == ["Job completed"]


async def test_a_job_fails_when_too_many_pods_did() -> None:
    async with running() as lab:
        failing = "  backoffLimit: 1\n  template:\n    metadata: {annotations: {sandbox.hookrunner.io/exit-code: '1'}}"
        lab.create(JOB.replace("  template:", failing))
        await lab.later(60)
        job = lab.one("jobs.batch", "once")
        assert conditions(job) == {"FailureTarget": "BackoffLimitExceeded", "Failed": "BackoffLimitExceeded"}
        assert job["status"]["failed"] == 2
        assert lab.events("BackoffLimitExceeded") == ["Job has reached the specified backoff limit"]


async def test_a_job_that_takes_too_long_fails() -> None:
    async with running() as lab:
        slow = JOB.replace("  template:", "  activeDeadlineSeconds: 2\n  template:")
        lab.create(slow)
        await lab.later(20)
        assert conditions(lab.one("jobs.batch", "once"))["Failed"] == "DeadlineExceeded"
        assert lab.all("pods") == []


async def test_a_finished_job_goes_after_its_time_to_live() -> None:
    async with running() as lab:
        lab.create(JOB.replace("  template:", "  ttlSecondsAfterFinished: 30\n  template:"))
        await lab.later(20)
        assert lab.names("jobs.batch") == ["once"]
        await lab.later(30)
        assert lab.all("jobs.batch") + lab.all("pods") == []


async def test_an_indexed_job_has_a_pod_for_each_index() -> None:
    async with running() as lab:
        lab.create(
            JOB.replace("  template:", "  completionMode: Indexed\n  completions: 3\n  parallelism: 3\n  template:")
        )
        await lab.later(20)
        indexes = {pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for pod in lab.all("pods")}
        assert indexes == {"0", "1", "2"}
        assert conditions(lab.one("jobs.batch", "once"))["Complete"]


async def test_a_suspended_job_waits() -> None:
    async with running() as lab:
        lab.create(JOB.replace("  template:", "  suspend: true\n  template:"))
        await lab.later(20)
        assert lab.all("pods") == []
        lab.patch("jobs.batch", "once", {"spec": {"suspend": False}})
        await lab.later(20)
        assert conditions(lab.one("jobs.batch", "once"))["Complete"]
