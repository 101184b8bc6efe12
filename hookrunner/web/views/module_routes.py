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

    async def global_hooks(request: web.Request) -> web.Response:
        return answer_request(request, {"globalHooks": list(existing_units(pages).hooks(GLOBAL))})

    async def rows(request: web.Request) -> web.Response:
        """The names under the predecessor's key, and all details under another one."""
        modules = existing_modules(pages)
        shown = {"enabledModules": sorted(modules.enabled()), "modules": [asdict(row) for row in modules.rows()]}
        return answer_request(request, shown)

    async def resources(request: web.Request) -> web.Response:
        return answer_request(request, await answer_failures(existing_modules(pages).resources()))

    async def adopt(request: web.Request) -> web.Response:
        name = find_module(pages, request)
        adopted = await answer_failures(existing_modules(pages).adopt(name))
        if format_of(request.match_info["format"]) == "text":
            lines = [f"{adoption}\n" for adoption in adopted] or ["nothing was to be taken over\n"]
            return web.Response(text="".join(lines))
        return answer_request(request, {"module": name, "adopted": [asdict(adoption) for adoption in adopted]})

    async def graph(request: web.Request) -> web.Response:
        form = request.query.get("format", "text")
        if form not in _FORMS:
            raise web.HTTPBadRequest(text=f"'format' parameter is invalid: '{form}' is not one of {', '.join(_FORMS)}")
        return web.Response(text=existing_modules(pages).graph(_FORMS[form]))

    return [
        web.get("/global/list" + FORMAT, global_hooks),
        web.get("/module/list" + FORMAT, rows),
        web.get("/module/resource-monitor" + FORMAT, resources),
        web.post(f"{MODULE_BASE}/adopt{FORMAT}", adopt),
        web.get("/graph", graph),
    ]
