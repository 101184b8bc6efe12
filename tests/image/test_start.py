"""Hooks dropped into the image by a Dockerfile of two lines, and started as Pods of a real cluster.

Level: image."""

import asyncio
import json
import secrets
from dataclasses import replace
from pathlib import Path
from signal import SIGTERM

import pytest

from tests.controlplane.cluster import Cluster
from tests.flows.waiting import until
from tests.image.build import Image, store
from tests.image.conftest import StartPod, in_cluster, on_free_ports, records
from tests.image.pod import Container, Pod
from tests.trees import write_files

HOOK = """#!/bin/bash
if [ "$1" = --config ]; then
  echo '{"configVersion": "v1", "kubernetes": [{"name": "maps", "kind": "ConfigMap", "executeHookOnEvent": ["Added"],
    "nameSelector": {"matchNames": ["asked"]}, "namespace": {"nameSelector": {"matchNames": ["'$NAMESPACE'"]}}}]}'
  exit
fi
(sleep 0.01 &) # an orphan, which process 1 has to reap
grep -q '"asked"' "$BINDING_CONTEXT_PATH" || exit 0
echo '{"operation": "CreateOrUpdate", "object": {"apiVersion": "v1", "kind": "ConfigMap",
  "metadata": {"name": "answer-of-'$NAME'", "namespace": "'$NAMESPACE'"}}}' >"$KUBERNETES_PATCH_PATH"
"""
STARTS = {
    "hookrunner": (),
    "shell-operator": ("/sbin/tini", "--", "/shell-operator", "start"),
    "addon-operator": ("/sbin/tini", "--", "/addon-operator", "start"),
}


@pytest.fixture(scope="module")
def dropped(built_image: Image, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """A user's image: hooks on the built one."""
    directory = tmp_path_factory.mktemp("image")
    write_files(directory, {"hooks/answer.sh*": HOOK, "Dockerfile": f"FROM {built_image.name}\nCOPY hooks /hooks\n"})
    return store().build(f"user:{secrets.token_hex(4)}", directory)


def maps(cluster: Cluster, namespace: str) -> set[str]:
    found = json.loads(cluster.kubectl("get", "configmaps", "-n", namespace, "-o", "json"))["items"]
    return {item["metadata"]["name"] for item in found}


async def test_hooks_run_under_each_name_and_user_and_sigterm_ends_them(
    dropped: Image, cluster: Cluster, namespace: str, start: StartPod, tmp_path: Path
) -> None:
    common = in_cluster(Container(dropped), cluster, namespace, tmp_path)
    pods = {}
    for (name, command), user in zip(STARTS.items(), ("", "", "4711:4711"), strict=True):
        container = replace(common, command=command, user=user, environ={**common.environ, "NAME": name})
        pods[name] = start(on_free_ports(container))
    cluster.kubectl("create", "configmap", "asked", "-n", namespace)
    wanted = {f"answer-of-{name}" for name in STARTS}
    await until(lambda: maps(cluster, namespace) >= wanted, "an answer of each")
    for pod in pods.values():
        await until(lambda pod=pod: not zombies(pod), "orphans are reaped")  # type: ignore[misc]
        assert pod.processes()[1]["Name"] == "tini"
        assert {fields["CapEff"].strip("0") for fields in pod.processes().values()} == {""}
        pod.send(SIGTERM)
    ends = await asyncio.gather(*(pod.ended() for pod in pods.values()))
    assert ends == [0, 0, 0]
    assert [r for pod in pods.values() for r in records(pod) if r["level"] == "error"] == []


def zombies(pod: Pod) -> list[str]:
    return [fields["Name"] for fields in pod.processes().values() if fields["State"].startswith("Z")]
