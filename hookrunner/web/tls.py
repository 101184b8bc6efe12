"""A port that speaks TLS, whose certificate can be exchanged while it is in use, without losing a client.

An exchange is one assignment: connections that are accepted from then on get another `ssl.SSLContext`; handshakes that
are under way and running requests finish, and older connections are closed after their next answer. The two other ways
were tried. A second `asyncio.Server` on the same socket resets connections: one that is accepted just before the first
server closes dies of an assertion in asyncio. Loading the certificate into the living context is safe, but a context
cannot forget a client CA, and would be left with half of a pair if the key does not fit.
"""

import asyncio
import os
import socket
import ssl
import tempfile
from asyncio import sslproto
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from aiohttp import web

from hookrunner import log
from hookrunner.errors import BadConfig, StartRefused
from hookrunner.web.connections import Connections
from hookrunner.web.review_limits import ReviewLimits
from kubetypes.http_connections import Answer

BACKLOG = 4096
"""Connections that wait to be accepted; the kernel's own limit is usually the same."""
AT_ONCE = 64
"""Connections accepted before others of our tasks have their turn again."""
PAUSE = 1.0
"""Seconds without accepting after there was no room for one more connection."""
FOLLOW_EVERY = 5.0
"""Seconds between looks at the files of client CAs. The kubelet takes a minute or two to exchange a mounted Secret."""

_log = log.get(__name__)


class _Tls(sslproto.SSLProtocol):
    """asyncio's TLS with less room: its buffer of 256 KiB for every connection, idle or not, is 300 MB for 1,000."""

    max_size = 32 * 1024

    def __init__(
        self, protocol: asyncio.Protocol, context: ssl.SSLContext, greeted: "asyncio.Future[None]", limits: ReviewLimits
    ) -> None:
        super().__init__(
            greeted.get_loop(),
            protocol,
            context,
            greeted,
            server_side=True,
            ssl_handshake_timeout=limits.handshake,  # type: ignore[arg-type]  # any number will do
            ssl_shutdown_timeout=limits.farewell,
        )


