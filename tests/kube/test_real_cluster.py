"""The room against the real API server, some of it through the fault proxy: the sandbox only imitates this.

Level: control plane."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookrunner.errors import Denied, KubeError, UnknownKind
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.events import ObjectSeen, Report
from hookrunner.model.resources import Selection
from hookrunner.settings import KubeSettings
from tests.controlplane.cluster import Cluster
from tests.faults.proxy import Proxy
from tests.kube.real import client_of
from tests.kube.report_words import Batches, until

PATIENCE = 60


@pytest.fixture
async def direct(cluster: Cluster, metrics: Metrics) -> AsyncIterator[Client]:
    async with client_of(cluster.kubeconfig, metrics) as client:
        yield client


@pytest.fixture
async def proxied(proxy: Proxy, metrics: Metrics) -> AsyncIterator[Client]:
    async with client_of(proxy.kubeconfig, metrics) as client:
        yield client


def watches_on(client: Client, metrics: Metrics, idle: float = 75) -> Watches:
    return Watches(client, Discovery(client), metrics, idle)


async def hear(batches: Batches, last: str) -> list[str]:
    """Without what the control plane puts into every namespace at some time."""
    return [word for word in await until(batches, last, PATIENCE) if not word.endswith("kube-root-ca.crt")]


async def hear_events(batches: Batches, last: str) -> list[str]:
    """Without losses, which on a busy machine may last long enough to be reported."""
    return [word for word in await hear(batches, last) if not word.startswith(("WatchLost", "WatchRestored"))]


POD = {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}


class Thing:
    """Objects of one kind in a namespace, changed directly."""

    def __init__(self, client: Client, namespace: str, plural: str = "configmaps") -> None:
        self.path = f"/api/v1/namespaces/{namespace}/{plural}"
        self.client = client

    async def create(self, name: str, **more: Any) -> Any:
        body = {"metadata": {"name": name} | more} | (POD if self.path.endswith("podtemplates") else {})
        return await self.client.send(ApiCall("POST", self.path, body=body))

    async def label(self, name: str, **labels: str) -> None:
        body = {"metadata": {"labels": labels}}
        await self.client.send(ApiCall("PATCH", f"{self.path}/{name}", {}, body, "application/merge-patch+json"))

    async def delete(self, name: str) -> None:
        await self.client.send(ApiCall("DELETE", f"{self.path}/{name}"))


@pytest.fixture
def maps(direct: Client, namespace: str) -> Thing:
    return Thing(direct, namespace)


@pytest.fixture
def templates(direct: Client, namespace: str) -> Thing:
    """PodTemplates: the test bed gives them no watch cache, so their versions can expire at once."""
    return Thing(direct, namespace, "podtemplates")


@pytest.mark.parametrize(("plural", "only"), [("configmaps", False), ("podtemplates", False), ("podtemplates", True)])
async def test_real_server_reports_the_list_and_changes(
    direct: Client, metrics: Metrics, namespace: str, plural: str, only: bool
) -> None:
    thing = Thing(direct, namespace, plural)
    for name in "abc":
        await thing.create(name)
    selection = Selection("v1", plural, namespace, metadata_only=only)
    async with aclosing(watches_on(direct, metrics).open(selection)) as batches:
        assert sorted(await hear(batches, "Synced")) == ["RelistStarted", "Synced", "a", "b", "c"]
        await thing.create("d")
        await thing.label("a", color="red")
        await thing.delete("b")
        assert await hear(batches, "Deleted") == ["Added d", "Modified a", "Deleted b"]


async def test_a_server_without_streamed_lists_is_listed_in_pages(
    proxy: Proxy, proxied: Client, metrics: Metrics, maps: Thing, namespace: str
) -> None:
    proxy.answer(422, "sendInitialEvents")
    turns = asyncio.Semaphore(16)

    async def create(number: int) -> None:
        async with turns:
            await maps.create(f"m{number}")

    await asyncio.gather(*map(create, range(510)))
    async with aclosing(watches_on(proxied, metrics).open(Selection("v1", "ConfigMap", namespace))) as batches:
        assert len(await hear(batches, "Synced")) == 512
        await maps.delete("m7")
        assert await hear(batches, "Deleted") == ["Deleted m7"]
    assert len(await proxy.seen("configmaps limit=500")) == 2


@pytest.mark.parametrize("streams", [True, False])
async def test_listed_objects_are_as_those_that_are_read(
    proxy: Proxy, proxied: Client, metrics: Metrics, maps: Thing, namespace: str, streams: bool
) -> None:
    if not streams:
        proxy.answer(422, "sendInitialEvents")
    await maps.create("a", labels={"color": "red"})
    selection = Selection("v1", "ConfigMap", namespace, fields="metadata.name=a")
    item: Report | None = None
    async with asyncio.timeout(PATIENCE), aclosing(watches_on(proxied, metrics).open(selection)) as batches:
        while not isinstance(item, ObjectSeen):
            item = next((report for report in await anext(batches) if isinstance(report, ObjectSeen)), None)
    assert item.obj == await proxied.get(f"{maps.path}/a")


async def test_stalled_watch_is_resumed_on_a_real_server(
    proxy: Proxy, proxied: Client, metrics: Metrics, maps: Thing, namespace: str
) -> None:
    """The proxy keeps the connection open and acknowledges, but forwards nothing."""
    async with aclosing(watches_on(proxied, metrics, idle=2).open(Selection("v1", "cm", namespace))) as batches:
        await hear(batches, "Synced")
        await maps.create("before")
        await hear(batches, "Added before")
        proxy.stall("watch=")
        proxy.requests.clear()
        for name in "abcde":
            await maps.create(name)
        hearing = asyncio.ensure_future(hear_events(batches, "Added e"))
        await proxy.seen("watch= resourceVersion")
        proxy.resume()
        assert await hearing == [f"Added {name}" for name in "abcde"]
    assert b'kubernetes_watch_stalls_total{gvr="v1/configmaps"' in metrics.exposition()


async def test_expired_version_costs_one_list(
    cluster: Cluster, proxy: Proxy, proxied: Client, metrics: Metrics, templates: Thing, namespace: str
) -> None:
    """While disconnected: a creation, a change, a deletion; then a real compaction of etcd."""
    for name in ("changed", "deleted", "same"):
        await templates.create(name)
    async with aclosing(watches_on(proxied, metrics).open(Selection("v1", "PodTemplate", namespace))) as batches:
        await hear(batches, "Synced")
        await proxy.refuse()
        proxy.cut()
        await templates.create("new")
        await templates.label("changed", color="red")
        await templates.delete("deleted")
        await asyncio.to_thread(cluster.compact)
        proxy.requests.clear()
        await proxy.accept()
        reports = await hear_events(batches, "Synced")
    assert sorted(reports) == ["RelistStarted", "Synced", "changed", "new", "same"]
    lists = [request for request in proxy.requests if "sendInitialEvents" in str(request) or "limit=" in str(request)]
    assert 1 <= len(lists) <= 2


async def test_resumed_watch_reports_nothing_twice(
    proxy: Proxy, proxied: Client, metrics: Metrics, maps: Thing, namespace: str
) -> None:
    for name in ("z-old", "a-young"):
        await maps.create(name)
    await maps.label("a-young", color="red")
    async with aclosing(watches_on(proxied, metrics).open(Selection("v1", "ConfigMap", namespace))) as batches:
        await hear(batches, "Synced")
        await proxy.streaming("watch=")
        proxy.cut("watch=")
        await maps.create("next")
        assert await hear_events(batches, "Added next") == ["Added next"]


async def test_missing_rights_are_reported_and_their_arrival_is_noticed(
    cluster: Cluster, direct: Client, metrics: Metrics, namespace: str
) -> None:
    user = await asyncio.to_thread(cluster.user, "reader", namespace)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_of(user.kubeconfig, metrics))
        watches = watches_on(client, metrics)
        batches = await stack.enter_async_context(aclosing(watches.open(Selection("v1", "ConfigMap", namespace))))
        # On a busy machine it may not be the first loss: no answer in time, or a token that is not known yet.
        rule = '{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}'
        await until(batches, f"WatchLost: no right to list and watch configmaps: add {rule}", PATIENCE)
        await grant(direct, namespace)
        assert (await until(batches, "Synced", PATIENCE))[-2:] == ["Synced", "WatchRestored"]


async def grant(client: Client, namespace: str) -> None:
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]
    await client.send(ApiCall("POST", f"{rbac}/roles", body={"metadata": {"name": "r"}, "rules": rules}))
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subjects = [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}]
    body = {"metadata": {"name": "r"}, "roleRef": role, "subjects": subjects}
    await client.send(ApiCall("POST", f"{rbac}/rolebindings", body=body))


@pytest.mark.parametrize(
    ("api_version", "kind", "found"),
    [
        ("", "deploy", "apps/v1 Deployment"),
        ("", "Daemonset", "apps/v1 DaemonSet"),
        ("", "hpa", "autoscaling/v2 HorizontalPodAutoscaler"),
        ("autoscaling/v1", "hpa", "autoscaling/v1 HorizontalPodAutoscaler"),
        ("", "events", "v1 Event"),
        ("", "crd", "apiextensions.k8s.io/v1 CustomResourceDefinition"),
        ("v1", "po", "v1 Pod"),
    ],
)
async def test_kinds_of_a_real_server_are_resolved(direct: Client, api_version: str, kind: str, found: str) -> None:
    resource = await Discovery(direct).resolve(api_version, kind)
    assert f"{resource.api_version} {resource.kind}" == found


async def test_kind_that_no_real_server_has_is_refused_with_a_hint(direct: Client) -> None:
    with pytest.raises(UnknownKind, match="'Flux' in any preferred apiVersion"):
        await Discovery(direct).resolve("", "Flux")


async def test_removed_version_is_reported_with_versions_of_a_real_server(direct: Client) -> None:
    with pytest.raises(UnknownKind, match=r"apiVersion 'extensions/v1beta1': DaemonSet is served as apps/v1$"):
        await Discovery(direct).resolve("extensions/v1beta1", "DaemonSet")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"authorization": "Bearer nonsense"},
            Denied,
            "does not accept the credentials of kubeconfig 'x', user 'me' (token): ",
        ),
        ({"ca": ""}, KubeError, "is certificate-authority the CA of this server? (kubeconfig 'x')"),
        ({"tls_server_name": "other.example.com"}, KubeError, "set tls-server-name (kubeconfig 'x')"),
        (
            {"server": "https://127.0.0.1:1"},
            KubeError,
            "https://127.0.0.1:1: Cannot connect: Connection refused (kubeconfig 'x')",
        ),
    ],
)
async def test_refused_credentials_are_reported_with_their_origin_and_advice(
    cluster: Cluster, metrics: Metrics, tmp_path: Path, change: dict[str, Any], error: type[KubeError], message: str
) -> None:
    token = f"Bearer {cluster.token}"
    ours = Connection(cluster.url, cluster.ca.read_text(), authorization=token, origin="kubeconfig 'x'", user="me")
    connection = replace(ours, means="token", **change)
    credentials = Credentials(KubeSettings(config=tmp_path / "missing"), connection)
    async with Client(credentials, Requests(metrics)) as client:
        with pytest.raises(error) as caught:
            await client.get("/api/v1/namespaces")
    assert message in str(caught.value)
