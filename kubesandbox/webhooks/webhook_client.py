"""Asks a webhook over HTTPS. `clientConfig.service` leads nowhere: the sandbox has no network of Services.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
"""

import asyncio
import posixpath
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from types import SimpleNamespace
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import orjson

from kubesandbox import trust
from kubesandbox.store import Key, Store
from kubesandbox.verbs.rules import Object
from kubesandbox.webhooks import failures
from kubesandbox.webhooks.failures import Unanswered
from kubetypes.json_values import JSON

MOST_RETRIES = 10
AGENT = "kube-apiserver-admission"
"""What a real API server calls itself, to webhooks of either sort."""
UNHURRIED = aiohttp.ClientTimeout(total=None, connect=None, sock_read=None, sock_connect=None)
UNREACHABLE = "network is unreachable: the sandbox has no Services that can be reached, give clientConfig.url"


class WebhookClient:
    """Sends reviews. One for a sandbox: connections are kept."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Hang up."""
        if self._session is not None:
            await self._session.close()

    async def ask(self, client: JSON, review: Object, seconds: int) -> bytes:
        """The body of the answer to a review. `client` is a `clientConfig`. Raises `Unanswered`."""
        url = address(client, seconds)
        if client.get("service") is not None:
            raise Unanswered(f'Post "{url}": {self._lost(client["service"])}')
        try:
            async with asyncio.timeout(seconds):
                return await self._patiently(url, orjson.dumps(review), trust.context(client.get("caBundle") or ""))
        except TimeoutError:
            raise Unanswered(f'Post "{url}": context deadline exceeded') from None
        except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
            raise Unanswered(f'Post "{url}": {failures.of_connection(error)}') from None

    async def _patiently(self, url: str, body: bytes, tls: ssl.SSLContext) -> bytes:
        """Again after a while, if the server asks for that."""
        for _ in range(MOST_RETRIES):
            status, headers, text = await self._send(url, body, tls)
            wait = headers.get("Retry-After", "")
            if not wait.isdecimal() or not _passing(status):
                break
            await asyncio.sleep(int(wait))
        return failures.checked(status, text, headers.get("Content-Type", ""))

    async def _send(self, url: str, body: bytes, tls: ssl.SSLContext) -> tuple[int, Mapping[str, str], bytes]:
        """Once more, if a connection was kept that the server has closed: the request has come too late for it."""
        told = {"Content-Type": "application/json", "Accept": "application/json, */*", "User-Agent": AGENT}
        while True:
            kept: list[bool] = []
            request = self._connected().post(url, data=body, headers=told, ssl=tls, trace_request_ctx=kept)
            try:
                async with request as answer:
                    return answer.status, answer.headers, await answer.read()
            except (aiohttp.ServerDisconnectedError, ConnectionResetError):
                if not kept:
                    raise

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector, cookies = aiohttp.TCPConnector(limit=0), aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=cookies, timeout=UNHURRIED, trace_configs=[_noting_kept_connections()]
            )
        return self._session

    def _lost(self, service: JSON) -> str:
        """Why a Service cannot be asked."""
        there = self._store.get(Key("services", service["namespace"], service["name"]))
        if there is None:
            return f'service "{service["name"]}" not found'
        return (
            f"dial tcp {there.json()['spec'].get('clusterIP', '')}:{service.get('port', 443)}: connect: {UNREACHABLE}"
        )


def _noting_kept_connections() -> aiohttp.TraceConfig:
    """Notes in the list that belongs to a request whether it reuses a connection."""

    async def note(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
        context.trace_request_ctx.append(True)

    traced = aiohttp.TraceConfig()
    traced.on_connection_reuseconn.append(note)
    return traced


def address(client: JSON, seconds: int) -> str:
    """The URL that is called."""
    query = f"timeout={seconds}s"
    if (service := client.get("service")) is not None:
        host = f"{service['name']}.{service['namespace']}.svc:{service.get('port') or 443}"
        return urlunsplit(("https", host, _clean(service.get("path") or ""), query, ""))
    parts = urlsplit(str(client["url"]))
    return urlunsplit((parts.scheme, parts.netloc, _clean(parts.path), query, ""))


def _clean(path: str) -> str:
    """Without empty parts and a slash at the end, as Go joins paths."""
    return posixpath.normpath("/" + path.lstrip("/"))


def _passing(status: int) -> bool:
    """Whether it may be better the next time."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
