"""A real server on 127.0.0.1 and aiohttp's own client, for the tests of this room."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import aiohttp
import pytest
from aiohttp import web

from hookrunner.web.listen import on_port, serve

Browse: TypeAlias = Callable[[web.Application], AbstractAsyncContextManager[aiohttp.ClientSession]]
Fetch: TypeAlias = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture
def browse() -> Browse:
    @asynccontextmanager
    async def browsing(app: web.Application) -> AsyncIterator[aiohttp.ClientSession]:
        sock = on_port("127.0.0.1", 0, "--listen-port")
        base = f"http://127.0.0.1:{sock.getsockname()[1]}"
        async with serve(app, sock), aiohttp.ClientSession(base) as session:
            yield session

    return browsing


@pytest.fixture
def fetch(browse: Browse) -> Fetch:
    """`await fetch(app, path)` is the status and the text of one answer; more are arguments of the request."""

    async def fetched(app: web.Application, path: str, method: str = "GET", **how: Any) -> tuple[int, str]:
        async with browse(app) as session, session.request(method, path, **how) as answer:
            return answer.status, await answer.text()

    return fetched
