"""The fault proxy in front of the real API server: each fault does what it says, and only where it matches.

Level: control plane."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.controlplane.cluster import Cluster, OwnCluster
from tests.controlplane.kubeconfig import read_kubeconfig
from tests.faults.proxy import Proxy


@pytest.fixture
async def client(proxy: Proxy) -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client that goes through the proxy as admin; each connection is used once."""
    async with client_of(proxy.kubeconfig) as session:
        yield session


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[aiohttp.ClientSession]:
    access = read_kubeconfig(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=str(access.ca)), force_close=True)
    headers = {"Authorization": f"Bearer {access.token}"}
    async with aiohttp.ClientSession(access.url, connector=connector, headers=headers) as session:
        yield session


async def get(client: aiohttp.ClientSession, path: str) -> aiohttp.ClientResponse:
    """Return a whole answer; its connection is closed."""
    async with client.get(path) as response:
        await response.read()
        return response


@pytest.fixture
def configmaps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


@asynccontextmanager
async def watching(client: aiohttp.ClientSession, path: str) -> AsyncIterator[aiohttp.StreamReader]:
    """An open watch from now on, as a stream of lines."""
    version = (await (await get(client, path)).json())["metadata"]["resourceVersion"]
    async with client.get(path, params={"watch": "1", "resourceVersion": version}) as response:
        yield response.content


async def event(lines: aiohttp.StreamReader) -> tuple[str, str]:
    """Return the next event's type and its object's name."""
    seen = json.loads(await lines.readline())
    return seen["type"], seen["object"]["metadata"].get("name", "")


async def create(cluster: Cluster, path: str, name: str, **fields: Any) -> None:
    await asyncio.to_thread(cluster.create, path, {"metadata": {"name": name}, **fields})


async def test_kubectl_works_through_the_proxy(cluster: Cluster, proxy: Proxy, namespace: str) -> None:
    literal = "--from-literal=a=1"
    for verb in (["create", "configmap", "cm", literal], ["get", "cm", "cm", "-o", "name"], ["delete", "cm", "cm"]):
        await asyncio.to_thread(cluster.kubectl, *verb, "-n", namespace, kubeconfig=proxy.kubeconfig)
    methods = [request.method for request in proxy.requests if request.path.startswith("/api/v1/namespaces/")]
    assert methods[:3] == ["POST", "GET", "DELETE"]


async def test_requests_of_a_user_keep_its_rights(cluster: Cluster, proxy: Proxy, namespace: str) -> None:
    user = await asyncio.to_thread(cluster.user, "powerless", namespace)
    async with client_of(proxy.kubeconfig_with(user.token)) as client:
        assert (await get(client, f"/api/v1/namespaces/{namespace}/pods")).status == 403


async def test_requests_are_remembered(proxy: Proxy, client: aiohttp.ClientSession) -> None:
    await get(client, "/api/v1/pods?limit=1")
    (seen,) = await proxy.seen("GET pods limit=1")
    assert (seen.method, seen.path, seen.query) == ("GET", "/api/v1/pods", {"limit": "1"})
    assert seen.line == "GET /api/v1/pods?limit=1"


async def test_a_large_answer_arrives_unchanged(
    cluster: Cluster, proxy: Proxy, client: aiohttp.ClientSession, configmaps: str
) -> None:
    await create(cluster, configmaps, "large", data={"a": "x" * 900_000})
    listed = await (await get(client, configmaps)).json()
    assert listed["items"][0]["data"]["a"] == "x" * 900_000


async def test_a_stalled_watch_is_silent_and_others_go_on(
    cluster: Cluster, proxy: Proxy, client: aiohttp.ClientSession, configmaps: str
) -> None:
    async with watching(client, configmaps) as lines:
        await create(cluster, configmaps, "before")
        assert await event(lines) == ("ADDED", "before")
        proxy.stall("watch=")
        await create(cluster, configmaps, "during")
        next_event = asyncio.create_task(event(lines))
        assert (await get(client, configmaps)).status == 200
        assert not next_event.done()
        proxy.resume()
        assert await next_event == ("ADDED", "during")


async def test_a_new_request_is_stalled_too(proxy: Proxy, client: aiohttp.ClientSession) -> None:
    proxy.stall()
    answer = asyncio.create_task(get(client, "/version"))
    await proxy.seen("/version")
    assert not answer.done()
    proxy.resume()
    assert (await answer).status == 200


async def test_cutting_resets_only_matching_connections(
    cluster: Cluster, proxy: Proxy, client: aiohttp.ClientSession, configmaps: str
) -> None:
    secrets = configmaps.replace("configmaps", "secrets")
    async with watching(client, configmaps) as cut, watching(client, secrets) as kept:
        assert proxy.cut("configmaps watch=") == 1
        with pytest.raises(aiohttp.ClientError):
            await cut.readline()
        await create(cluster, secrets, "a")
        assert await event(kept) == ("ADDED", "a")


