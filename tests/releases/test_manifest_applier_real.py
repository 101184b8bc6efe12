"""Objects of a release in a real cluster: what only the API server's own rules for managed fields and rights show.

Level: control plane."""

import asyncio
import copy
from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.kind_schemas import read_schema
from hookrunner.metrics.names import Metrics
from hookrunner.model.releases import ReleaseOptions
from hookrunner.releases.crds import Crds
from hookrunner.releases.manifest_applier import Counts, ManifestApplier
from hookrunner.releases.manifest_objects import KindResolver, ObjectId, ReleaseId, object_id
from tests.controlplane.cluster import Cluster
from tests.kube.real import client_of
from tests.releases.test_crds import thing_definition

OPTIONS = ReleaseOptions()
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APP = {"app": "x"}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def pod(**more: Any) -> Any:
    env = [{"name": "A", "value": "1"}]
    return {"containers": [{"name": "a", "image": "i", "ports": [{"containerPort": 80}], "env": env}]} | more


def template() -> Any:
    return {"metadata": {"labels": APP}, "spec": pod()}


def deployment(**more: Any) -> Any:
    return {"selector": {"matchLabels": APP}, "template": template()} | more


def webhook(name: str) -> Any:
    rule = {"apiGroups": [f"{name}.io"], "apiVersions": ["v1"], "resources": ["zs"], "operations": ["CREATE"]}
    client = {"clientConfig": {"url": "https://x.y/z"}, "admissionReviewVersions": ["v1"], "sideEffects": "None"}
    return [{"name": "a.b.c", "rules": [rule], **client}]


