"""HTTP servers for any client: bytes that are not a request are the client's fault, and end its connection; connections
are bounded in number; large answers are sent in pieces.

aiohttp logs such bytes as an error with a stack trace, so that every client could raise alarms. It also reads on after
a chunked request of HTTP/1.0, whose end a proxy of that version sees elsewhere (RFC 9112, section 6.1). And when a body
turns into something that is no body, aiohttp does not wake its reader, which would wait for the rest.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from aiohttp import HttpVersion11, StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

Answer: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
"""What a server does with a request."""

_log = logging.getLogger(__name__)


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
        _log.debug("not an HTTP request from %s: %s", request.remote, exc)
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


# ── a bounded number of connections ───────────────────────────────────────────────────────────────────────────────────

# The connections of a port that takes every client: a bounded number.
#
# A connection beyond the bound cuts the one that has been idle for longest or, without an idle one, the one whose
# answer takes longest. So a client that opens many connections without requests cannot keep out a probe.


class Crowd(HttpServer):
    """Answers as `server` does; call it for a new connection (a protocol factory, as asyncio has it). `more` are
    arguments of aiohttp's protocol."""

    def __init__(self, server: web.Server, most: int, **more: Any) -> None:
        super().__init__(self._answer_and_count, request_factory=server.request_factory, **more)
        self._answer = server.request_handler
        self._most = most
        self._idle = dict[web.RequestHandler, None]()
        self._answering = dict[web.RequestHandler, None]()

    async def _answer_and_count(self, request: web.BaseRequest) -> web.StreamResponse:
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


# ── large answers ─────────────────────────────────────────────────────────────────────────────────────────────────────

# A large body that is sent as it was made, in pieces: never joined to one, never encrypted at one go.


AT_ONCE = 128 * 1024
"""Bytes between looks at whether the client still takes them; encrypting so many takes a fraction of a millisecond."""


class Pieces(Payload):
    """Its length is known beforehand, so the answer is not chunked."""

    _autoclose = True

    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__(pieces)
        self._size = sum(len(piece) for piece in pieces)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Only aiohttp's client asks for this."""
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Wait for the client in between."""
        for piece in self._value:
            view = memoryview(piece)
            for start in range(0, len(view), AT_ONCE):
                await writer.write(view[start : start + AT_ONCE])
