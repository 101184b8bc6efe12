"""HTTP to the API server: sends one request, returns the answer or raises an error of `errors.py`.

    async with Client(credentials, meter) as client:
        pods = await client.get("/api/v1/pods", {"limit": "500"})
        await client.send(ApiCall("DELETE", "/api/v1/namespaces/a/pods/b"))
        async with aclosing(client.stream("/api/v1/pods", {"watch": "true"}, idle=75)) as chunks:
            async for lines in chunks: ...

It does not know kinds or objects: bodies are bytes or parsed JSON, never models. One aiohttp session with any
number of connections. Answers are requested uncompressed: on one network, compression costs more than it saves.
Failures and answers are noted in an `Outage`, which all clients of one cluster share.

Requests are repeated here if the server asked for it (429 or 5xx with Retry-After), if no connection could be made, so
that nothing was sent, and once after a 401, with renewed credentials. Other failures are the caller's, who knows better
what they mean. A `stream` is never repeated.
"""

import asyncio
import io
import re
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from typing import Protocol, Self

import aiohttp
import orjson
from yarl import URL

from hookrunner import __version__, log
from hookrunner.errors import ApiError, Cut, Denied, KubeError, NotLeader, Silent, Throttled, Unreachable, api_error
from hookrunner.kube import deep_json, refusals
from hookrunner.kube.back_off import Outage, TokenBucket
from hookrunner.kube.credentials import Connection, Credentials
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_HEADERS = {"Accept-Encoding": "identity", "User-Agent": f"hookrunner/{__version__}"}
_CONNECT_TIMEOUT = 10.0
_ANSWER_TIMEOUT = 30.0
"""Seconds until the headers of a stream; the server itself waits up to 3 s for its cache to be fresh."""

_QUIET = 0.5
"""Seconds after the headers of a stream within which a server that refuses has sent its error."""

_log = log.get(__name__)
_READ_BUFFER = 256 * 1024
JSON_TYPE = "application/json"
METADATA = f"{JSON_TYPE};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON_TYPE}"
METADATA_LIST = f"{JSON_TYPE};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON_TYPE}"
"""What to accept for only `metadata` of objects; complete ones from a server that cannot leave the rest out.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches"""

_NAMESPACE = re.compile(r"/namespaces/([^/]+)/")
_PAUSES = (0.1, 0.5, 2.0)
_LONGEST_PAUSE = 10.0
_SHOWN = 200

_Params = Mapping[str, str]


class RequestMeter(Protocol):
    """Counts requests. `url` names no object; `code` is the status or `<error>`."""

    def request_finished(self, verb: str, url: str, host: str, code: str, seconds: float) -> None:
        """A request was answered, at least its headers, or failed."""

    def waited(self, verb: str, url: str, seconds: float) -> None:
        """A request was held back, by our own limit or because the server asked for a pause."""


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One request. `path` begins with a slash, already quoted; `body` is JSON; `timeout` covers all repetitions.
    `largest` is how many bytes of an answer are read, 0 for all; more raises KubeError. `user` is the one as which the
    request acts, empty: the client's own."""

    method: str
    path: str
    params: _Params = field(default_factory=dict)
    body: JSON = None
    content_type: str = JSON_TYPE
    accept: str = JSON_TYPE
    timeout: float = 60.0
    largest: int = 0
    user: str = ""