async def test_cutting_everything_resets_idle_connections_too(proxy: Proxy) -> None:
    access = read_kubeconfig(proxy.kubeconfig)
    trust = ssl.create_default_context(cafile=str(access.ca))
    reader, writer = await asyncio.open_connection("127.0.0.1", int(access.url.rsplit(":")[-1]), ssl=trust)
    writer.write(b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n")
    await reader.readline()
    assert proxy.cut() == 1
    with pytest.raises(ConnectionResetError):
        await reader.read(-1)
    writer.close()


async def test_a_stalled_watch_can_be_cut(proxy: Proxy, client: aiohttp.ClientSession, configmaps: str) -> None:
    async with watching(client, configmaps) as lines:
        proxy.stall()
        assert proxy.cut("watch=") == 1
        with pytest.raises(aiohttp.ClientError):
            await lines.readline()


async def test_refused_connections_leave_open_ones_alone(
    cluster: Cluster, proxy: Proxy, client: aiohttp.ClientSession, configmaps: str
) -> None:
    async with watching(client, configmaps) as lines:
        await proxy.refuse()
        with pytest.raises(aiohttp.ClientConnectorError):
            await get(client, "/version")
        await create(cluster, configmaps, "a")
        assert await event(lines) == ("ADDED", "a")
        await proxy.accept()
        assert (await get(client, "/version")).status == 200


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "Unauthorized"), (429, "TooManyRequests"), (503, "ServiceUnavailable")]
)
async def test_the_next_requests_get_the_injected_answer(
    proxy: Proxy, client: aiohttp.ClientSession, status: int, reason: str
) -> None:
    proxy.answer(status, "GET /version", times=2, retry_after=7)
    answers = [await get(client, path) for path in ("/version", "/api", "/version", "/version")]
    assert [answer.status for answer in answers] == [status, 200, status, 200]
    body = await answers[0].json()
    assert (answers[0].headers["Retry-After"], body["code"], body["reason"]) == ("7", status, reason)


async def test_one_request_of_two_gets_the_injected_answer(proxy: Proxy, client: aiohttp.ClientSession) -> None:
    proxy.answer(503, "GET /version", times=2, every=2)
    assert [(await get(client, "/version")).status for _ in range(5)] == [503, 200, 503, 200, 200]


@pytest.mark.parametrize("forwarded", [True, False])
async def test_a_lost_answer_is_that_of_a_request_that_arrived_or_did_not(
    cluster: Cluster, proxy: Proxy, client: aiohttp.ClientSession, configmaps: str, forwarded: bool
) -> None:
    proxy.lose("POST configmaps", forwarded=forwarded)
    with pytest.raises(aiohttp.ClientError):
        await client.post(configmaps, json={"metadata": {"name": "a"}})
    assert (await get(client, f"{configmaps}/a")).status == (200 if forwarded else 404)


async def test_a_delay_makes_request_and_answer_late(proxy: Proxy, client: aiohttp.ClientSession) -> None:
    clock = asyncio.get_running_loop().time
    proxy.delay(0.2, "/version")
    started = clock()
    await get(client, "/version")
    assert clock() - started >= 0.4


async def test_an_injected_410_stands_between_real_events(
    cluster: Cluster, proxy: Proxy, client: aiohttp.ClientSession, configmaps: str
) -> None:
    async with watching(client, configmaps) as lines:
        await proxy.streaming(f"{configmaps} watch=")
        await create(cluster, configmaps, "a")
        assert await event(lines) == ("ADDED", "a")
        assert await proxy.expire(configmaps) == 1
        injected = json.loads(await lines.readline())
        assert (injected["type"], injected["object"]["code"]) == ("ERROR", 410)
        await create(cluster, configmaps, "b")
        assert await event(lines) == ("ADDED", "b")


async def test_a_client_that_leaves_ends_its_watch_at_the_api_server(
    proxy: Proxy, client: aiohttp.ClientSession, configmaps: str
) -> None:
    async with watching(client, configmaps):
        await proxy.streaming(configmaps)
    await proxy.ended(configmaps)
    assert await proxy.inject({}, configmaps) == 0


@pytest.mark.nightly
async def test_a_dead_api_server_looks_like_a_broken_connection(own_cluster: OwnCluster, tmp_path: Path) -> None:
    async with Proxy(own_cluster.access, tmp_path) as proxy, client_of(proxy.kubeconfig) as client:
        async with watching(client, "/api/v1/secrets") as lines:
            own_cluster.stop_apiserver()
            with pytest.raises(aiohttp.ClientError):
                await lines.readline()
        with pytest.raises(aiohttp.ClientError):
            await get(client, "/version")
        await asyncio.to_thread(own_cluster.start_apiserver)
        assert (await get(client, "/version")).status == 200
