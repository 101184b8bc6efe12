"""Asking a webhook over HTTPS, and why it gives no answer, in the words of a real API server (which are Go's).

`clientConfig.service` leads nowhere: the sandbox has no network of Services.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
"""

import asyncio
import base64
import binascii
import posixpath
import ssl
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import orjson

from hookrunner.model.resources import JSON
from hookrunner.sandbox.rules import Object
from hookrunner.sandbox.store import Key, Store

UNTRUSTED = "tls: failed to verify certificate: x509: "
WRONG_HOST, EXPIRED = 62, (9, 10)
"""Numbers of OpenSSL's verification errors."""
MOST_RETRIES = 10
SAID_BY_CODE = {
    HTTPStatus.NOT_FOUND: "the server could not find the requested resource",
    HTTPStatus.BAD_REQUEST: "the server rejected our request for an unknown reason",
    HTTPStatus.UNAUTHORIZED: "the server has asked for the client to provide credentials",
    HTTPStatus.METHOD_NOT_ALLOWED: "the server does not allow this method on the requested resource",
    HTTPStatus.SERVICE_UNAVAILABLE: "the server is currently unable to handle the request",
    HTTPStatus.TOO_MANY_REQUESTS: ("the server has received too many requests and has asked us to try again later"),
    HTTPStatus.GATEWAY_TIMEOUT: "the server was unable to return a response in the time allotted, but may still be"
    " processing the request",
}


class Unanswered(Exception):
    """There is no answer; says why."""


class Asking:
    """Sends reviews. One for a sandbox: connections are kept."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Hang up."""
        if self._session is not None:
            await self._session.close()

    async def ask(self, client: JSON, review: Object, agent: str, seconds: int | None = None) -> bytes:
        """The body of the answer to a review. `client` is a `clientConfig`. Raises `Unanswered`."""
        url = address(client, seconds)
        if client.get("service") is not None:
            raise Unanswered(f'Post "{url}": {self._unreachable(client["service"])}')
        try:
            async with asyncio.timeout(seconds):
                return await self._sent(url, client, orjson.dumps(review), agent)
        except TimeoutError:
            raise Unanswered(f'Post "{url}": context deadline exceeded') from None
        except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
            raise Unanswered(f'Post "{url}": {_why(error)}') from None

    async def _sent(self, url: str, client: JSON, body: bytes, agent: str) -> bytes:
        """Again after a while, if the server asks for that."""
        if self._session is None:
            connector, cookies = aiohttp.TCPConnector(limit=0), aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=cookies, timeout=NO_TIMEOUT)
        told = {"Content-Type": "application/json", "Accept": "application/json, */*", "User-Agent": agent}
        for retry in range(MOST_RETRIES + 1):
            async with self._session.post(url, data=body, headers=told, ssl=_trust(client.get("caBundle"))) as answer:
                text = await answer.read()
                wait = answer.headers.get("Retry-After", "")
                if retry == MOST_RETRIES or not wait.isdecimal() or not _passing(answer.status):
                    return _checked(answer, text)
            await asyncio.sleep(int(wait))
        raise AssertionError

    def _unreachable(self, service: JSON) -> str:
        there = self._store.get(Key("services", service["namespace"], service["name"]))
        if there is None:
            return f'service "{service["name"]}" not found'
        host = there.json()["spec"].get("clusterIP", "")
        why = "network is unreachable: the sandbox has no Services that can be reached, give clientConfig.url"
        return f"dial tcp {host}:{service.get('port', 443)}: connect: {why}"


NO_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=None, sock_read=None, sock_connect=None)


def address(client: JSON, seconds: int | None) -> str:
    """The URL that is called."""
    query = f"timeout={seconds}s" if seconds else ""
    if (service := client.get("service")) is not None:
        host = f"{service['name']}.{service['namespace']}.svc:{service.get('port') or 443}"
        return urlunsplit(("https", host, _clean(service.get("path") or ""), query, ""))
    parts = urlsplit(str(client["url"]))
    return urlunsplit((str(parts.scheme), str(parts.netloc), _clean(parts.path), query, ""))


def _clean(path: str) -> str:
    """Without empty parts and a slash at the end, as Go's client joins paths."""
    return "/" + posixpath.normpath(path).strip("/.") if path.strip("/") else "/"


def _passing(status: int) -> bool:
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _checked(answer: aiohttp.ClientResponse, text: bytes) -> bytes:
    """The body of an answer that is one. Raises `Unanswered`."""
    kind = answer.headers.get("Content-Type", "")
    if not HTTPStatus.OK <= answer.status < HTTPStatus.PARTIAL_CONTENT + 1:
        raise Unanswered(_said(answer.status, text, kind))
    if not text:
        raise Unanswered(f"0-length response with status code: {answer.status} and content type: {kind}")
    return text


def _said(status: int, text: bytes, kind: str) -> str:
    """What an answer with such a code comes to."""
    if message := _status_message(text):
        return message
    if (known := SAID_BY_CODE.get(HTTPStatus(status) if status in CODES else HTTPStatus.OK)) is not None:
        return known
    shown = text.decode(errors="replace").strip() if kind.startswith("text/") else ""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return f'an error on the server ("{shown or "unknown"}") has prevented the request from succeeding'
    if status == HTTPStatus.FORBIDDEN:
        return shown or "unknown"
    return f"the server responded with the status code {status} but did not return more information"


CODES = frozenset(int(one) for one in HTTPStatus)


def _status_message(text: bytes) -> str:
    """The message of a `Status`; "" if it is none."""
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ""
    is_status = isinstance(said, dict) and said.get("kind") == "Status" and said.get("status") == "Failure"
    return str(said.get("message") or "") if is_status else ""


@lru_cache(maxsize=256)
def _trust(bundle: str | None) -> ssl.SSLContext:
    """Whom to trust: a `caBundle`, or without one the authorities that this machine trusts."""
    if not bundle:
        return ssl.create_default_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=base64.b64decode(bundle).decode("ascii"))
    except (ssl.SSLError, binascii.Error, UnicodeDecodeError):
        pass  # then nobody is trusted, which the handshake tells
    return context


def _why(error: Exception) -> str:
    """Why a connection failed."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return UNTRUSTED + _mistrust(error.certificate_error)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        host = f"[{error.host}]" if ":" in error.host else error.host
        said = (error.os_error.strerror or str(error.os_error)).partition("[")[0].strip().lower()
        shown = "connection refused" if isinstance(error.os_error, ConnectionRefusedError) else said
        return f"dial tcp {host}:{error.port}: connect: {shown}"
    return "EOF" if isinstance(error, aiohttp.ServerDisconnectedError) else str(error)


def _mistrust(error: Exception) -> str:
    code, said = getattr(error, "verify_code", 0), getattr(error, "verify_message", str(error))
    if code == WRONG_HOST:
        return str(said)
    if code in EXPIRED:
        return f"certificate has expired or is not yet valid: {said}"
    return "certificate signed by unknown authority"
