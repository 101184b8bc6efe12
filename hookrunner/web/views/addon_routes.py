"""The routes of the debug endpoint for addons and instances alone; those for any unit are in `unit_routes.py`."""

from dataclasses import asdict

from aiohttp import web

from hookrunner.web.formats import FORMAT, answer_request
from hookrunner.web.views.pages import DebugPages
from hookrunner.web.views.unit_routes import INSTANCE_BASE, answer_failures, existing_addons, find_instance


def addon_routes(pages: DebugPages) -> list[web.RouteDef]:
    """All of them."""

    async def instances(request: web.Request) -> web.Response:
        addons = existing_addons(pages)
        shown = {
            "addons": [addon.summary for addon in addons.addons()],
            "instances": [asdict(row) for row in addons.rows()],
            "rejected": [addon.summary for addon in addons.rejected()],
        }
        return answer_request(request, shown)

    async def versions(request: web.Request) -> web.Response:
        addons, addon = existing_addons(pages), request.match_info["addon"]
        names = [offered.name for offered in addons.addons()]
        if addon not in names:
            known = ", ".join(names) or "none"
            raise web.HTTPNotFound(text=f"there is no addon '{addon}'; those that are offered: {known}")
        return answer_request(
            request, await answer_failures(addons.versions(addon, request.query.getall("channel", [])))
        )

    async def objects(request: web.Request) -> web.Response:
        unit = find_instance(pages, request, "objects")
        rows = await answer_failures(existing_addons(pages).objects(unit))
        return answer_request(request, {"objects": [asdict(row) for row in rows]})

    return [
        web.get("/addon/list" + FORMAT, instances),
        web.get("/addon/{addon}/versions" + FORMAT, versions),
        web.get(f"{INSTANCE_BASE}/objects{FORMAT}", objects),
    ]
