"""A port that speaks TLS, whose certificate can be exchanged while it is in use, without losing anybody.

Every exchange makes a new `ssl.SSLContext` and has a second acceptor wait on the same listening socket before the first
one stops: new connections get the new certificate, all others finish what they do and are closed after their next
answer. Loading the certificate into the living context would be shorter, but a context cannot forget a client CA, would
be left with half of a pair if the key does not fit, and its session tickets would let in clients who were judged by the
old CA.

Where certificates come from is not known here.
"""

import asyncio
import os
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from aiohttp import web

from hookrunner import log
from hookrunner.errors import BadConfig
from hookrunner.web.connections import Answer, Connections
from hookrunner.web.limits import Limits

BACKLOG = 4096
"""Connections that wait for their TLS handshake; the kernel's own limit is usually the same."""

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
        self._connections = Connections(self._answered, self._limits)
        self._client_cas = tuple(client_cas)
        self._pair: tuple[bytes, bytes] | None = None
        self._trusted = ""
        self._context: ssl.SSLContext | None = None
        self._acceptor: asyncio.Server | None = None
        self._changing = asyncio.Lock()

    async def use(self, certificate: bytes, key: bytes) -> None:
        """Show this certificate (PEM, a chain) to new connections from now on.

        Raises BadConfig if the pair or a client CA cannot be used; then everything stays as it was.
        """
        async with self._changing:
            await self._change((certificate, key), _read(self._client_cas))

    async def follow_client_cas(self) -> None:
        """Judge new connections by the files as they are now. Runs for ever."""
        while True:
            await asyncio.sleep(FOLLOW_EVERY)
            await self._follow()

    async def _follow(self) -> None:
        async with self._changing:
            try:
                trusted = _read(self._client_cas)
                if self._pair is not None and trusted != self._trusted:
                    await self._change(self._pair, trusted)
                    _log.info("client CAs exchanged", files=[str(path) for path in self._client_cas])
            except BadConfig as error:
                _log.error("client CAs cannot be used, the ones before still count", error=error)

    async def _change(self, pair: tuple[bytes, bytes], trusted: str) -> None:
        context = _context(*pair, trusted)
        acceptor = await asyncio.get_running_loop().create_server(
            self._connections,
            sock=self._sock.dup(),
            backlog=BACKLOG,
            ssl=context,
            ssl_handshake_timeout=self._limits.handshake,
            ssl_shutdown_timeout=self._limits.farewell,
        )
        old, self._acceptor = self._acceptor, acceptor
        self._pair, self._trusted, self._context = pair, trusted, context
        if old is not None:
            old.close()

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        response = await self._answer(request)
        if request.transport is not None and request.transport.get_extra_info("sslcontext") is not self._context:
            response.force_close()  # made under a certificate that is not shown any more, or the end has come
        return response

    async def close(self) -> None:
        """Accept no more, let what runs end within its grace, close."""
        async with self._changing:
            self._context = None
            if self._acceptor is not None:
                self._acceptor.close()
            self._sock.close()
        self._connections.pre_shutdown()
        await self._connections.shutdown(self._limits.grace)


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


def _read(client_cas: Sequence[Path]) -> str:
    """All files as one. Raises BadConfig."""
    texts = []
    for path in client_cas:
        try:
            texts.append(path.read_text("ascii"))
        except (OSError, UnicodeDecodeError) as error:
            raise BadConfig(f"client CA {path} cannot be read: {error}; it has to be a PEM file") from error
    return "\n".join(texts)


def _context(certificate: bytes, key: bytes, trusted: str) -> ssl.SSLContext:
    """Raises BadConfig."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The API server offers h2 to local addresses. Whoever offers nothing else is refused in the handshake.
    context.set_alpn_protocols(["http/1.1"])
    # A resumed session is not judged again: its client's certificate may have expired. Go's client resumes none.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        with _file(certificate + b"\n" + key) as path:
            # Without the password OpenSSL would ask for one on the terminal, and everybody would wait.
            context.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as error:
        raise BadConfig(f"the server certificate and its key cannot be used together: {error}") from error
    if trusted:
        try:
            context.load_verify_locations(cadata=trusted)
        except (ssl.SSLError, ValueError) as error:
            raise BadConfig(f"the client CAs cannot be used: {error}; they have to be PEM certificates") from error
        context.verify_mode = ssl.CERT_REQUIRED
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
