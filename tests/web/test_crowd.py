"""More connections than a port accepts, and which of them is closed. Level: pure."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from aiohttp import web

from hookrunner.web import listen
from tests.web.test_listen import reading

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Held:
    """A page that counts its requests and can be paused."""

    def __init__(self) -> None:
        self.asked = asyncio.Semaphore(0)
        self.going_on = asyncio.Event()
        self.app = web.Application()
        self.app.router.add_get("/", self._answer)

    async def _answer(self, _request: web.Request) -> web.Response:
        self.asked.release()
        await self.going_on.wait()
        return web.Response(text="hello")


async def test_longest_idle_connection_gives_way() -> None:
    page, sock = Held(), listen.on_port("127.0.0.1", 0, "--listen-port")
    page.going_on.set()
    async with asyncio.timeout(60), listen.serve(page.app, sock, most=2), AsyncExitStack() as stack:
        first, asks = await stack.enter_async_context(reading(sock))
        second, _ = await stack.enter_async_context(reading(sock))
        asks.write(ASK)
        await first.readuntil(b"hello")
        third, writes = await stack.enter_async_context(reading(sock))
        assert await second.read() == b""
        for reader, writer in ((first, asks), (third, writes)):
            writer.write(ASK)
            await reader.readuntil(b"hello")


@pytest.mark.slow
async def test_connection_that_waits_for_its_answer_stays() -> None:
    page, sock = Held(), listen.on_port("127.0.0.1", 0, "--listen-port")
    async with asyncio.timeout(60), listen.serve(page.app, sock, most=2), AsyncExitStack() as stack:
        waiting, asks = await stack.enter_async_context(reading(sock))
        asks.write(ASK)
        await page.asked.acquire()
        for _ in range(300):
            await stack.enter_async_context(reading(sock))
        page.going_on.set()
        await waiting.readuntil(b"hello")


async def test_oldest_waiting_connection_gives_way_to_the_newest() -> None:
    """As a probe among clients that do not take their answers."""
    page, sock = Held(), listen.on_port("127.0.0.1", 0, "--listen-port")
    async with asyncio.timeout(60), listen.serve(page.app, sock, most=2), AsyncExitStack() as stack:
        connections = []
        for _ in range(3):
            reader, writer = await stack.enter_async_context(reading(sock))
            writer.write(ASK)
            await page.asked.acquire()
            connections.append(reader)
        assert await connections[0].read() == b""
        page.going_on.set()
        for reader in connections[1:]:
            await reader.readuntil(b"hello")
