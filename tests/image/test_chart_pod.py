"""The Pod of the chart: what the API server keeps of it, run from the image with the rights that the chart gives.

The container runs here, in the network of this machine, and not where the cluster's node says that it does.

Level: image."""

import asyncio
import json
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.cluster import Cluster
from tests.controlplane.processes import free_port
from tests.fakes.chart import Render, render
from tests.flows.waiting import until
from tests.image.build import Image
from tests.image.conftest import StartPod, records
from tests.image.kubelet import Node, pass_probe
from tests.trees import write_files

__all__ = ["render"]

HOOK = """#!/bin/bash
if [ "$1" = --config ]; then
  echo '{"configVersion": "v1", "kubernetes": [{"name": "maps", "kind": "ConfigMap", "executeHookOnEvent": ["Added"],
    "nameSelector": {"matchNames": ["asked"]},
    "namespace": {"nameSelector": {"matchNames": ["'$HOOKRUNNER_NAMESPACE'"]}}}]}'
  exit
fi
grep -q '"asked"' "$BINDING_CONTEXT_PATH" || exit 0
sleep 1 # the Pod is sent SIGTERM meanwhile
kubectl create configmap "of-$(id -u)" >/tmp/answer || exit
kubectl create secret generic mine 2>&1 | grep -q forbidden || exit
touch /hooks/x 2>/dev/null || kubectl create configmap answer
"""
MAPS = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create"]}


def maps(cluster: Cluster, namespace: str) -> set[str]:
    found = json.loads(cluster.kubectl("get", "configmaps", "-n", namespace, "-o", "json"))["items"]
    return {item["metadata"]["name"] for item in found}


@pytest.fixture
async def installed(render: Render, cluster: Cluster, namespace: str, tmp_path: Path) -> dict[str, Any]:
    """The Pod that the cluster made of the chart, with a hook and rights for ConfigMaps in its namespace."""
    write_files(tmp_path, {"answer.sh": HOOK})
    rights = ("--set", "rbac.clusterWide=false", "--set-json", f"rbac.rules={json.dumps([MAPS])}")
    hook = ("--set-file", f"hooks.answer\\.sh={tmp_path / 'answer.sh'}", "--set", f"port={free_port()}")
    cluster.kubectl("apply", "--server-side", "--filename", "-", input=render(*rights, *hook))
    cluster.wait_for_right(
        f"{namespace}:watch-hookrunner", {"namespace": namespace, "resource": "configmaps", "verb": "list"}
    )
    words = ("get", "pods", "--namespace", namespace, "--output=json")
    [pod] = await until(lambda: json.loads(cluster.kubectl(*words))["items"], "the Pod of the chart")
    return pod  # type: ignore[no-any-return]


async def test_the_charts_pod_is_ready_does_its_work_and_ends_in_time(
    built_image: Image, cluster: Cluster, namespace: str, installed: dict[str, Any], start: StartPod, tmp_path: Path
) -> None:
    (volumes := tmp_path / "volumes").mkdir()
    pod = start(Node(cluster, built_image, volumes).container_of(installed))
    await pass_probe(installed, "startupProbe")
    await pass_probe(installed, "readinessProbe")
    assert pod.processes()[1]["Uid"].split()[0] == str(installed["spec"]["securityContext"]["runAsUser"])
    cluster.kubectl("create", "configmap", "asked", "--namespace", namespace)
    answer = f"/api/v1/namespaces/{namespace}/configmaps/of-10001"

    def has_begun() -> bool:
        """On a busy machine it may be over before anyone has looked."""
        is_asleep = any(fields["Name"] == "sleep" for fields in pod.processes().values())
        return is_asleep or cluster.request("GET", answer).status == HTTPStatus.OK

    await until(has_begun, "the hook runs")
    await pass_probe(installed, "livenessProbe")
    pod.send()
    seconds = installed["spec"]["terminationGracePeriodSeconds"]
    assert await asyncio.wait_for(pod.ended(), seconds) == 0
    assert {"answer", "of-10001"} <= maps(cluster, namespace)
    assert [record for record in records(pod) if record["level"] == "error"] == []
