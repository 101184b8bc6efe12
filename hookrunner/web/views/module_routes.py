"""The routes of the debug endpoint for modules and the global values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Literal, Protocol, TypeAlias

from aiohttp import web

from hookrunner.model.modules import GLOBAL
from hookrunner.model.releases import Adoption
from hookrunner.model.status import ModuleDump
from hookrunner.web.formats import FORMAT, answer, format_of
from hookrunner.web.views.section_routes import (
    Sections,
    answer_failures,
    render_route,
    rollback_route,
    section_routes,
)
from kubetypes.json_values import JSON

GraphForm: TypeAlias = Literal["text", "mermaid", "dot"]

_FORMS: Mapping[str, GraphForm] = {"text": "text", "mermaid": "mermaid", "dot": "dot"}
_BASE = "/module/{name}"


class Modules(Sections, Protocol):
    """What is shown of modules. `section` is `global` or a module's name, one that `knows` says yes to. Nothing is
    changed but by `rollback` and `adopt`."""

    def knows(self, section: str) -> bool:
        """Is there such a module?"""

    def rows(self) -> Sequence[ModuleDump]:
        """All modules in their order, then directories that are rejected."""

    def enabled(self) -> Sequence[str]:
        """Names of modules that are on."""

    def hooks(self, section: str) -> Sequence[str]:
        """Names of its hooks."""

    def graph(self, form: GraphForm) -> str:
        """The graph of dependencies."""

    async def resources(self) -> JSON:
        """The watched objects, by module."""

    async def adopt(self, section: str) -> Sequence[Adoption]:
        """Have the module run, once with the right to take over objects; which these were. Raises HookrunnerError."""


Find: TypeAlias = Callable[[], Modules | None]
"""The modules, None until there are modules."""


def value_routes(find: Find) -> list[web.RouteDef]:
    """The routes that show values and what is made of them."""
    section_of = partial(_section_of, find)
    return [
        *section_routes(f"/{GLOBAL}", section_of),
        *section_routes(_BASE, section_of),
        render_route(_BASE, section_of),
    ]


def module_routes(find: Find) -> list[web.RouteDef]:
    """The other routes."""
    shown = _Shown(find)
    return [
        web.get("/global/list" + FORMAT, shown.global_hooks),
        web.get("/module/list" + FORMAT, shown.modules),
        web.get("/module/resource-monitor" + FORMAT, shown.resources),
        rollback_route(_BASE, partial(_section_of, find)),
        web.post(f"{_BASE}/adopt{FORMAT}", shown.adopt),
        web.get("/graph", shown.graph),
    ]


def _modules_of(find: Find) -> Modules:
    modules = find()
    if modules is None:
        raise web.HTTPNotFound(text="there are no modules: none were asked for (--modules-dir), or they still load")
    return modules


def _section_of(find: Find, request: web.Request) -> tuple[Modules, str]:
    modules, name = _modules_of(find), request.match_info.get("name", GLOBAL)
    if "name" in request.match_info and not modules.knows(name):
        raise web.HTTPNotFound(text=f"unknown module {name}")
    return modules, name


class _Shown:
    def __init__(self, find: Find) -> None:
        self._find = find

    async def global_hooks(self, request: web.Request) -> web.Response:
        names = list(_modules_of(self._find).hooks(GLOBAL))
        return answer({"globalHooks": names}, format_of(request.match_info["format"]))

    async def modules(self, request: web.Request) -> web.Response:
        """The names under the predecessor's key, and all details under another one."""
        modules = _modules_of(self._find)
        shown = {"enabledModules": sorted(modules.enabled()), "modules": [asdict(row) for row in modules.rows()]}
        return answer(shown, format_of(request.match_info["format"]))

    async def resources(self, request: web.Request) -> web.Response:
        watched = await answer_failures(_modules_of(self._find).resources())
        return answer(watched, format_of(request.match_info["format"]))

    async def adopt(self, request: web.Request) -> web.Response:
        modules, name = _section_of(self._find, request)
        form = format_of(request.match_info["format"])
        adopted = await answer_failures(modules.adopt(name))
        if form == "text":
            lines = [f"{adoption}\n" for adoption in adopted] or ["nothing was to be taken over\n"]
            return web.Response(text="".join(lines))
        return answer({"module": name, "adopted": [asdict(adoption) for adoption in adopted]}, form)

    async def graph(self, request: web.Request) -> web.Response:
        form = request.query.get("format", "text")
        if form not in _FORMS:
            raise web.HTTPBadRequest(text=f"'format' parameter is invalid: '{form}' is not one of {', '.join(_FORMS)}")
        return web.Response(text=_modules_of(self._find).graph(_FORMS[form]))
