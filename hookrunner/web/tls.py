"""A port that speaks TLS, whose certificate can be exchanged while it is in use, without losing anybody.

An exchange is one assignment: connections that are accepted from then on get another `ssl.SSLContext`; handshakes that
are under way and running requests finish, and older connections are closed after their next answer. The two other ways
were tried. A second `asyncio.Server` on the same socket resets connections: one that is accepted just before the first
server closes dies of an assertion in asyncio. Loading the certificate into the living context is safe, but a context
cannot forget a client CA, and would be left with half of a pair if the key does not fit.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from hookrunner import log
from hookrunner.errors import BadConfig
from hookrunner.web import handshakes
from hookrunner.web.connections import Answer, Connections
from hookrunner.web.limits import Limits

BACKLOG = 4096
"""Connections that wait to be accepted; the kernel's own limit is usually the same."""
AT_ONCE = 64
"""Connections accepted before others of our tasks have their turn again."""
PAUSE = 1.0
"""Seconds without accepting after the system refused to open one more connection."""
FOLLOW_EVERY = 5.0
"""Seconds between looks at the files of client CAs. The kubelet takes a minute or two to exchange a mounted Secret."""

_log = log.get("web.tls")


class TlsListener:
    """Answers on one socket. Nothing is accepted before the first `use`; meanwhile clients wait in the kernel's queue.

    `client_cas` are PEM files: if there are any, a client has to show a certificate of one of these CAs.
    """

    def __init__(
        self, sock: socket.socket, answer: Answer, client_cas: Sequence[Path] = (), limits: Limits | None = None
    ) -> None:
        self._sock = sock
        self._answer = answer
        self._limits = limits or Limits()
        self._client_cas = tuple(client_cas)
        self._connections = Connections(self._answered, self._limits)
        self._greeting = dict[asyncio.Task[None], socket.socket]()
        self._pair: tuple[bytes, bytes] | None = None
        self._trusted = ""
        self._context: ssl.SSLContext | None = None

    def use(self, certificate: bytes, key: bytes) -> None:
        """Show this certificate (PEM, a chain) to new connections from now on.

        Raises BadConfig if the pair or a client CA cannot be used; then everything stays as it was.
        """
        self._change((certificate, key), handshakes.read(self._client_cas))

    async def follow_client_cas(self) -> None:
        """Judge new connections by the files as they are now. Runs for ever."""
        while True:
            await asyncio.sleep(FOLLOW_EVERY)
            self._follow()

    async def close(self) -> None:
        """Accept no more, let what runs end within its grace, close."""
        self._context = None
        asyncio.get_running_loop().remove_reader(self._sock)
        self._sock.close()
        greeting = dict(self._greeting)
        for task in greeting:
            task.cancel()
        await asyncio.gather(*greeting, return_exceptions=True)
        for accepted in greeting.values():
            accepted.close()  # a task that never came to its first step has no transport that would do it
        await self._connections.finish()

    def _follow(self) -> None:
        try:
            trusted = handshakes.read(self._client_cas)
            if self._pair is not None and trusted != self._trusted:
                self._change(self._pair, trusted)
                _log.info("client CAs exchanged", files=[str(path) for path in self._client_cas])
        except BadConfig as error:
            _log.error("client CAs cannot be used, the ones before still count", error=error)

    def _change(self, pair: tuple[bytes, bytes], trusted: str) -> None:
        context, first = handshakes.context(*pair, trusted), self._context is None
        self._pair, self._trusted, self._context = pair, trusted, context
        if first:
            self._sock.setblocking(False)
            self._sock.listen(BACKLOG)
            self._open()

    def _open(self) -> None:
        if self._context is not None:
            asyncio.get_running_loop().add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(AT_ONCE):
            try:
                accepted, _address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # too many open files, no memory: trying on at once would be a busy loop
                _log.error("no more connections can be accepted, pausing", error=error, seconds=PAUSE)
                loop.remove_reader(self._sock)
                loop.call_later(PAUSE, self._open)
                return
            accepted.setblocking(False)
            task = loop.create_task(self._greet(accepted))
            self._greeting[task] = accepted
            task.add_done_callback(self._greeting.pop)

    async def _greet(self, accepted: socket.socket) -> None:
        """The handshake. aiohttp's protocol takes over when it is done."""
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._connections,
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=self._limits.handshake,
                ssl_shutdown_timeout=self._limits.farewell,
            )
        except OSError as error:  # its leaves are all that TLS, the network and time can do
            _log.debug("a client could not be let in", error=error)

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        response = await self._answer(request)
        if request.transport is not None and request.transport.get_extra_info("sslcontext") is not self._context:
            response.force_close()  # made under a certificate that is not shown any more, or the end has come
        return response


@asynccontextmanager
async def listening(
    sock: socket.socket, answer: Answer, client_cas: Sequence[Path] = (), limits: Limits | None = None
) -> AsyncIterator[TlsListener]:
    """A `TlsListener` that is closed at the end of the `with`."""
    listener = TlsListener(sock, answer, client_cas, limits)
    try:
        yield listener
    finally:
        await listener.close()
