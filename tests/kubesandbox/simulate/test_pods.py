"""Pods: a node, an address, containers that start, become ready and end. Level: pure."""

from typing import Any

import pytest

from tests.kubesandbox.simulate.lab import Lab, running
from tests.tables import each

pytestmark = pytest.mark.looptime

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: nginx}]}
"""


def condition(obj: Any, type_: str) -> Any:
    return next(one for one in obj["status"].get("conditions") or [{}] if one.get("type") == type_)


def is_ready(lab: Lab, name: str) -> bool:
    pod = lab.one("pods", name)
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions") or ())


async def test_a_pod_runs_on_a_node() -> None:
    async with running() as lab:
        lab.create(POD)
        await lab.until(lambda: is_ready(lab, "web"))
        pod = lab.one("pods", "web")
        assert pod["spec"]["nodeName"] in lab.names("nodes")
        assert pod["status"]["phase"] == "Running"
        assert pod["status"]["podIP"].startswith("10.244.")
        assert lab.events("Scheduled") == [f"Successfully assigned default/web to {pod['spec']['nodeName']}"]
        assert lab.events("Started") == ["Container started"]


async def test_pods_spread_over_the_nodes_and_have_addresses_of_their_own() -> None:
    async with running() as lab:
        for number in range(4):
            lab.create(POD.replace("web", f"web-{number}"))
        await lab.later(10)
        pods = lab.all("pods")
        assert sorted(pod["spec"]["nodeName"] for pod in pods) == ["sandbox-1"] * 2 + ["sandbox-2"] * 2
        assert len({pod["status"]["podIP"] for pod in pods}) == 4


async def test_init_containers_run_one_after_the_other() -> None:
    async with running() as lab:
        init = [
            {"name": "one", "image": "i"},
            {"name": "side", "image": "i", "restartPolicy": "Always"},
            {"name": "two", "image": "i"},
        ]
        lab.create(POD.replace("spec: {", f"spec: {{initContainers: {init}, "))
        seen = []
        while not is_ready(lab, "web"):
            statuses = lab.one("pods", "web")["status"].get("initContainerStatuses") or ()
            seen.append([next(iter(one["state"])) for one in statuses])
            await lab.later(0.1)
        steps = [state for place, state in enumerate(seen) if state and state != seen[place - 1]]
        assert steps == [
            ["waiting", "waiting", "waiting"],
            ["running", "waiting", "waiting"],
            ["terminated", "waiting", "waiting"],
            ["terminated", "running", "waiting"],
            ["terminated", "running", "running"],
            ["terminated", "running", "terminated"],
        ]


async def test_a_readiness_probe_takes_a_moment() -> None:
    async with running() as lab:
        lab.create(POD.replace("image: nginx", "image: nginx, readinessProbe: {tcpSocket: {port: 80}}"))
        await lab.until(lambda: lab.one("pods", "web")["status"].get("phase") == "Running")
        unready = condition(lab.one("pods", "web"), "Ready")
        assert (unready["reason"], unready["message"]) == ("ContainersNotReady", "containers with unready status: [c]")
        await lab.until(lambda: is_ready(lab, "web"))


@each(("code", "phase"), [("0", "Succeeded"), ("3", "Failed")])
async def test_a_pod_that_does_not_restart_ends(code: str, phase: str) -> None:
    async with running() as lab:
        annotated = f"name: web, annotations: {{sandbox.hookrunner.io/exit-code: '{code}'}}"
        lab.create(POD.replace("name: web", annotated).replace("spec: {", "spec: {restartPolicy: Never, "))
        await lab.until(lambda: lab.one("pods", "web")["status"]["phase"] == phase)
        ended = lab.one("pods", "web")["status"]["containerStatuses"][0]
        assert ended["state"]["terminated"]["exitCode"] == int(code)
        assert not is_ready(lab, "web")


async def test_a_pod_takes_a_moment_to_go() -> None:
    async with running() as lab:
        lab.create(POD)
        await lab.until(lambda: is_ready(lab, "web"))
        lab.delete("pods", "web")
        await lab.later(0.1)
        assert lab.one("pods", "web")["metadata"]["deletionTimestamp"]
        await lab.until(lambda: not lab.all("pods"))
        assert lab.events("Killing") == ["Stopping container c"]


@each(
    ("spec", "why"),
    [
        ("nodeSelector: {disk: ssd}", "2 node(s) didn't match Pod's node affinity/selector"),
        (
            "volumes: [{name: v, persistentVolumeClaim: {claimName: none}}]",
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)
async def test_a_pod_that_no_node_can_have_says_so(spec: str, why: str) -> None:
    async with running() as lab:
        lab.create(POD.replace("spec: {", f"spec: {{{spec}, "))
        await lab.later(10)
        pod = lab.one("pods", "web")
        assert (pod["status"]["phase"], condition(pod, "PodScheduled")["reason"]) == ("Pending", "Unschedulable")
        assert why in condition(pod, "PodScheduled")["message"]
        assert lab.events("FailedScheduling") == [condition(pod, "PodScheduled")["message"]]


async def test_what_is_asked_for_must_be_free() -> None:
    async with running() as lab:
        greedy = POD.replace("image: nginx", "image: nginx, resources: {requests: {cpu: '5', nvidia.com/gpu: 1}}")
        for name in ("one", "two", "three"):
            lab.create(greedy.replace("name: web", f"name: {name}").replace(", nvidia.com/gpu: 1", ""))
        await lab.later(10)
        waiting = [pod for pod in lab.all("pods") if pod["status"]["phase"] == "Pending"]
        assert len(waiting) == 1
        assert "2 Insufficient cpu" in condition(waiting[0], "PodScheduled")["message"]


async def test_a_pod_starts_when_a_node_comes_that_it_waits_for() -> None:
    async with running() as lab:
        lab.create(POD.replace("spec: {", "spec: {nodeSelector: {disk: ssd}, "))
        await lab.later(5)
        lab.create("{apiVersion: v1, kind: Node, metadata: {name: fast, labels: {disk: ssd}}}")
        await lab.until(lambda: is_ready(lab, "web"))
        assert lab.one("pods", "web")["spec"]["nodeName"] == "fast"


@each("tolerated", [True, False])
async def test_a_taint_keeps_pods_away_that_do_not_tolerate_it(tolerated: bool) -> None:
    async with running() as lab:
        await lab.later(1)
        for name in lab.names("nodes"):
            lab.patch("nodes", name, {"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}})
        spec = "spec: {tolerations: [{key: a, value: b}], " if tolerated else "spec: {"
        lab.create(POD.replace("spec: {", spec))
        await lab.later(10)
        assert is_ready(lab, "web") == tolerated


async def test_a_cordoned_node_gets_no_more_pods() -> None:
    async with running() as lab:
        await lab.later(1)
        lab.patch("nodes", "sandbox-1", {"spec": {"unschedulable": True}})
        for number in range(3):
            lab.create(POD.replace("web", f"web-{number}"))
        await lab.later(10)
        assert {pod["spec"]["nodeName"] for pod in lab.all("pods")} == {"sandbox-2"}


async def test_nodes_are_ready_and_tell_what_they_have() -> None:
    async with running() as lab:
        await lab.later(1)
        node = lab.one("nodes", "sandbox-1")
        assert condition(node, "Ready")["status"] == "True"
        assert node["status"]["allocatable"]["cpu"] == "8"
        assert not node["spec"].get("taints")


async def test_pods_of_a_node_that_is_deleted_go_with_it() -> None:
    async with running() as lab:
        for number in range(2):
            lab.create(POD.replace("web", f"web-{number}"))
        await lab.later(5)
        lab.delete("nodes", "sandbox-1")
        await lab.later(10)
        assert [pod["spec"]["nodeName"] for pod in lab.all("pods")] == ["sandbox-2"]


async def test_all_goes_on_after_a_compaction() -> None:
    async with running() as lab:
        await lab.later(1)
        lab.create(POD)
        lab.store.compact()
        await lab.until(lambda: is_ready(lab, "web"))


async def test_a_pod_on_a_node_that_was_never_there_can_be_deleted() -> None:
    async with running() as lab:
        lab.create(POD.replace("spec: {", "spec: {nodeName: elsewhere, "))
        await lab.later(20)
        assert lab.one("pods", "web")["status"]["phase"] == "Pending"
        lab.delete("pods", "web")
        await lab.until(lambda: not lab.all("pods"))
