"""One client's connection: how long a request may take to arrive and its answer to be read, nothing of its content.

aiohttp ends a connection that is idle for too long, but would wait as long for a head that comes byte by byte, and
indefinitely for a body. Here the time for both runs from the first byte of the request.
"""

import asyncio
from contextlib import suppress

from aiohttp import StreamReader, web

from hookrunner import log
from hookrunner.web.review_limits import ReviewLimits
from kubetypes import http_connections
from kubetypes.http_connections import Answer

_log = log.get(__name__)


class Connections(http_connections.HttpServer):
    """All connections of one server; call it for a new one (a protocol factory, as asyncio has it).

    A review whose client goes away is cancelled: the API server has given up, and its hook must end.
    """

    def __init__(self, answer: Answer, limits: ReviewLimits) -> None:
        super().__init__(self._respond, handler_cancellation=True)
        self._answer = answer
        self._limits = limits
        self._open = set[asyncio.WriteTransport]()
        self._left = asyncio.Event()

    def __call__(self) -> "TimedConnection":
        return TimedConnection(self, self._limits)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        """Write the answer here, not in aiohttp, which would wait indefinitely for a client to read it."""
        connection = request.protocol
        assert isinstance(connection, TimedConnection)
        connection.asked(request.content)
        response = await self._answer(request)
        response.headers["Server"] = "hookrunner"
        if not request.content.is_eof():
            response.force_close()  # the rest of the body cannot be distinguished from the next request's head
        try:
            async with asyncio.timeout(self._limits.taking):
                await response.prepare(request)
                await response.write_eof()
        except (TimeoutError, ConnectionError) as error:
            _log.debug("answer not taken, connection cut", remote=request.remote, error=error)
            connection.abort()
        connection.answered()
        return response

    @property
    def alive(self) -> list["TimedConnection"]:
        """Open connections, the oldest first."""
        return [
            connection
            for connection in self.connections
            if isinstance(connection, TimedConnection) and connection.transport is not None
        ]

    def spare(self) -> bool:
        """Close one connection without a running request, if there is one.

        It closes the one with the fewest answers, since the API server's connections are used.
        """
        spare = [connection for connection in self.alive if not connection.answering]
        if spare:
            min(spare, key=lambda connection: connection.answers).abort()
        return bool(spare)

    async def finish(self, grace: float | None) -> None:
        """Close idle connections at once, and the others when they have answered, or after `grace` seconds."""
        self.pre_shutdown()
        # aiohttp waits twice: for the answer, then for the task of the connection.
        await self.shutdown(None if grace is None else grace / 2)

    async def part(self) -> None:
        """Wait until the clients of closed connections have closed them too, and cut those that do not within
        `ReviewLimits.parting`: an event loop that ends meanwhile would leave their sockets open."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.parting):
                await self._all_left()
        for transport in tuple(self._open):
            transport.abort()
        await self._all_left()

    async def _all_left(self) -> None:
        while self._open:
            self._left.clear()
            await self._left.wait()

    def opened(self, transport: asyncio.WriteTransport) -> None:
        """Count a connection as open."""
        self._open.add(transport)

    def closed(self, transport: asyncio.WriteTransport) -> None:
        """Count it as closed on both sides."""
        self._open.discard(transport)
        self._left.set()


class TimedConnection(http_connections.HttpConnection):
    """A connection with a limit on the time from a request's first byte to its last."""

    __slots__ = ("_arrival", "_body", "_connections", "_open_transport", "_timer", "answers")

    def __init__(self, connections: Connections, limits: ReviewLimits) -> None:
        super().__init__(
            connections,
            access_log=None,  # as documented for `AppRunner`
            auto_decompress=False,
            keepalive_timeout=limits.idle,
            lingering_time=limits.arrival,
        )
        self._connections = connections
        self._open_transport: asyncio.WriteTransport | None = None
        self._arrival = limits.arrival
        self._body: StreamReader | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.answers = 0

    @property
    def answering(self) -> bool:
        """Is there a whole request, not just a part of one?"""
        return self._body is not None and self._body.is_eof()

    def asked(self, body: StreamReader) -> None:
        """The head of a request is complete. Its body may still be arriving, even after our answer to it."""
        self._body = body
        if not body.is_eof():
            self._hurry()

    def answered(self) -> None:
        """The answer is written: the next byte begins a new request, if the last one is complete."""
        self.answers += 1
        if self._body is not None and self._body.is_eof():
            self._body = None
            self._unhurried()

    def abort(self) -> None:
        """Cut the connection at once."""
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """The clock runs from the first byte after an answer."""
        if self._body is None:
            self._hurry()
        super().data_received(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._open_transport = transport  # aiohttp drops its own reference when it closes it
        self._connections.opened(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._unhurried()
        super().connection_lost(exc)
        if self._open_transport is not None:
            self._connections.closed(self._open_transport)

    def _hurry(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._arrival, self._give_up)

    def _give_up(self) -> None:
        if self._body is None or not self._body.is_eof():
            _log.debug("request not complete in time, connection cut", seconds=self._arrival)
            self.abort()

    def _unhurried(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
