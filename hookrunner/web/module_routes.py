"""The routes of the debug endpoint for modules and the global values.

Values are shown as hooks and templates get them, those from a Secret too: a user who may open the socket runs as the
operator and can read them anyway. Only the explanation, which people pass around, leaves them out. Over TCP
`value_routes` are refused where there is a Secret (`debug.OverTcp`).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Literal, Protocol, TypeAlias

from aiohttp import web

from hookrunner.errors import HookrunnerError
from hookrunner.model.modules import GLOBAL
from hookrunner.model.releases import Adoption
from hookrunner.model.status import ModuleDump, SnapshotDump
from hookrunner.web.formats import FORMAT, answer, format_of, snapshots_json
from kubetypes.json_values import JSON

Layer: TypeAlias = Literal["values", "config"]
GraphForm: TypeAlias = Literal["text", "mermaid", "dot"]

_FORMS: Mapping[str, GraphForm] = {"text": "text", "mermaid": "mermaid", "dot": "dot"}


class Modules(Protocol):
    """What is shown of modules. `section` is `global` or a module's name, one that `knows` says yes to. Nothing is
    changed but by `rollback` and `adopt`."""

    def knows(self, section: str) -> bool:
        """Is there such a module?"""

    def rows(self) -> Sequence[ModuleDump]:
        """All modules in their order, then directories that are rejected."""

    def enabled(self) -> Sequence[str]:
        """Names of modules that are on."""

    def values(self, section: str, layer: Layer, whole: bool) -> JSON:
        """The effective values or what the user has set, None for nothing; `whole` adds the global section."""

    def explain(self, section: str) -> JSON:
        """Which layer has set each value."""

    def patches(self, section: str) -> JSON:
        """What hooks have patched in memory."""

    def hooks(self, section: str) -> Sequence[str]:
        """Names of its hooks."""

    def snapshots(self, section: str) -> Mapping[str, Sequence[SnapshotDump]]:
        """Snapshots of its hooks by their names."""

    def graph(self, form: GraphForm) -> str:
        """The graph of dependencies."""

    async def resources(self) -> JSON:
        """The watched objects, by module."""

    async def render(self, section: str, debug: bool) -> str:
        """The manifests, empty without a chart. Raises HookrunnerError."""

    async def diff(self, section: str) -> str:
        """The difference between the manifests and the live state. Raises HookrunnerError."""

    async def rollback(self, section: str, revision: int | None) -> str:
        """Roll back to an earlier revision; the outcome in words. Raises HookrunnerError."""

    async def adopt(self, section: str) -> Sequence[Adoption]:
        """Have the module run, once with the right to take over objects; which these were. Raises HookrunnerError."""


Find: TypeAlias = Callable[[], Modules | None]
"""The modules, None until there are modules."""

_Show: TypeAlias = Callable[[Modules, str, web.Request], JSON]


def value_routes(find: Find) -> list[web.RouteDef]:
    """The routes that show values and what is made of them."""
    shown = _Shown(find)
    return [
        *shown.both("values", _values),
        *shown.both("config", _config),
        *shown.both("patches", lambda modules, section, _: modules.patches(section)),
        *shown.both("snapshots", _snapshots),
        web.get("/module/{name}/render", shown.render),
    ]


def module_routes(find: Find) -> list[web.RouteDef]:
    """The other routes."""
    shown = _Shown(find)
    return [
        web.get("/global/list" + FORMAT, shown.global_hooks),
        web.get("/module/list" + FORMAT, shown.modules),
        web.get("/module/resource-monitor" + FORMAT, shown.resources),
        web.post("/module/{name}/rollback", shown.rollback),
        web.post("/module/{name}/adopt" + FORMAT, shown.adopt),
        web.get("/graph", shown.graph),
    ]


class _Shown:
    def __init__(self, find: Find) -> None:
        self._find = find

    def both(self, what: str, show: _Show) -> list[web.RouteDef]:
        """One route for modules and one for the global section."""

        async def show_section(request: web.Request) -> web.Response:
            modules, section = self._section(request)
            return answer(show(modules, section, request), format_of(request.match_info["format"]))

        return [web.get(f"/{base}/{what}{FORMAT}", show_section) for base in (GLOBAL, "module/{name}")]

    async def global_hooks(self, request: web.Request) -> web.Response:
        names = list(self._modules().hooks(GLOBAL))
        return answer({"globalHooks": names}, format_of(request.match_info["format"]))

    async def modules(self, request: web.Request) -> web.Response:
        """The names under the predecessor's key, and all details under another one."""
        modules = self._modules()
        shown = {"enabledModules": sorted(modules.enabled()), "modules": [asdict(row) for row in modules.rows()]}
        return answer(shown, format_of(request.match_info["format"]))

    async def resources(self, request: web.Request) -> web.Response:
        return answer(await _answer_failures(self._modules().resources()), format_of(request.match_info["format"]))

    async def render(self, request: web.Request) -> web.Response:
        modules, name = self._section(request)
        work = modules.diff(name) if _flag(request, "diff") else modules.render(name, _flag(request, "debug"))
        return web.Response(text=await _answer_failures(work))

    async def rollback(self, request: web.Request) -> web.Response:
        modules, name = self._section(request)
        wanted = request.query.get("revision", "")
        if wanted and not (wanted.isdecimal() and int(wanted)):
            raise web.HTTPBadRequest(text=f"'revision' parameter is invalid: '{wanted}' is no number of a revision")
        return web.Response(text=await _answer_failures(modules.rollback(name, int(wanted) if wanted else None)))

    async def adopt(self, request: web.Request) -> web.Response:
        modules, name = self._section(request)
        form = format_of(request.match_info["format"])
        adopted = await _answer_failures(modules.adopt(name))
        if form == "text":
            lines = [f"{one}\n" for one in adopted] or ["nothing was to be taken over\n"]
            return web.Response(text="".join(lines))
        return answer({"module": name, "adopted": [asdict(one) for one in adopted]}, form)

    async def graph(self, request: web.Request) -> web.Response:
        form = request.query.get("format", "text")
        if form not in _FORMS:
            raise web.HTTPBadRequest(text=f"'format' parameter is invalid: '{form}' is not one of {', '.join(_FORMS)}")
        return web.Response(text=self._modules().graph(_FORMS[form]))

    def _modules(self) -> Modules:
        modules = self._find()
        if modules is None:
            raise web.HTTPNotFound(text="there are no modules: none were asked for (--modules-dir), or they still load")
        return modules

    def _section(self, request: web.Request) -> tuple[Modules, str]:
        modules, name = self._modules(), request.match_info.get("name", GLOBAL)
        if "name" in request.match_info and not modules.knows(name):
            raise web.HTTPNotFound(text=f"unknown module {name}")
        return modules, name


def _values(modules: Modules, section: str, request: web.Request) -> JSON:
    if _flag(request, "explain"):
        return modules.explain(section)
    return modules.values(section, "values", _flag(request, "global"))


def _config(modules: Modules, section: str, request: web.Request) -> JSON:
    return modules.values(section, "config", _flag(request, "global"))


def _snapshots(modules: Modules, section: str, _request: web.Request) -> JSON:
    return {hook: snapshots_json(snapshots) for hook, snapshots in modules.snapshots(section).items()}


def _flag(request: web.Request, name: str) -> bool:
    """A flag of the query, as Go reads it."""
    return request.query.get(name, "") in ("1", "t", "T", "true", "TRUE", "True")


def _revision(wanted: str) -> int | None:
    """The revision in the query; None for the one before."""
    if not wanted:
        return None
    if not wanted.isdecimal() or not int(wanted):
        raise web.HTTPBadRequest(text=f"'revision' parameter is invalid: '{wanted}' is no number of a revision")
    return int(wanted)


async def _answer_failures(work: Awaitable[JSON]) -> JSON:
    """Await the result; answer a failure with its message, since it is not a bug of the server."""
    try:
        return await work
    except HookrunnerError as error:
        raise web.HTTPInternalServerError(text=str(error)) from error
