"""Reads bounded files from web servers that may be slow, wrong or hostile.

    async with HttpsReader() as reader:
        data = await reader.read(URL("https://example.com/addons/stable"), most=1 << 20)    # None: 404

What is refused: more than five redirects, one to another scheme, one from a public to a private address (a server on
the internet must not make us ask a service of the cluster), compressed answers (a kilobyte can stand for gigabytes).
Channels and lists of checksums that carry an ETag are kept: unchanged they cost an answer without a body. Cookies are
not used. Through a proxy, names are resolved by the proxy, and it decides which addresses may be reached. The caller
sets the deadline: a server may send a byte a second. A login, in the URL or in a header, is never sent to another host
than the one that it is for.
Source: https://www.rfc-editor.org/rfc/rfc9110#name-redirection-3xx
"""

import asyncio
import io
import ssl
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import field, replace
from functools import cache
from typing import Any, BinaryIO, Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from hookrunner import __version__
from hookrunner.errors import PackageError
from hookrunner.kube.refusals import describe_error
from hookrunner.packages.address_book import AddressBook, is_public_address
from hookrunner.packages.fetch_bounds import remember
from hookrunner.packages.web_addresses import without_credentials
from hookrunner.packages.web_proxies import WebProxies
from kubetypes.light_dataclasses import dataclass

