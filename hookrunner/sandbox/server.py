"""The sandbox over HTTP: what comes in, what goes out, and a `Status` for everything that is refused.

Nothing that a client sends may end in more than an answer: what is not foreseen is a bug, logged, and answered 500.
The `Host` of a request is checked, so that no web page in a browser can reach a sandbox on the loopback address by a
name of its own (DNS rebinding).
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address

import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from hookrunner import log
from hookrunner.model.resources import JSON
from hookrunner.sandbox import (
    answers,
    bodies,
    documents,
    patching,
    reading,
    requests,
    rules,
    status,
    subresources,
    watching,
)
from hookrunner.sandbox.answers import Form
from hookrunner.sandbox.api import Api, Written
from hookrunner.sandbox.faults import Faults
from hookrunner.sandbox.kinds import Kind
from hookrunner.sandbox.patching import Patch
from hookrunner.sandbox.requests import Place
from hookrunner.sandbox.status import Refused

WATCH_SECONDS = 3600
"""How long a watch lasts whose client names no timeout; real servers take 30 to 60 minutes."""

_log = log.get("sandbox")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, understood as far as its path and headers go."""

    http: web.BaseRequest
    query: dict[str, str]
    form: Form
    where: Place
    kind: Kind
    verb: str

    @property
    def user_agent(self) -> str:
        """Names the field manager where no parameter does."""
        return self.http.headers.get("User-Agent", "")

    @property
    def content_type(self) -> str:
        """Without parameters; "" where none was given."""
        return self.http.headers.get("Content-Type", "").partition(";")[0].strip().lower()


