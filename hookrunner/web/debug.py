"""The debug endpoint: queues, hooks, snapshots, modules, addons, the cloud and runtime parameters, for a person beside
the process (docs/operations.md). Meant for a Unix socket that only its user can open; over TCP only if asked for, then
`OverTcp` says what is refused.

Everything shown comes from the functions of `Views`; asking changes nothing. What can be changed while the program runs
(`Parameters`) is `log.level` and nothing else.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, field

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from hookrunner import log, options
from hookrunner.errors import BadConfig
from hookrunner.model.needs import ProgramStatus
from hookrunner.model.status import QueueDump, SnapshotDump
from hookrunner.model.timestamps import rfc3339
from hookrunner.web.formats import (
    FORMAT,
    answer,
    answer_request,
    format_of,
    list_routes,
    main_queue,
    queue_json,
    queue_text,
    queues_json,
    queues_text,
    snapshots_json,
)
from hookrunner.web.views.addon_routes import addon_routes
from hookrunner.web.views.cloud_routes import cloud_routes
from hookrunner.web.views.module_routes import module_routes
from hookrunner.web.views.pages import DebugPages
from hookrunner.web.views.stack_routes import stack_routes
from hookrunner.web.views.unit_routes import release_routes, value_routes
from kubetypes import foreign_pages
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)

WITHHELD = (
    "not shown over TCP (--debug-http-addr), since it may hold values of --config-secret: ask over the debug socket, "
    "with 'hookrunner module', 'hookrunner addon' or 'hookrunner raw {path}' beside the program"
)


@dataclass(frozen=True, slots=True)
class OverTcp:
    """The differences of the debug endpoint over TCP from its socket, which only its user can open.

    Other users of the machine reach it there, and so do web pages in a browser: foreign ones are refused. If values
    come from a Secret (`--config-secret`), it shows neither values nor what is made of them: hooks may have put any
    value into any other, templates into any manifest, and the Secret itself may be in a snapshot.

    `host` is the host of `--debug-http-addr`; `secret` says whether values may come from a Secret.
    """

    host: str
    secret: bool

    def guard(self) -> Middleware:
        """A middleware that answers 403 to requests of foreign web pages."""

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            arrived = request.transport.get_extra_info("sockname") if request.transport else None
            ours = {self.host.lower(), *(arrived[:1] if arrived else ())}
            if objection := foreign_pages.objection(request.headers, request.host, ours):
                raise web.HTTPForbidden(
                    text=f"the debug endpoint does not answer {objection}: ask as localhost, or as the host of "
                    "--debug-http-addr"
                )
            return await handler(request)

        return check

    def shown(self, private: Iterable[web.RouteDef]) -> list[web.RouteDef]:
        """Routes that show values, or refuse to."""
        if not self.secret:
            return list(private)
        return [web.route(route.method, route.path, _withhold) for route in private]


async def _withhold(request: web.Request) -> web.StreamResponse:
    raise web.HTTPForbidden(text=WITHHELD.format(path=request.path))


@dataclass(frozen=True, slots=True)
class Parameter:
    """`apply` makes a value count, or raises ValueError for a wrong one. A value of `brief` lasts that many seconds if
    no duration is given."""

    name: str
    description: str
    default: str
    apply: Callable[[str], None]
    brief: tuple[tuple[str, float], ...] = ()


def log_level(level: str) -> Parameter:
    """The level of our own log, `level` from the settings. A forgotten `debug` would fill disks: 30 minutes."""
    words = ", ".join(log.LEVELS)
    brief = (("debug", 1800.0), ("trace", 1800.0))
    return Parameter("log.level", f"Level of the log: {words}.", level, log.set_level, brief)


@dataclass(slots=True)
class _ParameterState:
    lasting: str
    value: str
    error: str = ""
    expires: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def changed(self, value: str) -> None:
        """Adopt a new value and cancel the expiry of the one before."""
        if self.timer is not None:
            self.timer.cancel()
        self.value, self.error, self.timer = value, "", None


class Parameters:
    """The parameters and their present values. A change may be for a time; a timer ends it and the last lasting value
    comes back."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = {parameter.name: parameter for parameter in parameters}
        self._states = {
            parameter.name: _ParameterState(parameter.default, parameter.default) for parameter in parameters
        }

    def set(self, name: str, value: str, seconds: float = 0.0) -> None:
        """Change a value, for good or for `seconds`. Raises BadConfig for a name or value that does not exist."""
        if name not in self._parameters:
            raise BadConfig(f'unknown runtime parameter "{name}"')
        parameter, state = self._parameters[name], self._states[name]
        try:
            parameter.apply(value)
        except ValueError as error:
            state.error = str(error)
            raise BadConfig(f"'value' parameter is invalid: {error}") from error
        state.changed(value)
        seconds = seconds or dict(parameter.brief).get(value, 0.0)
        if seconds:
            state.expires = time.time() + seconds
            state.timer = asyncio.get_running_loop().call_later(seconds, self._restore, name)
        else:
            state.lasting = value

    def as_json(self) -> JSON:
        """A list of objects of strings."""
        return [self._shown(self._parameters[name]) for name in sorted(self._parameters)]

    def as_text(self) -> str:
        """The same as a table."""
        rows = [("NAME", "VALUE", "EXPIRE AT", "DESCRIPTION")]
        for shown in self.as_json():
            text = f"Error: {shown['lastError']}" if "lastError" in shown else shown["description"]
            rows.append((shown["name"], shown["value"], shown.get("expireAt", ""), text))
        return "".join(f"{name:<30} {value:<20} {expires:<20} {text:<40}\n" for name, value, expires, text in rows)

    def _shown(self, parameter: Parameter) -> JSON:
        state = self._states[parameter.name]
        shown = {
            "name": parameter.name,
            "description": parameter.description,
            "default": parameter.default,
            "value": state.value,
        }
        if state.timer is not None:
            shown["expireAt"] = rfc3339(state.expires)
        if state.error:
            shown["lastError"] = state.error
        return shown

    def _restore(self, name: str) -> None:
        """The time is over."""
        state = self._states[name]
        self._parameters[name].apply(state.lasting)
        _log.info("parameter expired", parameter=name, value=state.lasting, expired=state.value)
        state.changed(state.lasting)


