"""A real server on 127.0.0.1 and aiohttp's own client, for the tests of this room."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import aiohttp
import pytest
from aiohttp import web

from hookrunner.web.listen import on_port, serve

Browse: TypeAlias = Callable[[web.Application], AbstractAsyncContextManager[aiohttp.ClientSession]]


@pytest.fixture
def browse() -> Browse:
    @asynccontextmanager
    async def browsing(app: web.Application) -> AsyncIterator[aiohttp.ClientSession]:
        sock = on_port("127.0.0.1", 0, "--listen-port")
        base = f"http://127.0.0.1:{sock.getsockname()[1]}"
        async with serve(app, sock), aiohttp.ClientSession(base) as session:
            yield session

    return browsing
