"""Wanted objects against those of a real API server, which fills in defaults; values of Secrets on the sandbox.

Level: control plane."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from hookrunner.convergence.runs.diffs import Diffs
from hookrunner.errors import KubeError, ReleaseFailed
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.writes import ObjectRef, WriteOptions
from hookrunner.metrics.names import Metrics
from hookrunner.model.releases import NEVER_PRUNED, ObjectMarks, ReleaseOptions
from hookrunner.releases.manifest_applier import ManifestApplier
from hookrunner.releases.manifest_objects import MANAGER, KindResolver, ReleaseId, object_id, owned
from tests.controlplane.cluster import Cluster
from tests.fakes.second_writer import overtaken_client
from tests.fakes.transports import all_closed
from tests.kube.real import client_of
from tests.kube.server import api_server

FORCED = WriteOptions(MANAGER, force=True)


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with client_of(cluster.kubeconfig, Metrics("")) as client:
        yield client
    await all_closed()


def lease(**fields: str) -> Any:
    """A kind that no controller writes to between two requests."""
    spec = {"holderIdentity": "a", **fields}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "d"}, "spec": spec}


def deployment(image: str, **env: str) -> Any:
    container = {"name": "c", "image": image, "env": [{"name": k, "value": v} for k, v in env.items()]}
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "d"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def config(name: str, **data: str) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def claim(name: str) -> Any:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}, "storageClassName": "none"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def job(image: str) -> Any:
    pod = {"containers": [{"name": "c", "image": image}], "restartPolicy": "Never"}
    spec = {"suspend": True, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}


def changes(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")]


async def at_rest(client: Client, namespace: str) -> None:
    """Its controller, which annotates the Deployment, has seen it: between two looks nothing changes any more."""
    while True:
        found = await client.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/d")
        if found["status"].get("observedGeneration") == found["metadata"]["generation"]:
            return
        await asyncio.sleep(0.05)


async def test_only_fields_that_would_change_are_shown(client: Client, namespace: str) -> None:
    discovery, identity = Discovery(client), ReleaseId("d", namespace)
    diffs, applier = Diffs(client, discovery), ManifestApplier(client, KindResolver(discovery))
    first = [deployment("one:1", A="a", B="b"), config("x", a="1", b="2"), config("gone")]
    await applier.apply(first, identity, {}, ReleaseOptions())
    await at_rest(client, namespace)
    assert await diffs.of(identity, first, first) == "No diff found\n"

    second = [deployment("one:2", A="a"), config("x", a="1"), config("new", c="3")]
    shown = await diffs.of(identity, second, first)
    assert "--- live/" + f"{namespace}/ConfigMap/gone" in shown
    assert {"- b: '2'", "- image: one:1", "+ image: one:2", "- - name: B", "- value: b", "+ c: '3'"} <= {
        *changes(shown)
    }
    assert not any(word in shown for word in ("managedFields", "resourceVersion", "status:"))

    last = {object_id(obj, identity): obj for obj in first}
    await applier.apply(second, identity, last, ReleaseOptions())
    await applier.remove([object_id(first[2], identity)], identity)
    await at_rest(client, namespace)
    assert await diffs.of(identity, second, second) == "No diff found\n"
    assert changes(await diffs.of(identity, [second[0], config("x"), second[2]], second)) == ["-data:", "- a: '1'"]


async def test_what_the_release_of_an_addon_leaves_alone_is_no_difference(client: Client, namespace: str) -> None:
    discovery, identity = Discovery(client), ReleaseId("d", namespace)
    diffs, applier = Diffs(client, discovery), ManifestApplier(client, KindResolver(discovery))
    marks = ObjectMarks({"hookrunner.io/addon": "dns.default.x"})
    options = ReleaseOptions(marks=marks, respect_ignore=True, recreate_jobs=True, kept_kinds=NEVER_PRUNED)
    first = [config("ignored", a="1"), claim("kept"), job("one:1")]
    await applier.apply(first, identity, {}, options)
    ignored = {"metadata": {"annotations": {"addons.k8s.io/ignore": "yes"}}}
    ref = ObjectRef(await discovery.resolve("v1", "ConfigMap"), namespace, "ignored")
    await writes.merge_patch(client, ref, ignored)
    assert await diffs.of(identity, [config("ignored", a="2"), job("one:1")], first, options) == "No diff found\n"
    shown = changes(await diffs.of(identity, [job("two:1")], first, options))
    assert {"- image: one:1", "+ image: two:1"} <= {line.replace("- -", "-").replace("+ -", "+") for line in shown}


async def test_a_refused_object_is_named(client: Client, namespace: str) -> None:
    diffs, identity = Diffs(client, Discovery(client)), ReleaseId("d", namespace)
    with pytest.raises(KubeError, match=f"{namespace}/ConfigMap/Bad_Name: "):
        await diffs.of(identity, [config("Bad_Name")], [])


async def test_objects_without_a_namespace_or_kind_are_all_new(client: Client) -> None:
    strange = {"apiVersion": "example.com/v1", "kind": "Strange", "metadata": {"name": "s"}}
    shown = await Diffs(client, Discovery(client)).of(ReleaseId("d", "nowhere"), [strange, config("x", a="1")], [])
    assert {"+kind: Strange", "+ a: '1'"} <= {*changes(shown)}


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def secret(name: str, **texts: str) -> Any:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


def leaked(shown: str, *texts: str) -> list[str]:
    """The values that can be read from what is shown."""
    return [text for text in texts if text in shown or base64.b64encode(text.encode()).decode() in shown]


async def test_values_of_secrets_are_not_shown_but_where_they_differ() -> None:
    """Of one that changes, of one that is created and of one that is deleted."""
    identity, old, new = ReleaseId("d", "default"), "hunter22", "tr0ub4dor&3"
    deployed = [secret("changed", kept=old, changed=old), secret("deleted", a=old)]
    text = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "created"}, "stringData": {"a": new}}
    async with api_server() as api, overtaken_client(api.url) as client:
        for obj in deployed:
            api.put(obj | {"metadata": obj["metadata"] | {"namespace": "default"}})
        diffs = Diffs(client, Discovery(client))
        shown = await diffs.of(identity, [secret("changed", kept=old, changed=new), text], deployed)
        assert leaked(shown, old, new) == []
        assert {"- changed: '*** 12 bytes'", "+ changed: '*** 16 bytes (changed)'"} <= {*changes(shown)}
        assert "+ a: '*** 16 bytes (changed)'" not in changes(shown)
        assert not any("kept" in line for line in changes(shown))
        assert await diffs.of(identity, [secret("changed", kept=old, changed=old)], []) != ""


async def test_what_kubectl_has_noted_of_a_secret_is_not_shown() -> None:
    """`kubectl apply` keeps all that it has sent in an annotation."""
    identity, known = ReleaseId("d", "default"), secret("s", a="hunter22")
    noted = {"namespace": "default", "annotations": {LAST_APPLIED: orjson.dumps(known).decode()}}
    async with api_server() as api, overtaken_client(api.url) as client:
        api.put(known | {"metadata": known["metadata"] | noted})
        diffs = Diffs(client, Discovery(client))
        for wanted in ([], [secret("s", a="other")], [secret("s", a="hunter22", b="other")]):
            assert leaked(await diffs.of(identity, wanted, [known]), "hunter22", "other") == []


async def test_unknown_field_of_a_template_is_no_difference_and_of_a_patch_an_error(
    client: Client, namespace: str
) -> None:
    discovery, identity = Discovery(client), ReleaseId("d", namespace)
    diffs, good, wrong = Diffs(client, discovery), lease(), lease(holderidentity="b")
    resource = await discovery.resolve("coordination.k8s.io/v1", "Lease")
    await writes.apply(client, ObjectRef(resource, namespace, "d"), owned(good, resource, identity), FORCED)
    assert changes(await diffs.of(identity, [wrong], [good])) == []
    patched = ReleaseOptions(unpatched={("coordination.k8s.io", "Lease", namespace, "d"): good})
    with pytest.raises(ReleaseFailed, match="a patch sets"):
        await diffs.of(identity, [wrong], [good], patched)
