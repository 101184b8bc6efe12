"""Bounds for slow clients: how many bytes the sandbox holds for them, and for how long.

A list may have a hundred megabytes, and a client that requests it and never reads would keep them in memory. So all
requests together hold at most `MOST` bytes: beyond that the connections that began first are cut. As with a real API
server, a client has one minute to send a body, to take an answer, or to take one event of a watch.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

MOST = 128 << 20
"""Bytes. One answer may have more, if it is the only one."""
PATIENCE = 60.0
"""Seconds."""

_log = logging.getLogger(__name__)


class Held:
    """The bytes that the sandbox holds for each connection's request."""

    def __init__(self) -> None:
        self._sizes = dict[web.RequestHandler, int]()
        self._all = 0

    def add(self, connection: web.RequestHandler, size: int) -> None:
        """Count more bytes for a connection. Cuts the oldest other connections until all fit."""
        self._sizes[connection] = self._sizes.get(connection, 0) + size
        self._all += size
        others = [other for other in self._sizes if other is not connection] if self._all > MOST else []
        while self._all > MOST and others:
            self.release(oldest := others.pop(0))
            _cut(oldest, "too much is held for slow clients")

    @asynccontextmanager
    async def sending(self, connection: web.RequestHandler, size: int) -> AsyncIterator[None]:
        """Count the bytes while the client takes them, inside the `with`. Raises ConnectionError as `in_time`."""
        self.add(connection, size)
        try:
            async with in_time(connection):
                yield
        finally:
            self.release(connection)

    def release(self, connection: web.RequestHandler) -> None:
        """The request is over."""
        self._all -= self._sizes.pop(connection, 0)


@asynccontextmanager
async def in_time(connection: web.RequestHandler) -> AsyncIterator[None]:
    """Cut the connection if the client keeps the body of the `with` waiting for `PATIENCE`. Raises ConnectionError."""
    try:
        async with asyncio.timeout(PATIENCE):
            yield
    except TimeoutError as error:
        _cut(connection, "the client is too slow")
        raise ConnectionResetError("the client is too slow") from error


def _cut(connection: web.RequestHandler, why: str) -> None:
    _log.warning("connection cut: %s", why)
    if connection.transport is not None:
        connection.transport.abort()
