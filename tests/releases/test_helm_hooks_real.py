"""Helm hooks beside the real `helm`, on the real API server: what it does with a chart, we do with the same hooks.

Level: control plane."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import Client
from hookrunner.model.releases import HelmHook
from hookrunner.releases.helm_hooks import HelmHooks
from hookrunner.releases.manifest_objects import KindResolver
from tests.controlplane.cluster import Cluster
from tests.releases.watching import JSON, World, hook

HOOK = """
---
apiVersion: v1
kind: {kind}
metadata:
  name: {name}
  annotations: {{helm.sh/hook: "{events}", helm.sh/hook-weight: "{weight}", helm.sh/hook-delete-policy: "{policies}"}}
"""
FAILING = """
---
apiVersion: batch/v1
kind: Job
metadata:
  name: job
  annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: "20", helm.sh/hook-delete-policy: "hook-failed"}
spec:
  backoffLimit: 0
  activeDeadlineSeconds: 1
  template: {spec: {restartPolicy: Never, nodeSelector: {never: here}, containers: [{name: a, image: b}]}}
"""
HOOKS = (
    ("ConfigMap", "b", "pre-install", 0, "before-hook-creation"),
    ("Secret", "b", "pre-install,post-install", 0, "before-hook-creation"),
    ("ConfigMap", "a", "pre-install", 0, "hook-failed"),
    ("ServiceAccount", "c", "pre-install", 0, "before-hook-creation"),
    ("Secret", "first", "pre-install", -5, "before-hook-creation"),
    ("ConfigMap", "gone", "pre-install", 7, "hook-succeeded"),
    ("ConfigMap", "unknown", "crd-install", 0, "before-hook-creation"),
    ("ConfigMap", "unasked", "post-install", 0, "before-hook-creation"),
)


ORDER = ("ServiceAccount", "Secret", "ConfigMap", "Job")
"""Helm's order of kinds, in which a rendered chart has its hooks."""


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """A chart that needs no values: its templates are manifests."""
    directory = tmp_path / "chart"
    (directory / "templates").mkdir(parents=True)
    (directory / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    names = ("kind", "name", "events", "weight", "policies")
    hooks = "".join(HOOK.format(**dict(zip(names, row, strict=True))) for row in HOOKS)
    (directory / "templates" / "all.yaml").write_text(hooks + FAILING)
    return directory


def hooks_of(chart: Path) -> list[HelmHook]:
    objects = yaml.safe_load_all((chart / "templates" / "all.yaml").read_text())
    return [_hook(obj, obj["metadata"]["annotations"]) for obj in sorted(objects, key=lambda o: ORDER.index(o["kind"]))]


def _hook(obj: JSON, marks: dict[str, str]) -> HelmHook:
    policies = tuple(marks["helm.sh/hook-delete-policy"].split(","))
    return hook(obj, *marks["helm.sh/hook"].split(","), weight=int(marks["helm.sh/hook-weight"]), policies=policies)


def there(cluster: Cluster, namespace: str) -> list[tuple[str, str]]:
    """What hooks have left, in the order of its last changes."""
    found: list[tuple[int, str, str]] = []
    for plural in ("configmaps", "secrets", "serviceaccounts"):
        items: list[Any] = cluster.request("GET", f"/api/v1/namespaces/{namespace}/{plural}").body["items"]
        for metadata in (item["metadata"] for item in items):
            if any(key.startswith("helm.sh/hook") for key in metadata.get("annotations", {})):
                found.append((int(metadata["resourceVersion"]), plural, metadata["name"]))
    return [(plural, name) for _, plural, name in sorted(found)]


async def test_the_same_hooks_run_in_the_same_order_and_leave_the_same_behind(
    cluster: Cluster, namespace: str, helm: Path, chart: Path, real: Client
) -> None:
    environ = os.environ | {"KUBECONFIG": str(cluster.kubeconfig), "HELM_CACHE_HOME": str(chart.parent)}
    command = [str(helm), "install", "demo", str(chart), "-n", namespace, "--timeout", "60s"]
    done = await asyncio.to_thread(subprocess.run, command, env=environ, capture_output=True, text=True)
    assert "failed pre-install" in done.stderr
    left = there(cluster, namespace)
    for plural, name in left:
        cluster.request("DELETE", f"/api/v1/namespaces/{namespace}/{plural}/{name}")

    with pytest.raises(ReleaseFailed, match=r"Job/job the Job failed: DeadlineExceeded"):
        await run_all(World(real, namespace), hooks_of(chart))
    assert there(cluster, namespace) == left != []
    assert cluster.request("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs").body["items"] == []


async def run_all(world: World, hooks: list[HelmHook]) -> None:
    runner = HelmHooks(world.client, KindResolver(world.discovery), world.readiness)
    async for _ in runner.run(hooks, "pre-install", world.identity, 60):
        pass