class Client:
    """An asynchronous context manager that owns the connections.

    All calls raise `ApiError` and its leaves for an answer with an error status, `Unreachable` and its leaves without.
    `loud` logs each request at the info level, not at the debug level. `outage` tells whether the server is
    unreachable.
    """

    def __init__(
        self,
        credentials: Credentials,
        meter: RequestMeter,
        pace: TokenBucket | None = None,
        loud: bool = False,
        outage: Outage | None = None,
    ) -> None:
        self.outage = outage or Outage()
        self._credentials = credentials
        self._meter = meter
        self._pace = pace
        self._loud = loud
        self._level = "info" if loud else "debug"
        self.lacked = credentials.lacked
        self._tls: tuple[tuple[object, ...], ssl.SSLContext | bool] = ((), True)

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            headers=_HEADERS,
            read_bufsize=_READ_BUFFER,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def get(
        self, path: str, params: _Params | None = None, accept: str = JSON_TYPE, timeout: float = 60.0
    ) -> JSON:
        """The parsed answer to a GET, see `deep_json`. Raises KubeError, also for one that is not JSON."""
        body = await self.send(ApiCall("GET", path, params or {}, accept=accept, timeout=timeout))
        try:
            with suppress(orjson.JSONDecodeError):
                return orjson.loads(body)
            return deep_json.parse(body)
        except orjson.JSONDecodeError as error:
            raise KubeError(f"GET {path}: the answer cannot be read as JSON: {error}") from None

    async def send(self, call: ApiCall) -> bytes:
        """The body of the answer."""
        try:
            async with asyncio.timeout(call.timeout):
                return await self._send_repeatedly(call)
        except TimeoutError as error:
            raise Unreachable(f"{call.method} {call.path}: no answer within {call.timeout:g} s") from error

    async def stream(
        self, path: str, params: _Params, idle: float, accept: str = JSON_TYPE
    ) -> AsyncGenerator[list[bytes], None]:
        """Yield the lines of an endless answer, in lists as they arrive; the first list is empty and means "accepted".
        If the server then sends nothing for a moment, another empty list means that it has not refused: some errors
        come as the first line.

        Ends when the server ends it. Raises `Silent` after `idle` seconds without a byte, `Cut` if the connection
        breaks. Close it with `aclosing`: an abandoned stream keeps its connection until the garbage collector comes.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT, sock_read=idle)
        async with self._open(ApiCall("GET", path, params, accept=accept), timeout) as response:
            yield []
            try:
                async for lines in _lines(response.content):
                    if lines:
                        self.outage.note_sign()
                    yield lines
                    del lines
            except TimeoutError as error:
                raise Silent(f"GET {path}: nothing heard for {idle:g} s") from error
            except (aiohttp.ClientError, OSError) as error:
                raise Cut(f"GET {path}: {refusals.describe_error(error)}") from error

    async def _send_repeatedly(self, call: ApiCall) -> bytes:
        for pause in _PAUSES:
            try:
                return await self._send_once(call)
            except (Throttled, Unreachable) as error:
                seconds = _pause(error, pause)
                self._meter.waited(call.method, template(call.path), seconds)
                # In full if the server has asked for it, otherwise until an outage ends.
                await (asyncio.sleep(seconds) if isinstance(error, Throttled) else self.outage.sleep(seconds))
        return await self._send_once(call)

    async def _send_once(self, call: ApiCall) -> bytes:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT)
        async with self._open(call, timeout) as response:
            try:
                return await (_read_at_most(call, response.content) if call.largest else response.read())
            except (aiohttp.ClientError, OSError) as error:
                raise Cut(f"{call.method} {call.path}: {refusals.describe_error(error)}") from error

    @asynccontextmanager
    async def _open(self, call: ApiCall, timeout: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response with a good status, its body still unread."""
        connection = await self._credentials.fresh()
        try:
            response = await self._attempt(call, connection, timeout)
        except Denied as error:
            renewed = await self._credentials.renew(connection) if error.status == 401 else connection
            if renewed is connection:
                raise
            response = await self._attempt(call, renewed, timeout)
        try:
            yield response
        finally:
            if not response.content.at_eof():
                response.close()
            response.release()

    async def _attempt(
        self, call: ApiCall, connection: Connection, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        if self._pace and (held := await self._pace.turn()):
            self._meter.waited(call.method, template(call.path), held)
        self._check(call)
        started, code = time.monotonic(), "<error>"
        try:
            async with asyncio.timeout(_ANSWER_TIMEOUT if timeout.sock_read else None):
                response = await self._request(call, connection, timeout)
            code = str(response.status)
        except (aiohttp.ClientError, OSError) as error:
            unreachable = Unreachable(refusals.describe_unreachable(error, connection))
            self.outage.note_failure(unreachable)
            raise unreachable from error
        finally:
            host, seconds = URL(connection.server).authority, time.monotonic() - started
            self._meter.request_finished(call.method, template(call.path), host, code, seconds)
            _log.log(self._level, "request", method=call.method, path=call.path, code=code, seconds=round(seconds, 4))
        self.outage.note_answer(response.status)
        if response.status >= 300:
            refusal = await _refusal(call, response)
            self._note_right(call, refusal.raw)
            raise refusals.explain_credentials(refusals.name_missing_rule(refusal, call.body, call.user), connection)
        self._note_right(call)
        return response

    def _note_right(self, call: ApiCall, message: str = "") -> None:
        """Note whether there was a right. A watch has one of its own, and so have what is selected by its name and each
        role that is created, since it is refused for what it grants. What a user lacks as which the request acts is not
        ours; that we may not act as this user is."""
        if call.user and not refusals.is_impersonation(message):
            message = ""
        if message or self.lacked.refused:
            place = _NAMESPACE.search(call.path)
            verb = "watch" if "watch" in call.params else call.method
            is_new_role = call.method == "POST" and "/rbac.authorization.k8s.io/" in call.path
            role = call.body["metadata"].get("name") if is_new_role else None
            request = (verb, call.path, call.params.get("fieldSelector") or role, call.user)
            self.lacked.note(request, message, place[1] if place else "", call.body)

    def _check(self, call: ApiCall) -> None:
        """May this be sent now? Raises KubeError."""

    async def _request(
        self, call: ApiCall, connection: Connection, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": call.accept}
        if connection.authorization:
            headers["Authorization"] = connection.authorization
        if call.user:
            headers["Impersonate-User"] = call.user
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        return await self._session.request(
            call.method,
            URL(connection.server + call.path, encoded=True),
            params=call.params,
            # As a file: aiohttp warns of bytes of more than 1 MiB, which a release's record can be.
            data=None if call.body is None else io.BytesIO(orjson.dumps(call.body)),
            headers=headers,
            timeout=timeout,
            ssl=self._context(connection),
            proxy=connection.proxy or None,
            server_hostname=connection.tls_server_name or None,
            allow_redirects=False,
        )

    def _context(self, connection: Connection) -> ssl.SSLContext | bool:
        """One context per set of certificates: another context also means other pooled connections, which is what
        a renewed client certificate needs."""
        needed = any(url.startswith("https:") for url in (connection.server, connection.proxy))
        material = (needed, connection.ca, connection.cert, connection.key, connection.insecure)
        if self._tls[0] != material:
            self._tls = (material, connection.tls() if needed else True)
        return self._tls[1]


class FencedClient(Client):
    """A client of a replica that writes only while it leads: `leads()` is asked directly before each request. Tasks are
    cancelled when a replica stops to lead, but one that was stopped itself for a while (SIGSTOP, a busy host) would
    first go on with what it was about to do. It shares the rate limit, the outage and the loudness of `twin`."""

    def __init__(
        self, credentials: Credentials, meter: RequestMeter, leads: Callable[[], bool], twin: Client | None = None
    ) -> None:
        if twin:
            super().__init__(credentials, meter, twin._pace, twin._loud, twin.outage)
        else:
            super().__init__(credentials, meter)
        self._leads = leads

    def _check(self, call: ApiCall) -> None:
        if call.method != "GET" and not self._leads():
            raise NotLeader(f"{call.method} {call.path} was not sent: this replica does not lead")


async def get_list(client: Client, path: str, params: _Params, *, metadata_only: bool) -> JSON:
    """A list or a page of one, whose `items` are a list: where an API server has the metadata of no objects to send,
    they are null, and some aggregated APIs leave them out. All lists of objects are read here. Raises KubeError."""
    page = await client.get(path, params, METADATA_LIST if metadata_only else JSON_TYPE)
    return page | {"items": page.get("items") or []}


def template(path: str) -> str:
    """A path with the names of objects and namespaces replaced, so that metrics stay few.

    `/apis/apps/v1/namespaces/a/deployments/b/scale` → `/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale`
    """
    parts = path.split("/")
    start = {"api": 3, "apis": 4}.get(parts[1] if len(parts) > 1 else "", len(parts))
    if parts[start : start + 1] == ["namespaces"] and len(parts) > start + 2:
        parts[start + 1] = "{namespace}"
        start += 2
    if len(parts) > start + 1:
        parts[start + 1] = "{name}"
    return "/".join(parts)


def _pause(error: Throttled | Unreachable, pause: float) -> float:
    """Seconds until a failed request may be sent again; raises the error if it may not be repeated."""
    if isinstance(error, Throttled) and error.retry_after is not None:
        return min(max(pause, error.retry_after), _LONGEST_PAUSE)
    if isinstance(error.__cause__, aiohttp.ClientConnectorError):
        return pause
    raise error


async def _read_at_most(call: ApiCall, content: aiohttp.StreamReader) -> bytes:
    body = bytearray()
    while chunk := await content.readany():
        body += chunk
        if len(body) > call.largest:
            raise KubeError(f"{call.method} {call.path}: the answer has more than {call.largest >> 20} MiB")
    return bytes(body)


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[list[bytes]]:
    """Yield the whole lines of each chunk, and first an empty list if no chunk arrives for a moment. An unfinished line
    grows in place: one of many MB costs no more than its size. Nothing of a chunk is kept while the next one is
    awaited, which may take a minute."""
    rest = bytearray()
    chunk = await _first(content)
    if chunk is None:
        yield []
        chunk = await content.readany()
    while chunk:
        head, newline, tail = chunk.rpartition(b"\n")
        del chunk
        lines = (bytes(rest) + head if rest else head).split(b"\n") if newline else []
        del head
        if lines:
            rest.clear()
            yield lines
        rest += tail
        del lines, tail
        chunk = await content.readany()
    if rest:
        yield [bytes(rest)]


async def _first(content: aiohttp.StreamReader) -> bytes | None:
    """The first chunk, None if the server is quiet for a moment."""
    try:
        async with asyncio.timeout(_QUIET) as timeout:
            return await content.readany()
    except TimeoutError:
        if timeout.expired():
            return None
        raise  # the connection's own limit was shorter


async def _refusal(call: ApiCall, response: aiohttp.ClientResponse) -> ApiError:
    """The error of an answer, without the values that were sent. Any other body than a `Status` came from a proxy, so
    its text is cut short."""
    try:
        body = await response.read()
    except (aiohttp.ClientError, OSError):
        body = b""
    try:
        status = orjson.loads(body)
        reason, raw = status.get("reason", ""), status.get("message", "")
        message = refusals.without_values(raw, call.body)
        pause = (status.get("details") or {}).get("retryAfterSeconds")
    except (orjson.JSONDecodeError, AttributeError):
        text = refusals.without_values(body[:_SHOWN].decode(errors="replace").strip(), call.body)
        message = raw = f"{call.method} {call.path}: HTTP {response.status} {response.reason}: {text}"
        reason, pause = "", None
    header = response.headers.get("Retry-After", "")
    return api_error(response.status, reason, message, float(header) if header.isdecimal() else pause, raw)
