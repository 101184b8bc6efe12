"""What connections cost that show no token yet: every user of the machine may open some. Level: sandbox."""

import asyncio
import gc
import tracemalloc
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import pytest

from kubesandbox.http import tls
from kubesandbox.sandbox import Options, Sandbox, serving

GUARDED = Options(token="right", own_certificate=True)
MANY, MOST = 50, 100 * 1024
"""Connections, and bytes that each may cost."""


async def connect(sandbox: Sandbox) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that says nothing."""
    address = urlsplit(sandbox.url)
    return await asyncio.open_connection(address.hostname, address.port)


async def test_a_client_that_is_silent_in_the_handshake_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "HANDSHAKE", 0.05)
    async with serving(GUARDED) as sandbox, asyncio.timeout(20):
        reader, writer = await connect(sandbox)
        assert await reader.read() == b""
        writer.close()


async def test_a_silent_connection_takes_little_memory() -> None:
    async with serving(GUARDED) as sandbox, AsyncExitStack() as stack:
        tracemalloc.start()
        stack.callback(tracemalloc.stop)
        for _ in range(MANY):
            _, writer = await connect(sandbox)
            stack.callback(writer.close)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] / MANY < MOST