def chart(namespace: str) -> list[Any]:
    """One object of each kind that charts usually have, as small as they can be."""
    rule = {
        "http": {
            "paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "x", "port": {"number": 1}}}}]
        }
    }
    job = {"template": {"spec": pod(restartPolicy="Never")}}
    scaled = {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}}
    claims = [{"metadata": {"name": "v"}, "spec": CLAIM}]
    rbac = "rbac.authorization.k8s.io"
    role = {"kind": "ClusterRole", "name": namespace, "apiGroup": rbac}
    subjects = [{"kind": "ServiceAccount", "name": "x", "namespace": namespace}]
    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("v1", "ConfigMap", {"data": {"a": "b"}}),
        ("v1", "Secret", {"stringData": {"a": "b"}}),
        ("v1", "ServiceAccount", {}),
        ("v1", "LimitRange", {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}}),
        ("v1", "Pod", {"spec": pod(nodeName="nowhere")}),
        ("v1", "Service", {"spec": {"type": "NodePort", "selector": APP, "ports": [{"port": 80}]}}),
        ("v1", "PersistentVolumeClaim", {"spec": CLAIM}),
        ("apps/v1", "Deployment", {"spec": deployment()}),
        ("apps/v1", "DaemonSet", {"spec": deployment()}),
        ("apps/v1", "StatefulSet", {"spec": deployment(volumeClaimTemplates=claims)}),
        ("batch/v1", "Job", {"spec": job}),
        ("batch/v1", "CronJob", {"spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job}}}),
        ("networking.k8s.io/v1", "Ingress", {"spec": {"rules": [rule]}}),
        ("networking.k8s.io/v1", "NetworkPolicy", {"spec": {"podSelector": {}}}),
        ("autoscaling/v2", "HorizontalPodAutoscaler", {"spec": scaled}),
        ("policy/v1", "PodDisruptionBudget", {"spec": {"minAvailable": 1, "selector": {"matchLabels": APP}}}),
        (f"{rbac}/v1", "ClusterRole", {"rules": []}),
        (f"{rbac}/v1", "RoleBinding", {"roleRef": role, "subjects": subjects}),
        ("scheduling.k8s.io/v1", "PriorityClass", {"value": 100}),
        ("storage.k8s.io/v1", "StorageClass", {"provisioner": "x.y/z"}),
        ("networking.k8s.io/v1", "IngressClass", {"spec": {"controller": "x.y/z"}}),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", {"webhooks": webhook(namespace)}),
    ]  # fmt: skip
    return [
        {"apiVersion": api, "kind": kind, "metadata": {"name": namespace, "labels": {"old": "1"}}} | body
        for api, kind, body in rows
    ]


def by_id(*objects: Any, identity: ReleaseId) -> dict[ObjectId, Any]:
    return {object_id(obj, identity): obj for obj in objects}


async def seen(client: Client, objects: list[Any], namespace: str) -> list[Any]:
    kinds = KindResolver(Discovery(client))
    found = []
    for obj in objects:
        resource = await kinds.resolve(obj["apiVersion"], obj["kind"])
        found.append(await client.get(resource.path(namespace, obj["metadata"]["name"])))
    return found


def essence(obj: Any) -> Any:
    """What must not change with a label: spec and the like, and with them the generation, so that no pod restarts."""
    rest = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    return rest, obj["metadata"].get("generation")


@pytest.fixture
def applier(real: Client) -> ManifestApplier:
    return ManifestApplier(real, KindResolver(Discovery(real)))


async def test_a_label_changes_on_every_kind_and_nothing_else(
    real: Client, applier: ManifestApplier, namespace: str
) -> None:
    old, release = chart(namespace), ReleaseId("r", namespace)
    last = by_id(*old, identity=release)
    try:
        assert await applier.apply(old, release, {}, OPTIONS) == Counts(created=len(old))
        before = await seen(real, old, namespace)
        new = copy.deepcopy(old)
        for obj in new:
            obj["metadata"]["labels"] = {"new": "1"}
        assert await applier.apply(new, release, last, OPTIONS) == Counts(changed=len(old))
        after = await seen(real, new, namespace)
        assert [essence(obj) for obj in after] == [essence(obj) for obj in before]
        labels = {"new": "1", "app.kubernetes.io/managed-by": "Helm"}
        assert [obj["metadata"]["labels"] for obj in after if obj["metadata"]["labels"] != labels] == []
        again = by_id(*new, identity=release)
        async with asyncio.timeout(60):  # what a controller writes to a status just then counts as changed
            while await applier.apply(new, release, again, OPTIONS, repair=again) != Counts(unchanged=len(old)):
                pass
    finally:
        removed = await applier.remove(last, release)
    assert len(removed) == len(old)


async def test_a_number_of_replicas_that_the_chart_leaves_open_stays(
    cluster: Cluster, real: Client, applier: ManifestApplier, namespace: str
) -> None:
    release = ReleaseId("r", namespace)
    metadata = {"name": "d"}
    old = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": deployment()}
    await applier.apply([old], release, {}, OPTIONS)
    await asyncio.to_thread(cluster.kubectl, "-n", namespace, "scale", "deployment", "d", "--replicas=3")
    new = copy.deepcopy(old)
    new["spec"]["minReadySeconds"] = 1
    assert await applier.apply([new], release, by_id(old, identity=release), OPTIONS) == Counts(changed=1)
    (found,) = await seen(real, [new], namespace)
    assert (found["spec"]["replicas"], found["spec"]["minReadySeconds"]) == (3, 1)


async def test_a_chart_with_faults_that_a_creation_passes_over_can_be_changed(
    real: Client, applier: ManifestApplier, namespace: str
) -> None:
    release = ReleaseId("r", namespace)
    old = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": deployment(unknown=1)}
    old["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": "A", "value": "1"})
    await applier.apply([old], release, {}, OPTIONS)
    new = copy.deepcopy(old)
    new["spec"]["template"]["spec"]["containers"][0]["env"][1]["value"] = "2"
    assert await applier.apply([new], release, by_id(old, identity=release), OPTIONS) == Counts(changed=1)
    (found,) = await seen(real, [new], namespace)
    assert found["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "2"}]


async def test_missing_right_is_reported_and_other_objects_are_written(
    cluster: Cluster, real: Client, namespace: str
) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps", "services"], "verbs": ["*"]}]
    user = await asyncio.to_thread(cluster.user, "limited", namespace, rules)
    names = ("ConfigMap", "Secret", "Service")
    objects = [obj for obj in chart(namespace) if obj["kind"] in names]
    async with client_of(user.kubeconfig, Metrics("")) as client:
        applier = ManifestApplier(client, KindResolver(Discovery(client)))
        with pytest.raises(ReleaseFailed, match=r"Secret/\S+: no right to keep secrets.*\n.*not tried yet: 1"):
            await applier.apply(objects, ReleaseId("r", namespace), {}, OPTIONS)
    counts = await ManifestApplier(real, KindResolver(Discovery(real))).apply(
        objects, ReleaseId("r", namespace), {}, OPTIONS
    )
    assert (counts.created, counts.changed + counts.unchanged) == (2, 1)


def app(**more: Any) -> Any:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": deployment(**more)}


@pytest.mark.parametrize("is_installed", [False, True])
async def test_what_a_patch_must_not_set_is_the_fault_of_its_object(
    applier: ManifestApplier, namespace: str, is_installed: bool
) -> None:
    release, good = ReleaseId("r", namespace), app()
    last = by_id(good, identity=release) if is_installed else {}
    await applier.apply([good] * is_installed, release, {}, OPTIONS)
    options = ReleaseOptions(unpatched={("apps", "Deployment", namespace, "d"): good})
    limits = {"limits": {"memory": "300MiB"}}
    for bad, text in ((app(repicas=2), "did you mean 'replicas'"), (app(template=limited(limits)), "quantities")):
        with pytest.raises(ReleaseFailed, match=text) as caught:
            await applier.apply([bad], release, last, options)
        assert caught.value.invalid == (f"{namespace}/Deployment/d",)


def limited(resources: Any) -> Any:
    container = {"name": "a", "image": "i", "resources": resources}
    return template() | {"spec": {"containers": [container]}}


async def test_unknown_fields_of_a_template_are_reported(applier: ManifestApplier, namespace: str) -> None:
    release, wrong = ReleaseId("r", namespace), app(repicas=2)
    await applier.apply([wrong], release, {}, OPTIONS)
    expected = {f"{namespace}/Deployment/d": ".spec.repicas (did you mean 'replicas'?)"}
    assert applier.notes.pop(release).faults == expected
    await applier.apply(
        [wrong | {"spec": deployment(repicas=2, replicas=0)}], release, by_id(wrong, identity=release), OPTIONS
    )
    assert applier.notes.pop(release).faults == expected


async def test_misspelt_field_of_a_custom_kind_is_named_with_the_nearest(
    applier: ManifestApplier, real: Client, namespace: str
) -> None:
    """The API server publishes the schema of a new kind a moment after it serves the kind itself."""
    group = f"{namespace}.x.io"
    spec = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    schema: Any = {"x-kubernetes-preserve-unknown-fields": None, "properties": {"spec": spec}}
    kind = thing_definition("v1", **schema)
    kind["metadata"]["name"], kind["spec"]["group"] = f"things.{group}", group
    await Crds(real, KindResolver(Discovery(real))).ensure([kind], {})
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"repicas": 2}}
    options = ReleaseOptions(unpatched={(group, "Thing", namespace, "t"): thing | {"spec": {}}})
    try:
        await until_published(real, f"{group}/v1")
        with pytest.raises(
            ReleaseFailed, match=r"a Thing does not have: \.spec\.repicas \(did you mean 'replicas'\?\)"
        ):
            await applier.apply([thing], ReleaseId("r", namespace), {}, options)
    finally:
        await real.send(ApiCall("DELETE", f"{DEFINITIONS}/things.{group}"))


async def until_published(client: Client, api_version: str) -> None:
    for _ in range(600):
        if await read_schema(client, api_version, "Thing"):
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(f"{api_version} was not published")