class TlsListener:
    """Answers on one socket. Nothing is accepted before the first `use`; meanwhile clients wait in the kernel's queue.

    `client_cas` are PEM files: if there are any, a client has to show a certificate of one of these CAs. Raises
    StartRefused if they cannot be used.
    """

    def __init__(
        self, sock: socket.socket, answer: Answer, client_cas: Sequence[Path] = (), limits: ReviewLimits | None = None
    ) -> None:
        self._sock = sock
        self._answer = answer
        self._limits = limits or ReviewLimits()
        self._client_cas = tuple(client_cas)
        self._connections = Connections(self._respond, self._limits)
        self._greeting = dict[asyncio.Task[None], socket.socket]()
        self._pair: tuple[bytes, bytes] | None = None
        try:
            self._trusted = read_client_cas(self._client_cas)
        except BadConfig as error:
            raise StartRefused(str(error)) from error
        self._complaint = ""
        self._context: ssl.SSLContext | None = None
        self._leaving = False

    def use(self, certificate: bytes, key: bytes) -> None:
        """Show this certificate (PEM, a chain) to new connections from now on.

        Raises BadConfig if the pair cannot be used; then everything stays as it was.
        """
        self._show((certificate, key))

    async def follow_client_cas(self) -> None:
        """Check new connections against the files as they are now. Runs until cancelled."""
        while True:
            await asyncio.sleep(FOLLOW_EVERY)
            self._follow()

    def leave(self) -> None:
        """Answer as before, and close each connection after its answer: clients that reconnect reach another server."""
        self._leaving = True

    async def finish(self, grace: float) -> None:
        """Accept no more, and return when all is answered, or after a number of seconds: what still runs then goes
        on."""
        await self._shut()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._connections.finish(None)

    async def close(self) -> None:
        """Accept no more, let running reviews end within their grace, close."""
        await self._shut()
        await self._connections.finish(self._limits.grace)
        await self._connections.part()

    async def _shut(self) -> None:
        """No new connections."""
        if self._sock.fileno() < 0:
            return
        self._context = None
        asyncio.get_running_loop().remove_reader(self._sock)
        self._sock.close()
        greeting = dict(self._greeting)
        for task in greeting:
            task.cancel()
        await asyncio.gather(*greeting, return_exceptions=True)
        for task, accepted in greeting.items():
            # One that never came to its first step has no transport that would do it. One that has just ended has a
            # transport that is in use: its descriptor would belong to another file next.
            if task.cancelled():
                accepted.close()

    def _follow(self) -> None:
        try:
            trusted, complaint = read_client_cas(self._client_cas), ""
        except BadConfig as error:
            trusted, complaint = self._trusted, str(error)
        if complaint and complaint != self._complaint:
            _log.error("client CAs cannot be used, the ones before still count", reason=complaint)
        self._complaint = complaint
        if trusted != self._trusted:
            self._trusted = trusted
            _log.info("client CAs exchanged", files=[str(path) for path in self._client_cas])
            if self._pair is not None:
                self._show(self._pair)

    def _show(self, pair: tuple[bytes, bytes]) -> None:
        context, first = tls_context(*pair, self._trusted), self._context is None
        if self._sock.fileno() < 0:
            return  # the end came first
        self._pair, self._context = pair, context
        if first:
            self._sock.setblocking(False)
            self._sock.listen(BACKLOG)
            self._open()

    def _open(self) -> None:
        if self._context is not None:
            asyncio.get_running_loop().add_reader(self._sock, self._accept)

    def _accept(self) -> None:
        loop, context = asyncio.get_running_loop(), self._context
        if context is None:
            return
        for _ in range(min(AT_ONCE, self._room())):
            try:
                accepted, _address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # too many open files, no memory
                self._pause(error)
                return
            accepted.setblocking(False)
            task = loop.create_task(self._greet(accepted, context))
            self._greeting[task] = accepted
            task.add_done_callback(self._greeting.pop)

    def _room(self) -> int:
        """The number of connections that may be accepted. If that is 0, close one, so that there is room at the next
        look: the longest handshake, or a connection without a running request."""
        greeting, open_ = len(self._greeting), len(self._connections.alive)
        room = self._limits.connections - greeting - open_
        if room > 0:
            return room
        if greeting > open_:
            next(iter(self._greeting)).cancel()
        elif not self._connections.spare():
            self._pause(f"{open_} are open")
        return 0

    def _pause(self, reason: object) -> None:
        """To try on at once would be a busy loop."""
        _log.error("no more connections can be accepted, pausing", reason=reason, seconds=PAUSE)
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._sock)
        loop.call_later(PAUSE, self._open)

    async def _greet(self, accepted: socket.socket, context: ssl.SSLContext) -> None:
        """The handshake. aiohttp's protocol takes over when it is done."""
        loop = asyncio.get_running_loop()
        greeted = loop.create_future()
        tls = _Tls(self._connections(), context, greeted, self._limits)
        transport, _ = await loop.connect_accepted_socket(lambda: tls, accepted)
        try:
            await greeted
        except (OSError, asyncio.CancelledError) as error:  # all that TLS, the network and time can do, or the end
            _log.debug("a client could not be let in", error=error)
            transport.abort()

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        response = await self._answer(request)
        shown = request.transport.get_extra_info("sslcontext") if request.transport is not None else None
        if shown is not self._context or self._leaving:
            response.force_close()  # made under a certificate that is not shown any more, or the end comes
        return response


@asynccontextmanager
async def listening(
    sock: socket.socket, answer: Answer, client_cas: Sequence[Path] = (), limits: ReviewLimits | None = None
) -> AsyncIterator[TlsListener]:
    """A `TlsListener` that is closed at the end of the `with`."""
    listener = TlsListener(sock, answer, client_cas, limits)
    try:
        yield listener
    finally:
        await listener.close()


def read_client_cas(client_cas: Sequence[Path]) -> str:
    """The texts of all files as one. Raises BadConfig if one of them holds no certificates."""
    return "\n".join(_certificates(path) for path in client_cas)


def _certificates(path: Path) -> str:
    try:
        text = path.read_text("ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:  # the errors of ssl and of decoding are such
        raise BadConfig(f"client CA {path} cannot be used: {error}; it has to be a PEM file of certificates") from error
    return text


def tls_context(certificate: bytes, key: bytes, trusted: str) -> ssl.SSLContext:
    """A context with a PEM chain and its key. `trusted` are the CAs whose clients are let in; empty if all clients are.

    Raises BadConfig.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The API server offers h2 to local addresses. A client that offers nothing else is refused in the handshake.
    context.set_alpn_protocols(["http/1.1"])
    # A resumed session is not judged again: its client's certificate may have expired. Go's client resumes none.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        with _file(certificate + b"\n" + key) as path:
            # Without the password OpenSSL would ask for one on the terminal and block the program.
            context.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as error:
        raise BadConfig(f"the server certificate and its key cannot be used together: {error}") from error
    if trusted:
        context.load_verify_locations(cadata=trusted)
        context.verify_mode = ssl.CERT_REQUIRED
        # As in Go: what the file names is trusted, also a CA that another one has signed.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


@contextmanager
def _file(content: bytes) -> Iterator[str]:
    """A path for OpenSSL, which takes keys from files only: in memory where the system has that, else a file that only
    we can read and that is gone at the end."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("certificate"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