class Server:
    """Answers requests. `token` is wanted in every one, if there is one; `hosts` are names that count as ours."""

    def __init__(self, api: Api, faults: Faults, token: str = "", hosts: tuple[str, ...] = ()) -> None:
        self._api = api
        self._faults = faults
        self._token = token
        self._hosts = hosts

    async def answer(self, http: web.BaseRequest) -> web.StreamResponse:
        """The handler for every request."""
        try:
            return await self._answered(http)
        except Refused as refused:
            return _refusal(refused)
        except (web.HTTPException, HttpProcessingError, ConnectionError):
            raise
        except Exception as error:
            _log.error("a request met a bug", method=http.method, path=http.path_qs, exc_info=error)
            return _refusal(Refused(500, "InternalError", f"Internal error occurred: {type(error).__name__}: {error}"))

    async def _answered(self, http: web.BaseRequest) -> web.StreamResponse:
        self._check_host(http)
        self._check_token(http)
        await self._faults.before(http)
        if http.path.startswith("/_sandbox/"):
            return await self._administer(http)
        query = requests.parsed_query(http.query_string)
        shown = documents.at(http.path, query, http.headers, self._api.kinds)
        if shown is not None:
            if http.method not in ("GET", "HEAD"):
                raise status.method_not_allowed()
            return web.Response(body=shown.body, headers=shown.headers, status=shown.code)
        where = requests.place(http.path)
        kind = self._kind(where)
        assert where is not None
        verb = requests.verb(http.method, where, query)
        form = answers.form(http.headers.get("Accept", ""), query, http.headers.get("User-Agent", ""))
        asked = Asked(http, query, form, where, kind, verb)
        _check_served(asked)
        return await _DO[verb](self, asked)

    async def _administer(self, http: web.BaseRequest) -> web.Response:
        """`POST /_sandbox/compact[?revision=N]` forgets history; the rest is for `faults.py`."""
        if (http.method, http.path) == ("POST", "/_sandbox/compact"):
            said: object = {"compacted": self._api.store.compact(requests.number(http.query, "revision") or None)}
        else:
            said = await self._faults.administer(http, await _read(http))
        return web.Response(body=orjson.dumps(said), headers={"Content-Type": "application/json"})

    def _check_host(self, http: web.BaseRequest) -> None:
        name = http.host.rpartition(":")[0] if not http.host.endswith("]") and ":" in http.host else http.host
        if name.strip("[]") not in ("localhost", *self._hosts) and not _loopback(name.strip("[]")):
            raise Refused(HTTPStatus.FORBIDDEN, "Forbidden", f"the sandbox does not answer as host {name!r}")

    def _check_token(self, http: web.BaseRequest) -> None:
        given = http.headers.get("Authorization", "").removeprefix("Bearer ")
        if self._token and not hmac.compare_digest(given.encode(), self._token.encode()):
            raise Refused(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")

    def _kind(self, where: Place | None) -> Kind:
        kind = self._api.kinds.get(where.group, where.version, where.plural) if where else None
        if where is None or kind is None:
            raise status.no_such_path()
        if (where.namespace and not kind.namespaced) or (where.name and kind.namespaced and not where.namespace):
            raise status.no_such_path()
        return kind

    # ── verbs ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _get(self, asked: Asked) -> web.StreamResponse:
        stored = reading.found(self._api.store, asked.kind, asked.where)
        if asked.where.subresource not in ("", "status"):
            return self._one(asked, subresources.get(asked.kind, asked.where, reading.obj(asked.kind, stored)))
        return _response(asked, answers.one(asked.form, asked.kind, reading.body(asked.kind, stored), self._api.now()))

    async def _list(self, asked: Asked) -> web.StreamResponse:
        options = requests.list_options(asked.query, watch=False)
        page = reading.page(self._api.store, asked.kind, asked.where.namespace, options)
        return _response(asked, answers.listed(asked.form, asked.kind, page, self._api.now()))

    async def _create(self, asked: Asked) -> web.StreamResponse:
        options = requests.write_options(asked.query, asked.verb, asked.user_agent)
        body = await _body(asked)
        if asked.where.subresource:
            return self._written(asked, subresources.create(self._api, asked.kind, asked.where, options, body))
        return self._written(asked, self._api.create(asked.kind, asked.where, options, body))

    async def _update(self, asked: Asked) -> web.StreamResponse:
        options = requests.write_options(asked.query, asked.verb, asked.user_agent)
        body = await _body(asked)
        return self._written(asked, subresources.update(self._api, asked.kind, asked.where, options, body))

    async def _patch(self, asked: Asked) -> web.StreamResponse:
        patching.check_type(asked.content_type, asked.kind)
        options = requests.write_options(asked.query, asked.verb, asked.user_agent)
        patch = Patch(asked.content_type, await _body(asked))
        return self._written(asked, subresources.patch(self._api, asked.kind, asked.where, options, patch))

    async def _delete(self, asked: Asked) -> web.StreamResponse:
        options = requests.delete_options(asked.query, await _delete_body(asked), asked.verb)
        done = self._api.delete(asked.kind, asked.where, options)
        if not done.gone or rules.shown_when_gone(asked.kind):
            return self._written(asked, done)
        meta = done.obj["metadata"]
        about = {"name": meta["name"], "group": asked.kind.group, "kind": asked.kind.plural, "uid": meta["uid"]}
        details = {key: value for key, value in about.items() if value}
        said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return _response(asked, answers.dumped(asked.form, said))

    async def _delete_collection(self, asked: Asked) -> web.StreamResponse:
        listed = requests.list_options(asked.query, watch=False)
        options = requests.delete_options(asked.query, await _delete_body(asked), asked.verb)
        done = self._api.delete_collection(asked.kind, asked.where, listed, options)
        page = reading.Page([orjson.dumps(one.obj) for one in done], self._api.store.revision)
        return _response(asked, answers.listed(asked.form, asked.kind, page, self._api.now()))

    async def _watch(self, asked: Asked) -> web.StreamResponse:
        options = requests.list_options(asked.query, watch=True)
        watch = watching.opened(self._api.store, asked.kind, asked.where.namespace, options)
        deadline = asyncio.get_running_loop().time() + (options.timeout or WATCH_SECONDS)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(asked.http)
        first = True
        events = watching.events(self._api.store, watch, deadline)
        async for event in self._faults.through(asked.http, response, events):
            await response.write(answers.event(asked.form, asked.kind, event, self._api.now(), first))
            first = False
        return response

    # ── bodies and answers ────────────────────────────────────────────────────────────────────────────────────────

    def _written(self, asked: Asked, done: Written) -> web.Response:
        code = HTTPStatus.CREATED if done.created else HTTPStatus.OK
        response = self._one(asked, done.obj, code)
        for warning in done.warnings:
            response.headers.add("Warning", f"299 - {orjson.dumps(warning).decode()}")
        return response

    def _one(self, asked: Asked, obj: dict[str, object], code: int = HTTPStatus.OK) -> web.Response:
        return _response(asked, answers.one(asked.form, asked.kind, orjson.dumps(obj), self._api.now()), code)


_DO: dict[str, Callable[[Server, Asked], Awaitable[web.StreamResponse]]] = {
    "get": Server._get,
    "list": Server._list,
    "watch": Server._watch,
    "create": Server._create,
    "update": Server._update,
    "patch": Server._patch,
    "delete": Server._delete,
    "deletecollection": Server._delete_collection,
}


def _check_served(asked: Asked) -> None:
    """Raises Refused for what cannot be done: 405, 404, or 501 where only a real API server does it."""
    where, kind = asked.where, asked.kind
    if where.subresource:
        below = kind.subresources.get(where.subresource.partition("/")[0])
        if below is None:
            raise status.no_such_path()
        if not below.served:
            raise status.not_done_here(f"{kind.plural}/{where.subresource}")
        allowed = below.verbs
    else:
        if not kind.served:
            raise status.not_done_here(kind.plural)
        allowed = kind.verbs
    if asked.verb not in allowed or (asked.verb == "create" and not _may_create(asked)):
        raise status.method_not_allowed()


def _may_create(asked: Asked) -> bool:
    """A POST goes to a collection, or to what is below an object."""
    where = asked.where
    return bool(where.subresource) or (not where.name and bool(where.namespace) == asked.kind.namespaced)


async def _read(http: web.BaseRequest) -> bytes:
    """The whole body. Raises Refused 413 as soon as it is too much."""
    text = bytearray()
    async for chunk in http.content.iter_any():
        text += chunk
        if len(text) > bodies.LIMIT:
            raise bodies.too_large()
    return bytes(text)


async def _body(asked: Asked) -> JSON:
    return bodies.parsed(await _read(asked.http), asked.content_type, asked.kind.kind)


async def _delete_body(asked: Asked) -> JSON:
    text = await _read(asked.http)
    return bodies.parsed(text, asked.content_type, "DeleteOptions") if text else None


def _response(asked: Asked, body: bytes, code: int = HTTPStatus.OK) -> web.Response:
    return web.Response(body=body, status=code, headers={"Content-Type": asked.form.content_type})


def _refusal(refused: Refused) -> web.Response:
    headers = {"Content-Type": "application/json"}
    if refused.retry_after:
        headers["Retry-After"] = str(refused.retry_after)
    if refused.code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        headers["Connection"] = "close"  # what is left of the body is nobody's
    return web.Response(body=orjson.dumps(refused.json()), status=refused.code, headers=headers)


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
