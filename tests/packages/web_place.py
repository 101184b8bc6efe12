"""A web server with its own certificate, whose answers can be slow, cut, wrong or redirected.

async with web_place(directory) as place:
    place.put_channel("stable", b"…")
    place.answers["/stable"] = Answer(status=503)
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from aiohttp import web
from aiohttp.abc import AbstractResolver

from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.https_source import HttpsSource
from tests.controlplane.certs import make_server_certificate

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
KUBERNETES = "v1.34.2-gke.100"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server does in place of sending the file. `length` is a Content-Length of its own; the connection is cut
    after the body. A body of None never comes."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = b""
    length: int | None = None


class WebPlace:
    """The files of a server by path. `requests` are those that came: path and status."""

    def __init__(self, reader: HttpsReader) -> None:
        self.files: dict[str, bytes] = {}
        self.answers: dict[str, Answer] = {}
        self.requests: list[tuple[str, int]] = []
        self.base = ""
        self.reader = reader
        self.source = self.source_at("https://127.0.0.1")

    def serve_at(self, base: str) -> None:
        self.base = base
        self.source = self.source_at(base)

    def put_channel(self, name: str, text: bytes) -> None:
        self.files[f"/{name}"] = text

    def put_package(self, component: str, version: str, files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            self.files[f"/packages/{component}/{version}/{path}"] = data

    def source_at(self, base: str, timeout: float = 30.0) -> HttpsSource:
        return HttpsSource(base, self.reader, KUBERNETES, timeout)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        status, response = self._response(request)
        self.requests.append((request.path, status))
        answer = self.answers.get(request.path)
        if answer and answer.length is not None:
            return await _lie(request, answer)
        if answer and answer.body is None:
            await asyncio.Event().wait()
        return response

    def _response(self, request: web.BaseRequest) -> tuple[int, web.Response]:
        if answer := self.answers.get(request.path):
            return answer.status, web.Response(status=answer.status, headers=answer.headers, body=answer.body)
        if request.path not in self.files:
            return 404, web.Response(status=404)
        data = self.files[request.path]
        etag = f'"{sha256(data).hexdigest()}"'
        if request.headers.get("If-None-Match") == etag:
            return 304, web.Response(status=304)
        return 200, web.Response(body=data, headers={"ETag": etag})


async def _lie(request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    """Send another length than the body has, in raw bytes, since aiohttp would not."""
    assert request.transport
    head = f"HTTP/1.1 {answer.status} OK\r\nContent-Length: {answer.length}\r\n\r\n"
    request.transport.write(head.encode() + (answer.body or b""))
    request.transport.close()
    raise asyncio.CancelledError


@asynccontextmanager
async def web_place(directory: Path, names: AbstractResolver | None = None) -> AsyncIterator[WebPlace]:
    """One on a free port; its certificate, for 127.0.0.1 and localhost, lies in the directory. `names` is for its
    reader."""
    async with HttpsReader(make_trust(directory), resolver=names) as reader:
        place = WebPlace(reader)
        async with serve(place.handle, make_tls(directory)) as base:
            place.serve_at(base)
            yield place


def make_trust(directory: Path) -> ssl.SSLContext:
    """Trusts the certificate of servers in this directory, which is made."""
    pair = make_server_certificate(directory, "web")
    return ssl.create_default_context(cafile=str(pair.certificate))


def make_tls(directory: Path) -> ssl.SSLContext:
    """For a server with the certificate that `make_trust` has made."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(directory / "web.crt", directory / "web.key")
    return tls


@asynccontextmanager
async def serve(handle: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server on a free port."""
    runner = web.ServerRunner(web.Server(handle, handler_cancellation=True), shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
