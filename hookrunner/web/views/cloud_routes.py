"""The routes of the debug endpoint for the cloud controller manager: its state, held deletions, orphans.

Nothing that is shown holds what a provider was given in its environment.
"""

from dataclasses import asdict

from aiohttp import web

from hookrunner.web.formats import FORMAT, answer, answer_request
from hookrunner.web.views.pages import CloudPages, DebugPages
from hookrunner.web.views.unit_routes import answer_failures, existing


def cloud_routes(pages: DebugPages) -> list[web.RouteDef]:
    """All routes."""

    def cloud() -> CloudPages:
        return existing(pages.cloud, "there is no cloud: none was asked for (--cloud-provider), or it still starts")

    async def status(request: web.Request) -> web.Response:
        return answer_request(request, asdict(cloud().dump()))

    async def release(_request: web.Request) -> web.Response:
        state = cloud().dump()
        if not state.leads:
            leader = state.leader or "another one"
            raise web.HTTPConflict(text=f"this replica does not lead and holds no deletion: ask {leader}")
        return answer({"released": list(cloud().release())}, "json")

    async def orphans(request: web.Request) -> web.Response:
        found = await answer_failures(cloud().find_orphans())
        return answer_request(request, {"orphans": [asdict(orphan) for orphan in found]})

    return [
        web.get("/cloud/status" + FORMAT, status),
        web.post("/cloud/release", release),
        web.get("/cloud/orphans" + FORMAT, orphans),
    ]
