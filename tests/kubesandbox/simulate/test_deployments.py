"""Deployments: their ReplicaSets and Pods, through roll-outs, scaling and mistakes. Level: pure."""

from typing import Any

import pytest

from tests.kubesandbox.simulate.lab import Lab, running
from tests.tables import each

pytestmark = pytest.mark.looptime

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx:1}]}
"""
IMAGE = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}}}


def status(lab: Lab) -> Any:
    return lab.one("deployments.apps", "web")["status"]


def conditions(lab: Lab) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in status(lab).get("conditions") or ()}


def rolled_out(lab: Lab) -> bool:
    """As `kubectl rollout status` sees it."""
    deployment, now = lab.one("deployments.apps", "web"), status(lab)
    wanted = deployment["spec"]["replicas"]
    counts = [now.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas")]
    return now.get("observedGeneration") == deployment["metadata"]["generation"] and counts == [wanted] * 3


def sizes(lab: Lab) -> list[int]:
    """Of the ReplicaSets, by revision."""
    sets = sorted(lab.all("replicasets.apps"), key=revision)
    return [one["spec"]["replicas"] for one in sets]


def revision(obj: Any) -> int:
    return int(obj["metadata"]["annotations"]["deployment.kubernetes.io/revision"])


def images(lab: Lab) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in lab.all("pods")}


async def test_a_deployment_becomes_available() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT)
        await lab.until(lambda: rolled_out(lab))
        assert conditions(lab) == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }
        assert len(lab.all("pods")) == 3
        assert lab.one("deployments.apps", "web")["metadata"]["generation"] == 1
        assert lab.events("ScalingReplicaSet") == [
            f"Scaled up replica set {lab.names('replicasets.apps')[0]} from 0 to 3"
        ]


@pytest.mark.slow
async def test_a_new_image_rolls_out_without_too_few_or_too_many_pods() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT)
        await lab.until(lambda: rolled_out(lab))
        lab.patch("deployments.apps", "web", IMAGE)
        seen = []
        while not rolled_out(lab) or len(lab.all("pods")) > 3:
            alive = [pod for pod in lab.all("pods") if "deletionTimestamp" not in pod["metadata"]]
            seen.append((status(lab).get("availableReplicas", 0), len(alive)))
            await lab.later(0.1)
        assert min(ready for ready, _ in seen) >= 3
        assert max(pods for _, pods in seen) == 4
        assert (images(lab), sizes(lab), revision(lab.one("deployments.apps", "web"))) == ({"nginx:2"}, [0, 3], 2)


@pytest.mark.slow
async def test_an_old_template_brings_its_set_back() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT)
        await lab.until(lambda: rolled_out(lab))
        lab.patch("deployments.apps", "web", IMAGE)
        await lab.later(30)
        before = {one["metadata"]["name"] for one in lab.all("replicasets.apps")}
        back = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}}}
        lab.patch("deployments.apps", "web", back)
        await lab.later(30)
        assert rolled_out(lab)
        assert {one["metadata"]["name"] for one in lab.all("replicasets.apps")} == before
        assert revision(lab.one("deployments.apps", "web")) == 3
        assert images(lab) == {"nginx:1"}


@each("replicas", [0, 1, 7])
async def test_scaling_makes_and_ends_pods(replicas: int) -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT)
        await lab.until(lambda: rolled_out(lab))
        lab.patch("deployments.apps", "web", {"spec": {"replicas": replicas}})
        await lab.later(20)
        assert (len(lab.all("pods")), rolled_out(lab)) == (replicas, True)


async def test_a_deleted_pod_is_made_anew() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT)
        await lab.until(lambda: rolled_out(lab))
        gone = lab.names("pods")[0]
        lab.delete("pods", gone)
        await lab.later(10)
        assert gone not in lab.names("pods")
        assert (len(lab.all("pods")), rolled_out(lab)) == (3, True)


async def test_all_that_a_deployment_made_goes_with_it() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT)
        await lab.until(lambda: rolled_out(lab))
        lab.delete("deployments.apps", "web")
        await lab.later(10)
        assert lab.all("replicasets.apps") + lab.all("pods") == []


@pytest.mark.slow
async def test_recreate_ends_all_pods_before_it_makes_new_ones() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT.replace("  replicas: 3", "  strategy: {type: Recreate}\n  replicas: 3"))
        await lab.until(lambda: rolled_out(lab))
        lab.patch("deployments.apps", "web", IMAGE)
        mixed = []
        while not rolled_out(lab):
            mixed.append(len(images(lab)))
            await lab.later(0.1)
        assert max(mixed) == 1
        assert images(lab) == {"nginx:2"}


@pytest.mark.slow
async def test_a_paused_deployment_scales_but_does_not_roll_out() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT)
        await lab.until(lambda: rolled_out(lab))
        lab.patch("deployments.apps", "web", {"spec": {"paused": True, "replicas": 4}})
        lab.patch("deployments.apps", "web", IMAGE)
        await lab.later(20)
        assert (images(lab), len(lab.all("pods"))) == ({"nginx:1"}, 4)
        assert conditions(lab)["Progressing"] == ("Unknown", "DeploymentPaused")
        lab.patch("deployments.apps", "web", {"spec": {"paused": None}})
        await lab.until(lambda: rolled_out(lab))
        await lab.later(5)
        assert images(lab) == {"nginx:2"}


async def test_a_roll_out_that_cannot_go_on_is_late() -> None:
    async with running() as lab:
        stuck = DEPLOYMENT.replace("    spec: {", "    spec: {nodeSelector: {no-such: node}, ")
        lab.create(stuck.replace("  replicas: 3", "  progressDeadlineSeconds: 20\n  replicas: 3"))
        await lab.later(10)
        assert conditions(lab)["Progressing"] == ("True", "ReplicaSetUpdated")
        assert conditions(lab)["Available"] == ("False", "MinimumReplicasUnavailable")
        await lab.later(20)
        assert conditions(lab)["Progressing"] == ("False", "ProgressDeadlineExceeded")


async def test_pods_count_as_available_when_they_were_ready_for_long_enough() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT.replace("  replicas: 3", "  minReadySeconds: 15\n  replicas: 3"))
        await lab.later(10)
        assert (status(lab)["readyReplicas"], status(lab).get("availableReplicas", 0)) == (3, 0)
        await lab.later(10)
        assert status(lab)["availableReplicas"] == 3


@pytest.mark.slow
async def test_old_sets_beyond_the_limit_are_forgotten() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT.replace("  replicas: 3", "  revisionHistoryLimit: 1\n  replicas: 1"))
        for number in range(4):
            container = {"name": "c", "image": f"nginx:{number}"}
            lab.patch("deployments.apps", "web", {"spec": {"template": {"spec": {"containers": [container]}}}})
            await lab.later(20)
        assert len(lab.all("replicasets.apps")) == 2


async def test_a_pod_can_be_taken_out_by_a_label_and_put_back() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT)
        await lab.until(lambda: rolled_out(lab))
        name = lab.names("pods")[0]
        lab.patch("pods", name, {"metadata": {"labels": {"app": "quarantine"}}})
        await lab.later(10)
        assert "ownerReferences" not in lab.one("pods", name)["metadata"]
        assert (len(lab.all("pods")), rolled_out(lab)) == (4, True)
        lab.patch("pods", name, {"metadata": {"labels": {"app": "web"}}})
        await lab.later(10)
        assert len(lab.all("pods")) == 3


async def test_sets_that_were_orphaned_are_adopted() -> None:
    async with running() as lab:
        lab.create(DEPLOYMENT)
        await lab.until(lambda: rolled_out(lab))
        pods = lab.names("pods")
        lab.delete("deployments.apps", "web", propagation="Orphan")
        await lab.later(5)
        assert (lab.all("deployments.apps"), lab.names("pods")) == ([], pods)
        lab.create(DEPLOYMENT)
        await lab.later(10)
        assert (rolled_out(lab), lab.names("pods"), len(lab.all("replicasets.apps"))) == (True, pods, 1)