_DIRECTLY = WebProxies()
MOST_REDIRECTS = 5
_MOST_KEPT = 64
_LARGEST_KEPT = 256 << 10
"""Answers with an ETag, and bytes of each."""
_CONNECT_TIMEOUT = 10.0
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": f"hookrunner/{__version__}"}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MISSING = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class WebRequest:
    """A request: with a body it is posted, unless `method` says otherwise. `public_only`: a public server has led here,
    so the host must be public."""

    url: URL
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    public_only: bool = False
    method: str = ""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """An answer. `request` is the one that was answered, which a redirect may have led to; `headers` have names in
    lowercase."""

    request: WebRequest
    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class HttpsReader:
    """An asynchronous context manager that owns connections. `tls` is for other trust than the system's,
    `resolver` for other names."""

    def __init__(
        self,
        tls: ssl.SSLContext | None = None,
        proxies: WebProxies = _DIRECTLY,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._tls = tls
        self._proxies = proxies
        self._resolver = resolver
        self._kept = OrderedDict[URL, tuple[str, bytes]]()

    async def __aenter__(self) -> Self:
        self._book = AddressBook(inner=self._resolver)
        self._session = self._new_session(self._book)
        self._public_session = self._new_session(AddressBook(public_only=True, inner=self._resolver))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        await self._public_session.close()

    async def read(self, url: URL, most: int, keep: bool = False) -> bytes | None:
        """The body of a file, at most one byte more than `most`; None if there is no such file. With `keep` it is asked
        for again, and so kept if it is small.

        Raises PackageError with the reason Unreachable if there is no whole answer or another status, Malformed for a
        redirect or an encoding that is refused.
        """
        with _naming(url):
            body, etag = await self._follow(url, most)
        if keep:
            self._keep(url, etag, body)
        return body

    async def exchange(self, request: WebRequest, most: int) -> WebAnswer:
        """Any answer, with at most one byte more than `most`. What has a body is not redirected.

        Raises PackageError as `read` does, but whatever the status is.
        """
        body = io.BytesIO()
        answer = await self.save(request, body, most)
        return replace(answer, body=body.getvalue())

    async def save(self, request: WebRequest, file: BinaryIO, most: int) -> WebAnswer:
        """The same, with the body written to a file and not in the answer."""
        with _naming(request.url):
            async with self._reach(request) as (last, response):
                content_type = response.headers.get("Content-Type", "").partition(";")[0].strip()
                _require_plain(request.url, response)
                await _write_body(response, file, most)
        return WebAnswer(last, response.status, content_type, b"", _headers(response))

    def lead(self, request: WebRequest, location: str, verb: str = "redirects") -> WebRequest:
        """The request for a location that an answer names; `verb` is for messages. A server that is not private leads
        to public ones only, however often. Raises PackageError: Malformed as `redirect_target` does, Unreachable for
        what is no URL."""
        public_only = request.public_only or not self._book.is_private(request.url.raw_host or "")
        try:
            target = redirect_target(request.url, location, public_only, verb)
        except ValueError as error:
            raise PackageError("Unreachable", f"{_shown(request.url)}: {verb} to no URL: {error}") from None
        headers = request.headers
        if target.origin() != request.url.origin():
            headers = {name: text for name, text in headers.items() if name.lower() != "authorization"}
        return replace(request, url=target, headers=headers, public_only=public_only)

    def _new_session(self, resolver: AddressBook) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False),
            headers=_HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT),
        )

    async def _follow(self, url: URL, most: int) -> tuple[bytes | None, str]:
        """The body at a URL or where it leads, and its ETag."""
        condition = {"If-None-Match": self._kept[url][0]} if url in self._kept else {}
        async with self._reach(WebRequest(url, condition)) as (_, response):
            return await self._read_answer(url, response, most)

    @asynccontextmanager
    async def _reach(self, request: WebRequest) -> AsyncIterator[tuple[WebRequest, aiohttp.ClientResponse]]:
        """The request that was answered at last, and the answer."""
        url = request.url
        for _ in range(MOST_REDIRECTS + 1):
            async with await self._send(request) as response:
                if response.status not in _REDIRECTS:
                    yield request, response
                    return
                location = response.headers.get("Location", "")
            if request.body is not None:
                text = "redirects what was sent to it; name the address that it leads to"
                raise PackageError("Malformed", f"{_shown(request.url)}: {text}")
            request = self.lead(request, location)
        raise PackageError("Malformed", f"{_shown(url)}: more than {MOST_REDIRECTS} redirects")

    async def _send(self, request: WebRequest) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Ask one server. The address of a proxy may be private."""
        tls = await asyncio.to_thread(system_trust) if self._tls is None else self._tls
        proxy = self._proxies.proxy_for(request.url)
        session = self._public_session if request.public_only and proxy is None else self._session
        method = request.method or ("GET" if request.body is None else "POST")
        # As a file, so that a large body is sent piece by piece, and the loop does other work between them.
        body = None if request.body is None else io.BytesIO(request.body)
        options: dict[str, Any] = {"headers": request.headers, "data": body, "proxy": proxy, "ssl": tls}
        return session.request(method, request.url, allow_redirects=False, **options)

    async def _read_answer(self, url: URL, response: aiohttp.ClientResponse, most: int) -> tuple[bytes | None, str]:
        if response.status in _MISSING:
            return None, ""
        if response.status == 304 and url in self._kept:
            etag, body = self._kept[url]
            return body, etag
        if response.status != 200:
            raise PackageError("Unreachable", f"{_shown(url)}: HTTP {response.status}")
        _require_plain(url, response)
        return await _read_body(response, most), response.headers.get("ETag", "")

    def _keep(self, url: URL, etag: str, body: bytes | None) -> None:
        self._kept.pop(url, None)
        if body is not None and etag and len(body) <= _LARGEST_KEPT:
            remember(self._kept, url, (etag, body), _MOST_KEPT)


def redirect_target(current: URL, location: str, public_only: bool = False, verb: str = "redirects") -> URL:
    """Where a redirect leads. User and password stay with their server.

    Raises PackageError with the reason Malformed for a redirect without a target, to another scheme, or with
    `public_only` to a private address; ValueError for one that is no URL. A host that is a name is judged by
    `AddressBook`, when it is resolved.
    """
    target = current.join(URL(location))
    if not location or target.scheme != current.scheme or not target.host:
        leads = f"to {target.scheme}:, not {current.scheme}:" if location else "nowhere"
        raise PackageError("Malformed", f"{_shown(current)}: {verb} {leads}; correct the server or the source")
    if public_only and not is_public_address(target.host):
        text = f"{verb} from a public to the private address {target.host}; correct the server or the source"
        raise PackageError("Malformed", f"{_shown(current)}: {text}")
    user, password = (current.user, current.password) if target.origin() == current.origin() else (None, None)
    return target.with_user(user).with_password(password) if user else target.with_user(None)


@cache
def system_trust() -> ssl.SSLContext:
    """Trusts what the system does. It reads files for 36 ms, so only the first read from the web makes it."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextmanager
def _naming(url: URL) -> Iterator[None]:
    """What keeps an answer from being whole is raised as PackageError with the reason Unreachable."""
    try:
        yield
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise PackageError("Unreachable", f"{_shown(url)}: {describe_error(error, 'SSL_CERT_FILE')}") from error


def _headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    """By names in lowercase; a header that is there several times is one text, as HTTP allows."""
    return {name.lower(): ", ".join(response.headers.getall(name)) for name in response.headers}


def _require_plain(url: URL, response: aiohttp.ClientResponse) -> None:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise PackageError("Malformed", f"{_shown(url)}: the answer is compressed; serve the file as it is")


async def _read_body(response: aiohttp.ClientResponse, most: int) -> bytes:
    """At most one byte more than `most`."""
    body = io.BytesIO()
    await _write_body(response, body, most)
    return body.getvalue()


async def _write_body(response: aiohttp.ClientResponse, file: BinaryIO, most: int) -> None:
    """At most one byte more than `most`; the rest is cut off with the connection."""
    left = most + 1
    async for chunk in response.content.iter_any():
        file.write(chunk[:left])
        left -= min(left, len(chunk))
        if not left:
            response.close()
            break


def _shown(url: URL) -> str:
    return without_credentials(str(url))
