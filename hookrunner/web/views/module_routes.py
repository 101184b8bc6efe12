"""The routes of the debug endpoint for modules alone; those for any unit are in `unit_routes.py`."""

from collections.abc import Mapping
from dataclasses import asdict

from aiohttp import web

from hookrunner.model.modules import GLOBAL
from hookrunner.web.formats import FORMAT, answer_request, format_of
from hookrunner.web.views.pages import DebugPages, GraphForm
from hookrunner.web.views.unit_routes import MODULE_BASE, answer_failures, existing_modules, existing_units, find_module

_FORMS: Mapping[str, GraphForm] = {"text": "text", "mermaid": "mermaid", "dot": "dot"}


def module_routes(pages: DebugPages) -> list[web.RouteDef]:
    """All of them."""
    shown = _Shown(pages)
    return [
        web.get("/global/list" + FORMAT, shown.global_hooks),
        web.get("/module/list" + FORMAT, shown.modules),
        web.get("/module/resource-monitor" + FORMAT, shown.resources),
        web.post(f"{MODULE_BASE}/adopt{FORMAT}", shown.adopt),
        web.get("/graph", shown.graph),
    ]


class _Shown:
    def __init__(self, pages: DebugPages) -> None:
        self._pages = pages

    async def global_hooks(self, request: web.Request) -> web.Response:
        return answer_request(request, {"globalHooks": list(existing_units(self._pages).hooks(GLOBAL))})

    async def modules(self, request: web.Request) -> web.Response:
        """The names under the predecessor's key, and all details under another one."""
        modules = existing_modules(self._pages)
        shown = {"enabledModules": sorted(modules.enabled()), "modules": [asdict(row) for row in modules.rows()]}
        return answer_request(request, shown)

    async def resources(self, request: web.Request) -> web.Response:
        return answer_request(request, await answer_failures(existing_modules(self._pages).resources()))

    async def adopt(self, request: web.Request) -> web.Response:
        name = find_module(self._pages, request)
        adopted = await answer_failures(existing_modules(self._pages).adopt(name))
        if format_of(request.match_info["format"]) == "text":
            lines = [f"{adoption}\n" for adoption in adopted] or ["nothing was to be taken over\n"]
            return web.Response(text="".join(lines))
        return answer_request(request, {"module": name, "adopted": [asdict(adoption) for adoption in adopted]})

    async def graph(self, request: web.Request) -> web.Response:
        form = request.query.get("format", "text")
        if form not in _FORMS:
            raise web.HTTPBadRequest(text=f"'format' parameter is invalid: '{form}' is not one of {', '.join(_FORMS)}")
        return web.Response(text=existing_modules(self._pages).graph(_FORMS[form]))
