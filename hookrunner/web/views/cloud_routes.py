"""The routes of the debug endpoint for the cloud controller manager: its state, held deletions, orphans.

Nothing that is shown holds what a provider was given in its environment.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Protocol, TypeAlias

from aiohttp import web

from hookrunner.model.cloud import CloudDump, OrphanDump
from hookrunner.web.formats import FORMAT, answer, format_of
from hookrunner.web.views.section_routes import answer_failures


class CloudPages(Protocol):
    """What is shown of the cloud. Nothing is changed but by `release`."""

    def dump(self) -> CloudDump:
        """The present state."""

    def release(self) -> Sequence[str]:
        """Let deletions go on that are held at the moment; the names of their Nodes."""

    async def find_orphans(self) -> Sequence[OrphanDump]:
        """Load balancers of the cloud without a Service. Raises HookrunnerError."""


FindCloud: TypeAlias = Callable[[], CloudPages | None]
"""The cloud, None until there is one."""


def cloud_routes(find: FindCloud) -> list[web.RouteDef]:
    """All routes."""

    def pages() -> CloudPages:
        cloud = find()
        if cloud is None:
            raise web.HTTPNotFound(text="there is no cloud: none was asked for (--cloud-provider), or it still starts")
        return cloud

    async def status(request: web.Request) -> web.Response:
        return answer(asdict(pages().dump()), format_of(request.match_info["format"]))

    async def release(_request: web.Request) -> web.Response:
        state = pages().dump()
        if not state.leads:
            leader = state.leader or "another one"
            raise web.HTTPConflict(text=f"this replica does not lead and holds no deletion: ask {leader}")
        return answer({"released": list(pages().release())}, "json")

    async def orphans(request: web.Request) -> web.Response:
        found = await answer_failures(pages().find_orphans())
        return answer({"orphans": [asdict(orphan) for orphan in found]}, format_of(request.match_info["format"]))

    return [
        web.get("/cloud/status" + FORMAT, status),
        web.post("/cloud/release", release),
        web.get("/cloud/orphans" + FORMAT, orphans),
    ]
