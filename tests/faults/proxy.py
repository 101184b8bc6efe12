"""A proxy in front of the API server that stalls, cuts, delays, refuses, answers itself, loses answers and injects
watch events.

It terminates TLS with a certificate of its own, which its kubeconfigs trust, and so sees whole requests; what is held
or cut are the bytes of the open connections. Faults go to requests that *match*: a match is words that all stand in
`METHOD /path?query`, such as `"GET configmaps watch="`; the empty one matches everything.
It works in the event loop of the test: whatever else the test runs there must not block.
"""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web
from yarl import URL

from tests.controlplane.certs import make_server_certificate
from tests.controlplane.kubeconfig import Access, write_kubeconfig
from tests.controlplane.processes import free_port
from tests.faults.answers import Answer, Countdown, Loss, Turns, expired
from tests.faults.exchange import Exchange, Request, reset

PATIENCE = 60.0
HOP_BY_HOP = {"connection", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
# What aiohttp's client would add of its own; the server is to see the real client's headers.
NOT_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


@dataclass(frozen=True, slots=True)
class Delay:
    """Seconds that each request that matches, and each piece of its answer, is late."""

    seconds: float
    match: str


class Proxy:
    """An async context manager: `kubeconfig` and `url` lead through it, `requests` remembers what came, in order,
    `loop` is the event loop that it works in."""

    def __init__(self, upstream: Access, directory: Path) -> None:
        self._upstream = upstream
        self._directory = directory
        self._certificate = make_server_certificate(directory, "proxy")
        self._exchanges: list[Exchange] = []
        self._stalled: list[str] = []
        self._delays: list[Delay] = []
        self._answers: list[Answer | Loss] = []
        self._news = asyncio.Event()
        self._server = web.Server(self._handle, handler_cancellation=True)
        self._port = free_port()
        self.requests: list[Request] = []

    async def __aenter__(self) -> Self:
        trust = ssl.create_default_context(cafile=str(self._upstream.ca))
        connector = aiohttp.TCPConnector(ssl=trust, limit=0)
        endless = aiohttp.ClientTimeout(total=None)
        self._session = aiohttp.ClientSession(connector=connector, timeout=endless, auto_decompress=False)
        self.loop = asyncio.get_running_loop()
        await self.accept()
        self.url = f"https://127.0.0.1:{self._port}"
        self.kubeconfig = self.kubeconfig_with(self._upstream.token)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.refuse()
        await self._session.close()
        self.cut()
        await self._server.shutdown(timeout=1)

    def kubeconfig_with(self, token: str) -> Path:
        """Write a kubeconfig that leads through the proxy with this bearer token, such as a `User`'s."""
        file = self._directory / f"proxy-{token[-8:]}.kubeconfig"
        return write_kubeconfig(file, Access(self.url, self._certificate.certificate, token))

    def stall(self, match: str = "") -> None:
        """Forward nothing more of what matches, open or new; its connections stay, and its bytes are acknowledged."""
        self._stalled.append(match)

    def resume(self) -> None:
        """End all stalls and delays; what was held arrives now."""
        self._stalled.clear()
        self._delays.clear()
        self._tell()

    def delay(self, seconds: float, match: str = "") -> None:
        """Make each request that matches, and each piece of its answer, late."""
        self._delays.append(Delay(seconds, match))

    def cut(self, match: str = "") -> int:
        """Reset (RST) the connections of open requests that match, or all, idle ones too. Returns how many."""
        if match:
            transports = [exchange.transport for exchange in self._open(match)]
        else:
            transports = [connection.transport for connection in self._server.connections]
        return sum(reset(transport) for transport in transports)

    async def refuse(self) -> None:
        """Refuse new connections; open ones go on."""
        self._listener.close()

    async def accept(self) -> None:
        """Accept connections (again), always on the same port."""
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(self._certificate.certificate, self._certificate.key)
        self._listener = await self.loop.create_server(self._server, "127.0.0.1", self._port, ssl=serving)

    def answer(
        self, status: int, match: str = "", *, times: int = 1, every: int = 1, retry_after: int | None = None
    ) -> None:
        """Answer the next `times` requests that match with this status, `Retry-After` seconds, and a Status object;
        after each of them let `every` - 1 pass."""
        self._answers.append(Answer(Turns(match, times, every), status, retry_after))

    def lose(self, match: str = "", *, times: int = 1, every: int = 1, forwarded: bool) -> None:
        """Break the connections of requests as in `answer`, before they have arrived, or, if they are `forwarded`,
        before their answers come back."""
        self._answers.append(Loss(Turns(match, times, every), forwarded))

    def kill(
        self, process: Callable[[], None], at: int, counts: Callable[[Request], bool], *, forwarded: bool
    ) -> Countdown:
        """Call `process`, which kills the one that asks, at the request number `at` of those that count; `forwarded` as
        in `lose`. In what is returned `left` is negative from then on; `spare` calls it off."""
        countdown = Countdown(counts, at)
        self._answers.append(Loss(countdown, forwarded, process))
        return countdown

    async def inject(self, event: dict[str, Any], match: str = "watch=") -> int:
        """Put an event into each open watch stream that matches, between two of its lines. Returns how many."""
        streams = [exchange for exchange in self._open(match) if exchange.streams]
        for exchange in streams:
            await exchange.inject(event)
        return len(streams)

    async def expire(self, match: str = "watch=") -> int:
        """Inject the event with which the API server ends a watch whose resourceVersion is too old (410)."""
        return await self.inject(expired(), match)

    async def seen(self, match: str, count: int = 1) -> list[Request]:
        """Wait until so many matching requests have come, counted from the start or from `requests.clear()`."""
        await self._until(lambda: len(self._matching(match)) >= count, f"{count} requests {match!r}")
        return self._matching(match)

    async def streaming(self, match: str = "watch=", count: int = 1) -> None:
        """Wait until so many matching requests have got the headers of their answer and are still open."""

        def reached() -> bool:
            return sum(exchange.streams for exchange in self._open(match)) >= count

        await self._until(reached, f"{count} open answers to {match!r}")

    async def ended(self, match: str = "watch=") -> None:
        """Wait until no matching request is open any more."""
        await self._until(lambda: not self._open(match), f"the end of {match!r}")

    def _matching(self, match: str) -> list[Request]:
        return [request for request in self.requests if request.matches(match)]

    def _open(self, match: str) -> list[Exchange]:
        return [exchange for exchange in self._exchanges if exchange.request.matches(match)]

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _until(self, reached: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not reached():
                    await self._news.wait()
        except TimeoutError:
            came = "\n".join(request.line for request in self.requests[-20:])
            raise TimeoutError(f"waited {PATIENCE:.0f} s for {what}; the last requests were:\n{came}") from None

    async def _handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        request = Request(incoming.method, incoming.path, dict(incoming.query), incoming.path_qs)
        exchange = Exchange(request, incoming)
        self.requests.append(request)
        self._exchanges.append(exchange)
        self._tell()
        try:
            await self._pass(request)
            body = await incoming.read()
            match self._next_answer(request):
                case Answer() as answer:
                    return answer.response()
                case Loss(forwarded=forwarded, then=then):
                    if forwarded:
                        await self._read_answer(incoming, body)
                    then()
                    reset(exchange.transport)
                    return web.Response()
            return await self._forward(exchange, incoming, body)
        except aiohttp.ClientError:
            reset(exchange.transport)  # the API server is away, and so the client sees a broken connection
            return web.Response()
        finally:
            self._exchanges.remove(exchange)
            self._tell()

    def _next_answer(self, request: Request) -> Answer | Loss | None:
        return next((answer for answer in self._answers if answer.turns.take(request)), None)

    async def _pass(self, request: Request) -> None:
        """Return when nothing stalls the request any more and its delays are over."""
        for delay in self._delays:
            if request.matches(delay.match):
                await asyncio.sleep(delay.seconds)
        while any(request.matches(stalled) for stalled in self._stalled):
            await self._news.wait()

    def _ask(self, incoming: web.BaseRequest, body: bytes) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """The API server's answer."""
        target = URL(self._upstream.url + incoming.path_qs, encoded=True)
        headers = {name: value for name, value in incoming.headers.items() if name.lower() not in HOP_BY_HOP}
        return self._session.request(
            incoming.method,
            target,
            headers=headers,
            data=body or None,
            skip_auto_headers=NOT_ADDED,
            allow_redirects=False,
        )

    async def _read_answer(self, incoming: web.BaseRequest, body: bytes) -> None:
        async with self._ask(incoming, body) as upstream:
            await upstream.read()

    async def _forward(self, exchange: Exchange, incoming: web.BaseRequest, body: bytes) -> web.StreamResponse:
        async with self._ask(incoming, body) as upstream:
            await self._pass(exchange.request)
            try:
                response = await exchange.begin(upstream)
                self._tell()
                async for chunk in upstream.content.iter_any():
                    await self._pass(exchange.request)
                    await exchange.write(chunk)
                await response.write_eof()
                return response
            finally:
                abandon(upstream)


def abandon(upstream: aiohttp.ClientResponse) -> None:
    """Close at once the connection of an answer that was not read to its end.

    TLS's polite farewell to the API server could outlive the test's event loop.
    """
    connection = upstream.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
