"""Reads bounded files from web servers that may be slow, wrong or hostile.

    async with HttpsReader() as reader:
        data = await reader.read(URL("https://example.com/addons/stable"), most=1 << 20)    # None: 404

What is refused: more than five redirects, one to another scheme, one from a public to a private address (a server on
the internet must not make us ask a service of the cluster), compressed answers (a kilobyte can stand for gigabytes).
Channels and lists of checksums that carry an ETag are kept: unchanged they cost an answer without a body. Cookies are
not used. Through a proxy, names are resolved by the proxy, and it decides which addresses may be reached. The caller
sets the deadline: a server may send a byte a second.
Source: https://www.rfc-editor.org/rfc/rfc9110#name-redirection-3xx
"""

import asyncio
import ssl
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from hookrunner import __version__
from hookrunner.errors import PackageError
from hookrunner.kube.refusals import describe_error
from hookrunner.packages.address_book import AddressBook, is_public_address
from hookrunner.packages.source_locations import without_credentials
from hookrunner.packages.web_proxies import WebProxies

_DIRECTLY = WebProxies()
MOST_REDIRECTS = 5
_MOST_KEPT = 64
_LARGEST_KEPT = 256 << 10
"""Answers with an ETag, and bytes of each."""
_CONNECT_TIMEOUT = 10.0
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": f"hookrunner/{__version__}"}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MISSING = frozenset({404, 410})


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
        try:
            body, etag = await self._follow(url, most)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise PackageError("Unreachable", f"{_shown(url)}: {describe_error(error, 'SSL_CERT_FILE')}") from error
        if keep:
            self._keep(url, etag, body)
        return body

    def _new_session(self, resolver: AddressBook) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False),
            headers=_HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT),
        )

    async def _follow(self, url: URL, most: int) -> tuple[bytes | None, str]:
        """The body at a URL or where it leads, and its ETag. A server that is not private leads to public ones only,
        however often."""
        current, public_only = url, False
        tls = await asyncio.to_thread(system_trust) if self._tls is None else self._tls
        for _ in range(MOST_REDIRECTS + 1):
            condition = {"If-None-Match": self._kept[url][0]} if url in self._kept else {}
            async with self._get(current, public_only, condition, tls) as response:
                if response.status not in _REDIRECTS:
                    return await self._read_answer(url, response, most)
                location = response.headers.get("Location", "")
            public_only = public_only or not self._book.is_private(current.raw_host or "")
            current = redirect_target(current, location, public_only)
        raise PackageError("Malformed", f"{_shown(url)}: more than {MOST_REDIRECTS} redirects")

    def _get(
        self, url: URL, public_only: bool, headers: Mapping[str, str], tls: ssl.SSLContext
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Ask one server. The address of a proxy may be private."""
        proxy = self._proxies.proxy_for(url)
        session = self._public_session if public_only and proxy is None else self._session
        return session.get(url, headers=headers, proxy=proxy, allow_redirects=False, ssl=tls)

    async def _read_answer(self, url: URL, response: aiohttp.ClientResponse, most: int) -> tuple[bytes | None, str]:
        if response.status in _MISSING:
            return None, ""
        if response.status == 304 and url in self._kept:
            etag, body = self._kept[url]
            return body, etag
        if response.status != 200:
            raise PackageError("Unreachable", f"{_shown(url)}: HTTP {response.status} {response.reason}")
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise PackageError("Malformed", f"{_shown(url)}: the answer is compressed; serve the file as it is")
        return await _read_body(response, most), response.headers.get("ETag", "")

    def _keep(self, url: URL, etag: str, body: bytes | None) -> None:
        self._kept.pop(url, None)
        if body is not None and etag and len(body) <= _LARGEST_KEPT:
            self._kept[url] = etag, body
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)


def redirect_target(current: URL, location: str, public_only: bool = False) -> URL:
    """Where a redirect leads. User and password stay with their server.

    Raises PackageError with the reason Malformed for a redirect without a target, to another scheme, or with
    `public_only` to a private address; ValueError for one that is no URL. A host that is a name is judged by
    `AddressBook`, when it is resolved.
    """
    target = current.join(URL(location))
    if not location or target.scheme != current.scheme or not target.host:
        leads = f"to {target.scheme}:, not {current.scheme}:" if location else "nowhere"
        raise PackageError("Malformed", f"{_shown(current)}: redirects {leads}; correct the server or the source")
    if public_only and not is_public_address(target.host):
        text = f"redirects from a public to the private address {target.host}; correct the server or the source"
        raise PackageError("Malformed", f"{_shown(current)}: {text}")
    user, password = (current.user, current.password) if target.origin() == current.origin() else (None, None)
    return target.with_user(user).with_password(password) if user else target.with_user(None)


@cache
def system_trust() -> ssl.SSLContext:
    """Trusts what the system does. It reads files for 36 ms, so only the first read from the web makes it."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


async def _read_body(response: aiohttp.ClientResponse, most: int) -> bytes:
    """At most one byte more than `most`; the rest is cut off with the connection."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > most:
            response.close()
            break
    return bytes(body[: most + 1])


def _shown(url: URL) -> str:
    return without_credentials(str(url))
