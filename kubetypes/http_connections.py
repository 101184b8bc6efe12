"""An HTTP server for any client: bytes that are not a request are the client's fault, and end its connection.

aiohttp logs such bytes as an error with a stack trace, so that every client could raise alarms. It also reads on after
a chunked request of HTTP/1.0, whose end a proxy of that version sees elsewhere (RFC 9112, section 6.1). And when a body
turns into something that is no body, aiohttp does not wake its reader, which would wait for the rest.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from aiohttp import HttpVersion11, StreamReader, web

Answer: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
"""What a server does with a request."""

_LOG = logging.getLogger("http")


class HttpConnection(web.RequestHandler):
    """aiohttp's protocol; answers bytes that are no request with 400, and closes if a body turns out to be none."""

    __slots__ = ("_reading",)

    def __init__(self, server: web.Server, **more: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **more)
        self._reading: StreamReader | None = None

    def begin(self, body: StreamReader) -> None:
        """Note the body of the request that is being answered; it may still be on its way."""
        self._reading = body

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # Behind a body that has not ended there can be no request, only an error.
        if self._messages and self._reading and not self._reading.is_eof() and self.transport:
            self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        _LOG.debug("not an HTTP request from %s: %s", request.remote, exc)
        response = web.Response(status=status, text=f"this is not an HTTP/1.1 request: {message}\n")
        response.force_close()
        return response


class HttpServer(web.Server):
    """Call it for a new connection (a protocol factory, as asyncio has it). `more` are arguments of aiohttp's."""

    def __init__(
        self, answer: Answer, *, request_factory: Any = None, handler_cancellation: bool = False, **more: Any
    ) -> None:
        super().__init__(self._answer_one, request_factory=request_factory, handler_cancellation=handler_cancellation)
        self._answer_request = answer
        self._more = more

    def __call__(self) -> web.RequestHandler:
        return HttpConnection(self, **self._more)

    async def _answer_one(self, request: web.BaseRequest) -> web.StreamResponse:
        assert isinstance(request.protocol, HttpConnection)
        request.protocol.begin(request.content)
        try:
            return await self._answer_request(request)
        finally:
            if request.version < HttpVersion11 and "Transfer-Encoding" in request.headers:
                request.protocol.close()  # when it is answered
