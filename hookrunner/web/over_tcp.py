"""What the debug endpoint does otherwise over TCP than on its socket, which only its user can open.

Other users of the machine reach it there, and so do web pages in a browser: those of others are refused. Where values
come from a Secret (`--config-secret`), it shows neither values nor what is made of them: hooks may have put any value
into any other, templates into any manifest, and the Secret itself may be in a snapshot.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from kubetypes import foreign_pages

WITHHELD = (
    "not shown over TCP (--debug-http-addr), since it may hold values of --config-secret: ask over the debug socket, "
    "with 'hookrunner module' or 'hookrunner raw {path}' beside the program"
)


@dataclass(frozen=True, slots=True)
class OverTcp:
    """`host` is the host of `--debug-http-addr`; `secret` says whether values may come from a Secret."""

    host: str
    secret: bool

    def guard(self) -> Middleware:
        """A middleware that answers 403 to what a foreign web page has sent."""

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
