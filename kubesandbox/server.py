"""The sandbox over HTTP: requests, answers, and a `Status` for everything that is refused.

Nothing that a client sends may do more than get an answer: an unexpected exception is a bug, logged, and answered 500.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus

import orjson
from aiohttp import HttpVersion11, Payload, web

from kubesandbox import status
from kubesandbox.faults import Faults
from kubesandbox.http import answers, documents
from kubesandbox.http.api_request import ApiRequest, understood
from kubesandbox.http.authentication import authenticate
from kubesandbox.http.slow_clients import Held, in_time
from kubesandbox.query import parameters, requests
from kubesandbox.query.requests import DeleteParameters
from kubesandbox.status import NoPage, Refused
from kubesandbox.verbs import bodies, patching, reading, rules, subresources, watching
from kubesandbox.verbs.api import Api
from kubesandbox.verbs.bodies import Body
from kubesandbox.verbs.patching import Patch
from kubesandbox.verbs.rules import Object
from kubesandbox.verbs.verbs import Verbs, Written
from kubesandbox.webhooks.gates import Gates, of_deletion, of_write
from kubetypes.http_connections import AT_ONCE, Pieces

WATCH_SECONDS = 3600
"""How long a watch lasts whose client names no timeout; real servers take 30 to 60 minutes."""

SUCCESS: dict[str, object] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

LEEWAY = 0.1
"""Seconds that a watch lasts longer than it was asked to: a client that gives up after the same time does so first."""

_log = logging.getLogger(__name__)


class SandboxServer:
    """Answers requests. Each must carry `token`, if there is one (`http/authentication.py`)."""

    def __init__(self, api: Api, faults: Faults, token: str = "") -> None:
        self._api = api
        self._faults = faults
        self._token = token
        self._gates = Gates(api.store, api.kinds)
        self._held = Held()

    async def close(self) -> None:
        """Hang up where this is a client: of webhooks."""
        await self._gates.close()

    async def answer(self, http: web.BaseRequest) -> web.StreamResponse:
        """The handler for every request. Answers are written here and not left to aiohttp, which sets no limit to the
        time in which a client takes them."""
        try:
            response = await self._response(http)
            if not response.prepared:
                with suppress(ConnectionError):
                    async with self._held.sending(http.protocol, _size(response)):
                        await response.prepare(http)
                        await response.write_eof()
            return response
        finally:
            self._held.release(http.protocol)

    async def _response(self, http: web.BaseRequest) -> web.StreamResponse:
        """The answer, or the refusal."""
        try:
            return await self._answer_request(http)
        except Refused as refused:
            return _refusal(http, refused)
        except RecursionError:
            return _refusal(http, status.bad_request(bodies.TOO_DEEP_HERE))
        except ConnectionError:
            return web.Response(status=HTTPStatus.BAD_REQUEST)  # is not sent: the connection is gone
        except Exception as error:
            _log.error("the request %s %s met a bug", http.method, http.path_qs, exc_info=error)
            message = f"Internal error occurred: {type(error).__name__}: {error}"
            return _refusal(http, Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", message))

    async def _answer_request(self, http: web.BaseRequest) -> web.StreamResponse:
        authenticate(http, self._token)
        await self._faults.before(http)
        if http.path.startswith("/_sandbox/"):
            return await self._administer(http)
        query = parameters.parsed(http.rel_url.raw_query_string)
        shown = documents.at(http.path, query, http.headers, self._api.kinds)
        if shown is not None:
            if http.method not in ("GET", "HEAD"):
                raise status.method_not_allowed()
            return web.Response(body=shown.body, headers=shown.headers, status=shown.code)
        asked = understood(http, query, self._api.kinds)
        try:
            response = await _DO[asked.verb](self, asked)
        except Refused as refused:
            response = _refusal(http, refused)
        if not response.prepared:
            response.headers.extend(answers.warning_headers([*asked.warnings, asked.kind.deprecation]))
        return response

    async def _administer(self, http: web.BaseRequest) -> web.Response:
        """`POST /_sandbox/compact[?revision=N]` forgets history; the rest is for `faults.py`."""
        if (http.method, http.path) == ("POST", "/_sandbox/compact"):
            said: object = {"compacted": self._api.store.compact(parameters.number(http.query, "revision") or None)}
        else:
            said = await self._faults.administer(http, await self._read(http))
        return web.Response(body=orjson.dumps(said), headers={"Content-Type": "application/json"})

    # ── verbs ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _get(self, asked: ApiRequest) -> web.StreamResponse:
        if version := asked.query.get("resourceVersion"):
            reading.check_not_ahead(self._api.store, parameters.version_to_wait_for(version))
        stored = reading.found(self._api.store, asked.kind, asked.where)
        await self._gates.converter.prepare(asked.kind, [stored])
        if asked.where.subresource not in ("", "status"):
            return self._one(asked, subresources.get(asked.kind, asked.where, reading.obj(asked.kind, stored)))
        return _response(asked, answers.one(asked.form, asked.kind, reading.body(asked.kind, stored), self._api.now()))

    async def _list(self, asked: ApiRequest) -> web.StreamResponse:
        options = requests.list_options(asked.query, watch=False)
        found = reading.find(self._api.store, asked.kind, asked.where.namespace, options)
        await self._gates.converter.prepare(asked.kind, found.needed())
        page = reading.page(asked.kind, found)
        return _response(asked, answers.listed(asked.form, asked.kind, page, self._api.now()))

    async def _create(self, asked: ApiRequest) -> web.StreamResponse:
        options = requests.write_options(asked.query, asked.verb, asked.user_agent)
        body = await self._body(asked)
        verbs = self._verbs(asked, of_write(asked.query))
        if asked.where.subresource:
            await subresources.create(verbs, asked.kind, asked.where, options, body.value)
            return _response(asked, answers.dumped(asked.form, SUCCESS | {"code": 201}), HTTPStatus.CREATED)
        return self._written(asked, await verbs.create(asked.kind, asked.where, options, body))

    async def _update(self, asked: ApiRequest) -> web.StreamResponse:
        options = requests.write_options(asked.query, asked.verb, asked.user_agent)
        body = await self._body(asked)
        verbs = self._verbs(asked, of_write(asked.query))
        done = await subresources.update(verbs, asked.kind, asked.where, options, body)
        return self._written(asked, done)

    async def _patch(self, asked: ApiRequest) -> web.StreamResponse:
        patching.check_type(asked.content_type, asked.kind)
        apply = asked.content_type == patching.APPLY
        options = requests.write_options(asked.query, asked.verb, asked.user_agent, apply)
        patch = Patch(asked.content_type, (await self._body(asked)).value)
        verbs = self._verbs(asked, of_write(asked.query))
        done = await subresources.patch(verbs, asked.kind, asked.where, options, patch)
        return self._written(asked, done)

    async def _delete(self, asked: ApiRequest) -> web.StreamResponse:
        options = await self._delete_options(asked)
        done = await self._verbs(asked, of_deletion(options)).delete(asked.kind, asked.where, options)
        if not done.gone or rules.shown_when_gone(asked.kind):
            return self._written(asked, done)
        meta = done.obj["metadata"]
        about = {"name": meta["name"], "group": asked.kind.group, "kind": asked.kind.plural, "uid": meta["uid"]}
        details = {key: value for key, value in about.items() if value}
        return _response(asked, answers.dumped(asked.form, SUCCESS | {"details": details}))

    async def _delete_collection(self, asked: ApiRequest) -> web.StreamResponse:
        listed = requests.list_options(asked.query, watch=False)
        options = await self._delete_options(asked)
        done = await self._verbs(asked, of_deletion(options)).delete_collection(
            asked.kind, asked.where, listed, options
        )
        page = reading.Page([orjson.dumps(one.obj) for one in done], self._api.store.revision)
        return _response(asked, answers.listed(asked.form, asked.kind, page, self._api.now()))

    async def _watch(self, asked: ApiRequest) -> web.StreamResponse:
        options = requests.list_options(asked.query, watch=True)
        watch = watching.opened(self._api.store, asked.kind, asked.where.namespace, options)
        deadline = asyncio.get_running_loop().time() + (options.timeout or WATCH_SECONDS) + LEEWAY
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(asked.http)
        first = True
        world = watching.WatchSources(self._api.store, self._api.kinds, self._gates.converter)
        events = watching.events(world, watch, deadline)
        with suppress(ConnectionError):  # the client has gone, as every watch ends some day
            async for event in self._faults.through(asked.http, response, events):
                line = answers.event(asked.form, asked.kind, event, self._api.now(), first)
                async with self._held.sending(asked.http.protocol, len(line)):
                    await response.write(line)
                first = False
        return response

    def _verbs(self, asked: ApiRequest, options: Object) -> Verbs:
        """The verbs for one request; `options` are what reviews show of it."""
        api, gates = self._api, self._gates
        return Verbs(api.store, api.kinds, api.now, gates.gate(asked, options), gates.converter)

    # ── bodies and answers ────────────────────────────────────────────────────────────────────────────────────────

    async def _read(self, http: web.BaseRequest) -> bytes:
        """The whole body. Raises Refused 413 as soon as it is too much, ConnectionError where it takes too long."""
        if http.headers.get("Expect", "").lower() == "100-continue" and http.version >= HttpVersion11:
            assert http.transport is not None
            http.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        text = bytearray()
        async with in_time(http.protocol):
            async for chunk in http.content.iter_any():
                text += chunk
                self._held.add(http.protocol, len(chunk))
                if len(text) > bodies.LIMIT:
                    raise bodies.too_large()
        return bytes(text)

    async def _body(self, asked: ApiRequest) -> Body:
        return bodies.parsed(await self._read(asked.http), asked.content_type, asked.kind.kind)

    async def _delete_options(self, asked: ApiRequest) -> DeleteParameters:
        text = await self._read(asked.http)
        body = bodies.parsed(text, asked.content_type, "DeleteOptions").value if text else None
        return requests.delete_options(asked.query, body, asked.verb)

    def _written(self, asked: ApiRequest, done: Written) -> web.Response:
        code = HTTPStatus.CREATED if done.created else HTTPStatus.OK
        asked.warnings[:0] = done.warnings
        return self._one(asked, done.obj, code)

    def _one(self, asked: ApiRequest, obj: dict[str, object], code: int = HTTPStatus.OK) -> web.Response:
        return _response(asked, answers.one(asked.form, asked.kind, orjson.dumps(obj), self._api.now()), code)


_DO: dict[str, Callable[[SandboxServer, ApiRequest], Awaitable[web.StreamResponse]]] = {
    "get": SandboxServer._get,
    "list": SandboxServer._list,
    "watch": SandboxServer._watch,
    "create": SandboxServer._create,
    "update": SandboxServer._update,
    "patch": SandboxServer._patch,
    "delete": SandboxServer._delete,
    "deletecollection": SandboxServer._delete_collection,
}


def _response(asked: ApiRequest, body: bytes, code: int = HTTPStatus.OK) -> web.Response:
    """A large body is sent in pieces: aiohttp would keep a copy of what a client has not taken yet."""
    sent = body if len(body) <= AT_ONCE else Pieces([body])
    return web.Response(body=sent, status=code, headers={"Content-Type": asked.form.content_type})


def _size(response: web.StreamResponse) -> int:
    body = response.body if isinstance(response, web.Response) else None
    return (body.size if isinstance(body, Payload) else len(body or b"")) or 0


def _refusal(http: web.BaseRequest, refused: Refused) -> web.Response:
    if isinstance(refused, NoPage):
        return web.Response(text=f"{refused.message}\n", status=refused.code)
    form = answers.form_of_refusals(http.headers.get("Accept", ""))
    headers = {"Content-Type": form.content_type}
    if refused.retry_after:
        headers["Retry-After"] = str(refused.retry_after)
    if refused.code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        headers["Connection"] = "close"  # the rest of the body is not read
    return web.Response(body=answers.dumped(form, refused.json()), status=refused.code, headers=headers)