@dataclass(frozen=True, slots=True)
class Views:
    """Where the answers come from. `snapshots` takes a hook's name and gives None for one that does not exist; `status`
    is the whole program's; `pages` has those of the other parts as they begin."""

    queues: Callable[[], Sequence[QueueDump]]
    hooks: Callable[[], Sequence[str]]
    snapshots: Callable[[str], Sequence[SnapshotDump] | None]
    parameters: Parameters
    pages: DebugPages = field(default_factory=DebugPages)
    status: Callable[[], ProgramStatus] = ProgramStatus


def application(views: Views, tcp: OverTcp | None = None) -> web.Application:
    """The routes, for the socket or for TCP. Serve them with `listen.serve`."""
    routes = _Routes(views)
    app = web.Application(middlewares=[_plain_errors, *([tcp.guard()] if tcp else [])])
    private = [
        # The name may have slashes, as hooks in sub-directories have, and `%2F` means the same.
        web.get("/hook/{name:.*}/snapshots" + FORMAT, routes.snapshots),
        *value_routes(views.pages),
    ]
    app.add_routes(
        [
            web.get("/", routes.alive),
            web.get("/status" + FORMAT, routes.status),
            web.get("/queue/main" + FORMAT, routes.main_queue),
            web.get("/queue/list" + FORMAT, routes.all_queues),
            web.get("/hook/list" + FORMAT, routes.hooks),
            web.get("/config/list" + FORMAT, routes.parameters),
            web.post("/config/set", routes.set_parameter),
            *(tcp.shown(private) if tcp else private),
            *release_routes(views.pages),
            *module_routes(views.pages),
            *addon_routes(views.pages),
            *cloud_routes(views.pages),
            *stack_routes(),
            web.get("/discovery", list_routes),
        ]
    )
    return app


class _Routes:
    def __init__(self, views: Views) -> None:
        self._views = views

    async def alive(self, _request: web.Request) -> web.Response:
        return web.Response(text="debug endpoint is alive")

    async def status(self, request: web.Request) -> web.Response:
        return answer_request(request, asdict(self._views.status()))

    async def main_queue(self, request: web.Request) -> web.Response:
        form, queue = format_of(request.match_info["format"]), main_queue(self._views.queues())
        return answer(queue_text(queue) if form == "text" else queue_json(queue), form)

    async def all_queues(self, request: web.Request) -> web.Response:
        form, show_empty = format_of(request.match_info["format"]), request.query.get("showEmpty") == "true"
        shown = queues_text if form == "text" else queues_json
        return answer(shown(self._views.queues(), show_empty), form)

    async def hooks(self, request: web.Request) -> web.Response:
        return answer_request(request, list(self._views.hooks()))

    async def snapshots(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if not name:
            raise web.HTTPBadRequest(text="'hook' parameter is required")
        snapshots = self._views.snapshots(name)
        if snapshots is None:
            raise web.HTTPNotFound(text=f"hook '{name}' is not exist")
        return answer_request(request, snapshots_json(snapshots))

    async def parameters(self, request: web.Request) -> web.Response:
        form, parameters = format_of(request.match_info["format"]), self._views.parameters
        return answer(parameters.as_text() if form == "text" else parameters.as_json(), form)

    async def set_parameter(self, request: web.Request) -> web.Response:
        """Form fields `name`, `value`, and `duration` (a Go duration) for a change that ends by itself."""
        form = {key: str(value) for key, value in (await request.post()).items()}
        if not form.get("name"):
            raise web.HTTPBadRequest(text="'name' parameter is required")
        try:
            seconds = _seconds(form.get("duration", ""))
            self._views.parameters.set(form["name"], form.get("value", ""), seconds)
        except BadConfig as error:
            raise web.HTTPBadRequest(text=str(error)) from error
        _log.info("parameter changed", parameter=form["name"], value=form["value"], duration=form.get("duration", ""))
        return web.Response()


def _seconds(text: str) -> float:
    try:
        seconds = options.duration(text or "0")
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise BadConfig(f'parse duration "{text}" failed: it has to look like 30s, 10m or 1h30m')
    return seconds


@web.middleware
async def _plain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Errors as a line of text, in Go's words where the predecessor's clients know them."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        own = "404 page not found" if error.status == 404 else error.reason
        text = error.text if error.text != f"{error.status}: {error.reason}" else own
        return web.Response(text=f"{text}\n", status=error.status)
    except Exception as error:
        _log.exception("debug request failed", uri=request.path_qs)
        return web.Response(text=f"internal error, see the log: {error}\n", status=500)
