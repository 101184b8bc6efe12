"""An addon's release on the real API server: its dry runs, its garbage collector, its controllers, and helm.

Level: control plane."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookrunner.background import Background
from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.model.releases import DesiredRelease, ObjectMarks, OwnerReference, ReleaseOptions
from hookrunner.releases.health.health_tracker import HealthTracker
from hookrunner.releases.manifest_objects import KindResolver
from hookrunner.releases.object_watches import ObjectWatches
from hookrunner.releases.records.record import ADDON
from hookrunner.releases.releases import Releases
from tests.controlplane.cluster import Cluster
from tests.fakes.objects import deployment
from tests.releases.test_releases_helm import Helm
from tests.releases.wants import ADDON_OPTIONS, addon, configmap
from tests.releases.world import exists, started

WEB: dict[str, Any] = deployment("web")


async def terms(client: Client, namespace: str) -> ReleaseOptions:
    """The owner is a ConfigMap of the namespace."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    await client.send(ApiCall("POST", path, body={"metadata": {"name": "instance"}}))
    uid = (await client.get(f"{path}/instance"))["metadata"]["uid"]
    owner = OwnerReference("v1", "ConfigMap", "instance", uid, namespace)
    return replace(ADDON_OPTIONS, marks=ObjectMarks({ADDON: namespace}, owner))


def release(namespace: str, options: ReleaseOptions, digest: str, *objects: Any) -> DesiredRelease:
    placed = [obj | {"metadata": {"namespace": namespace} | obj["metadata"]} for obj in objects]
    return replace(addon(digest, *placed), namespace=namespace, options=options)


async def test_refused_upgrade_changes_nothing(real: Client, namespace: str) -> None:
    options, releases = await terms(real, namespace), started(real)
    await releases.reconcile(release(namespace, options, "d1", configmap("a", x="1"), WEB))
    wrong = WEB | {"spec": WEB["spec"] | {"selector": {"matchLabels": {"app": "other"}}}}
    with pytest.raises(ReleaseFailed, match="in a dry run") as refused:
        await releases.reconcile(release(namespace, options, "d2", configmap("a", x="2"), wrong))
    assert "selector cannot change after creation" in str(refused.value)
    invalid = WEB | {"spec": WEB["spec"] | {"replicas": -1}}
    with pytest.raises(ReleaseFailed) as refused:
        await releases.reconcile(release(namespace, options, "d3", configmap("a", x="2"), invalid))
    assert refused.value.invalid == (f"{namespace}/Deployment/web",)
    mistyped = WEB | {"spec": WEB["spec"] | {"replicas": "two"}}
    with pytest.raises(ReleaseFailed, match="expected numeric") as refused:
        await releases.reconcile(release(namespace, options, "d4", configmap("a", x="2"), mistyped))
    assert refused.value.invalid == (f"{namespace}/Deployment/web",)
    head = await started(real).read_head("demo", namespace)
    assert (head and head.revision, head and head.status) == (1, "deployed")
    assert (await real.get(f"/api/v1/namespaces/{namespace}/configmaps/a"))["data"] == {"x": "1"}


async def test_health_is_current_once_the_controllers_are_done(real: Client, namespace: str) -> None:
    options, discovery = await terms(real, namespace), Discovery(real)
    desired = release(namespace, options, "d1", configmap("a", x="1"), WEB)
    async with asyncio.TaskGroup() as group, asyncio.timeout(60):
        background = Background(group)
        watches = Watches(real, discovery, Metrics(""), 75)
        tracker = HealthTracker(real, KindResolver(discovery), ObjectWatches(watches, background), background)
        applied = await started(real).reconcile(desired)
        tracker.track(applied.head, desired.rendered.objects, written=True)
        async for identity in tracker.changes():
            reports = tracker.reports(identity, applied.head.revision) or ()
            if reports and all(report.status == "Current" for report in reports):
                break
        background.stop()
    assert [report.name for report in reports] == [f"ConfigMap {namespace}/a", f"Deployment {namespace}/web"]


async def test_teardown_deletes_its_namespace_with_pods_and_leaves_claims(real: Client, namespace: str) -> None:
    """The Pods of its Deployments may still be ending: they do not keep the namespace."""
    options, own = await terms(real, namespace), f"{namespace}-own"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": own}}
    inside = WEB | {"metadata": {"name": "web", "namespace": own}}
    desired = replace(addon("d1", space, inside), namespace=namespace, options=options)
    await started(real).reconcile(desired)
    assert await started(real).removal.tear_down("demo", namespace, options) == ()
    assert not await exists(real, f"/api/v1/namespaces/{own}")
    assert not (await real.get(f"/api/v1/namespaces/{namespace}/secrets"))["items"]


async def test_claim_outlives_the_instance(real: Client, namespace: str) -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    claim["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    options = await terms(real, namespace)
    await started(real).reconcile(release(namespace, options, "d1", claim, configmap("a", x="1")))
    (kept,) = await started(real).removal.tear_down("demo", namespace, options)
    assert kept.object == f"{namespace}/PersistentVolumeClaim/data"
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/data"
    assert not (await real.get(path))["metadata"].get("ownerReferences")


async def test_helm_lists_the_release_and_its_rollback_is_noticed(
    real: Client, namespace: str, helm: Path, cluster: Cluster
) -> None:
    stock, options = Helm(helm, cluster, namespace), await terms(real, namespace)
    for number in (1, 2):
        await started(real).reconcile(release(namespace, options, f"d{number}", configmap("a", x=str(number))))
    assert [(row["name"], row["revision"], row["status"]) for row in await stock.json("list")] == [
        ("demo", "2", "deployed")
    ]
    assert [row["status"] for row in await stock.json("history", "demo")] == ["superseded", "deployed"]
    assert (await stock.json("status", "demo"))["version"] == 2
    assert "name: a\n" in await stock("get", "manifest", "demo")
    await stock("rollback", "demo", "1")
    releases: Releases = started(real)
    head = await releases.read_head("demo", namespace)
    assert head
    assert (head.revision, head.addon, head.digest) == (3, "demo", "")
    await releases.reconcile(release(namespace, options, "d2", configmap("a", x="2")))
    live = await real.get(f"/api/v1/namespaces/{namespace}/configmaps/a")
    assert (live["data"], live["metadata"]["labels"][ADDON]) == ({"x": "2"}, namespace)
