"""Clients of the sandbox that are slow, or many: what is held for them has a bound, and others are answered.

Level: sandbox."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson
import pytest

from kubesandbox.http import slow_clients
from kubesandbox.sandbox import CONNECTIONS
from kubesandbox.verbs import watching
from tests.flows.waiting import until
from tests.kubesandbox.conftest import Client

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
MIB = 1 << 20
LIST = 20


def large(name: str, text: str = "") -> dict[str, Any]:
    """A ConfigMap of nearly a MiB, which is the most."""
    return {"metadata": {"name": name}, "data": {"a": text + "x" * (MIB - 10)}}


class Crowd:
    """Clients that send something and read nothing."""

    def __init__(self, client: Client, stack: ExitStack) -> None:
        self._place = urlsplit(client.sandbox.url)
        self._stack = stack
        self._before = _descriptors()
        self.all: list[socket.socket] = []

    async def add(self, sent: bytes, times: int = 1) -> None:
        for _ in range(times):
            one = self._stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.setblocking(False)
            await asyncio.get_running_loop().sock_connect(one, (self._place.hostname, self._place.port))
            self.all.append(one)
            with contextlib.suppress(ConnectionError):
                await asyncio.get_running_loop().sock_sendall(one, sent)

    async def get(self, path: str, times: int = 1) -> None:
        await self.add(f"GET {path} HTTP/1.1\r\nHost: {self._place.netloc}\r\n\r\n".encode(), times)

    def cut(self) -> int:
        """How many the sandbox, which is in this process, has cut. They themselves see it when they read."""
        return 2 * len(self.all) - (_descriptors() - self._before)


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
async def crowd(client: Client) -> AsyncIterator[Crowd]:
    await client.send("GET", CONFIGMAPS)  # this connection stays
    with ExitStack() as stack:
        yield Crowd(client, stack)


@pytest.mark.slow
async def test_unread_lists_are_buffered_up_to_a_bound(client: Client, crowd: Crowd) -> None:
    """20 of 20 MB took 740 MB, and stayed."""
    for number in range(LIST):
        await client.create(CONFIGMAPS, large(f"a{number}"))
    await crowd.get(CONFIGMAPS, 20)
    await until(lambda: crowd.cut() >= 20 - slow_clients.MOST // (LIST * MIB), "the oldest are cut")
    answer = await client.send("GET", CONFIGMAPS)
    assert (answer.status, len(answer.body["items"])) == (200, LIST)


@pytest.mark.slow
async def test_unread_watches_are_buffered_up_to_a_bound(
    client: Client, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_clients, "MOST", slow_clients.MOST // 4)
    for number in range(8):  # more than sockets hold
        await client.create(CONFIGMAPS, large(f"a{number}"))
    many = 2 * slow_clients.MOST // MIB
    await crowd.get(f"{CONFIGMAPS}?watch=1", many)
    await until(lambda: crowd.cut() >= many - slow_clients.MOST // MIB, "the oldest are cut")
    assert (await client.send("GET", f"{CONFIGMAPS}/a0")).status == 200


@pytest.mark.slow
async def test_unfinished_bodies_are_buffered_up_to_a_bound(client: Client, crowd: Crowd) -> None:
    head = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {3 * MIB}\r\n\r\n"
    many = 60
    await crowd.add(head.encode() + b"x" * (3 * MIB - 1), many)
    await until(lambda: crowd.cut() >= many - slow_clients.MOST // (3 * MIB) - 1, "the oldest are cut")
    assert (await client.send("GET", CONFIGMAPS)).status == 200


@pytest.mark.slow
async def test_unfinished_heads_do_not_shut_out_others(client: Client, crowd: Crowd) -> None:
    await crowd.add(b"GET / HTTP/1.1\r\nX: ", CONNECTIONS + 50)
    await until(lambda: crowd.cut() >= 50, "the oldest are cut")
    assert (await client.send("GET", CONFIGMAPS)).status == 200
    assert crowd.cut() < 60


SLOW = {
    "a list": f"GET {CONFIGMAPS}",
    "a watch": f"GET {CONFIGMAPS}?watch=1",
    "a body": f"POST {CONFIGMAPS}",
}


@pytest.mark.parametrize("line", SLOW.values(), ids=SLOW)
async def test_a_client_slower_than_a_minute_is_disconnected(
    client: Client, crowd: Crowd, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    for number in range(8):  # more than sockets hold
        await client.create(CONFIGMAPS, large(f"a{number}"))
    with monkeypatch.context() as hurried:  # not for the client that reads
        hurried.setattr(slow_clients, "PATIENCE", 0.2)
        await crowd.add(f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n".encode())
        await until(lambda: crowd.cut() >= 1, "it is cut")
    assert (await client.send("GET", f"{CONFIGMAPS}/a0")).status == 200


async def test_a_watch_gets_many_large_changes_in_order(client: Client) -> None:
    """A few at a time, so that it keeps nothing that history has forgotten."""
    created = await client.create(CONFIGMAPS, large("a"))
    for number in range(5):
        assert (await client.send("PUT", f"{CONFIGMAPS}/a", large("a", str(number)))).status == 200
    assert 5 * MIB > 3 * watching.AT_ONCE
    since = created["metadata"]["resourceVersion"]
    path = f"{client.sandbox.url}{CONFIGMAPS}?watch=1&resourceVersion={since}"
    async with client.session.get(path, read_bufsize=2 * MIB) as response:  # each is a line
        events = [orjson.loads(await response.content.readline()) for _ in range(5)]
    assert [event["object"]["data"]["a"][0] for event in events] == ["0", "1", "2", "3", "4"]


@pytest.mark.slow
async def test_many_watches_at_once_all_get_events(client: Client) -> None:
    many = 500

    async def first(session: aiohttp.ClientSession) -> str:
        async with session.get(f"{client.sandbox.url}{CONFIGMAPS}?watch=1") as response:
            return str(orjson.loads(await response.content.readline())["object"]["metadata"]["name"])

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        watches = [asyncio.create_task(first(session)) for _ in range(many)]
        await until(lambda: client.sandbox.faults.watching() == many, "all watch")
        await client.create(CONFIGMAPS, {"metadata": {"name": "a"}})
        assert await asyncio.gather(*watches) == ["a"] * many
