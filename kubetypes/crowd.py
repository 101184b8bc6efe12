"""The connections of a port that takes every client: a bounded number.

A connection beyond the bound cuts the one that has been idle for longest or, without an idle one, the one whose answer
takes longest. So a client that opens many connections without requests cannot keep out a probe.
"""

import asyncio
from typing import Any

from aiohttp import web

from kubetypes.http_connections import HttpServer


class Crowd(HttpServer):
    """Answers as `server` does; call it for a new connection (a protocol factory, as asyncio has it). `more` are
    arguments of aiohttp's protocol."""

    def __init__(self, server: web.Server, most: int, **more: Any) -> None:
        super().__init__(self._answer_counted, request_factory=server.request_factory, **more)
        self._answer = server.request_handler
        self._most = most
        self._idle = dict[web.RequestHandler, None]()
        self._answering = dict[web.RequestHandler, None]()

    async def _answer_counted(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        self._idle.pop(connection, None)
        self._answering[connection] = None
        try:
            return await self._answer(request)
        finally:
            if self._answering.pop(connection, self) is None and connection.transport is not None:
                self._idle[connection] = None

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self._idle[handler] = None
        if len(self._idle) + len(self._answering) > self._most:
            self._cut(next(iter(self._idle)) if len(self._idle) > 1 else next(iter(self._answering or self._idle)))

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        self._forget(handler)
        super().connection_lost(handler, exc)

    def _cut(self, handler: web.RequestHandler) -> None:
        self._forget(handler)  # it is lost a moment later; others may come before that
        if handler.transport is not None:
            handler.transport.abort()

    def _forget(self, handler: web.RequestHandler) -> None:
        self._idle.pop(handler, None)
        self._answering.pop(handler, None)
