"""The same workloads on a real control plane (kwok runs its Pods) and simulated: what is written is the same.

Names, times and addresses are masked. Of Pods only what controllers and the scheduler write is compared: kwok's kubelet
says less than a real one.

Level: control plane.
"""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.cluster import Cluster
from tests.kubesandbox.contract.api import until
from tests.kubesandbox.simulate.lab import running

WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}, annotations: {note: x}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx, ports: [{name: http, containerPort: 80}]}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: pg}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {nodeSelector: {kubernetes.io/hostname: NODE}, containers: [{name: c, image: agent}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  completions: 2
  parallelism: 1
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {a: b}}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Pod
metadata: {name: stuck}
spec: {nodeSelector: {no-such: node}, containers: [{name: c, image: i}]}
"""
RESOURCES = {
    "deployments.apps": ("metadata", "status"),
    "replicasets.apps": ("metadata", "spec", "status"),
    "statefulsets.apps": ("metadata", "status"),
    "daemonsets.apps": ("metadata", "status"),
    "controllerrevisions.apps": ("metadata", "data", "revision"),
    "jobs.batch": ("metadata", "status"),
    "pods": ("metadata",),
    "endpoints": ("metadata", "subsets"),
    "endpointslices.discovery.k8s.io": ("metadata", "addressType", "endpoints", "ports"),
}
UNLIKE = {
    "resourceVersion",
    "uid",
    "managedFields",
    "creationTimestamp",
    "finalizers",
    "generation",
    "ip",
    "addresses",
    "namespace",
}
SECRET = ("hash", "-uid")
HASH = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5,10}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def masked(value: Any, names: dict[str, str]) -> Any:
    """Without what two clusters cannot have in common."""
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if key not in UNLIKE and one not in ({}, None)}
        return {key: "<hash>" if key.endswith(SECRET) else masked(one, names) for key, one in kept.items()}
    if isinstance(value, list):
        return in_order([masked(one, names) for one in value])
    if not isinstance(value, str):
        return value
    for name, mask in names.items():
        value = value.replace(name, mask)
    return TIME.sub("<time>", HASH.sub("-<hash>", value))


def seen(obj: Any, fields: tuple[str, ...], names: dict[str, str]) -> Any:
    """What is compared of an object."""
    meta = obj["metadata"]
    owners = [owner["kind"] for owner in meta.get("ownerReferences") or ()]
    return masked({key: obj.get(key) for key in fields} | {"metadata": {**meta, "ownerReferences": owners}}, names)


def in_order(objects: list[Any]) -> list[Any]:
    return sorted(objects, key=lambda obj: json.dumps(obj, sort_keys=True))


def told(events: list[Any], names: dict[str, str]) -> set[Any]:
    """What Events say. Kwok's kubelet says nothing, the scheduler's nodes are others."""
    return {
        (event["involvedObject"]["kind"], event["type"], event["reason"], masked(event["message"], names))
        for event in events
        if event["reportingComponent"] not in ("kubelet", "default-scheduler")
    }


def shown(objects: dict[str, list[Any]], names: dict[str, str]) -> dict[str, Any]:
    """What is compared of all that there is."""
    found: dict[str, Any] = {
        resource: in_order([seen(obj, fields, names) for obj in objects[resource]])
        for resource, fields in RESOURCES.items()
    }
    return found | {"events": told(objects["events"], names)}


def real(cluster: Cluster, namespace: str) -> dict[str, Any]:
    """What the real control plane shows now."""
    found = {}
    for resource in (*RESOURCES, "events"):
        plural, _, group = resource.partition(".")
        api = f"/apis/{group}/v1" if group else "/api/v1"
        found[resource] = cluster.request("GET", f"{api}/namespaces/{namespace}/{plural}").body["items"]
    return shown(found, {"fake": "<node>"})


@pytest.mark.looptime
async def test_controllers_write_what_real_ones_write(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """In the end: real ones do it one after the other, and tell of it later."""
    manifest = tmp_path / "workloads.yaml"
    manifest.write_text(WORKLOADS.replace("NODE", "fake"))
    cluster.kubectl("-n", namespace, "apply", "--server-side", "-f", str(manifest))
    async with running() as lab:
        lab.create(WORKLOADS.replace("NODE", "sandbox-1"))
        await lab.later(60)
        all_ = {resource: lab.all(resource) for resource in (*RESOURCES, "events")}
    ours = shown(all_, {"sandbox-1": "<node>", "sandbox-2": "<node>"})
    with suppress(AssertionError):
        until(lambda: real(cluster, namespace) == ours)
    assert real(cluster, namespace) == ours
