"""A page that lists all routes of an application, a line `METHOD /path` for each."""

from aiohttp import web


async def discovery(request: web.Request) -> web.Response:
    """Of the application that is asked."""
    routes = [(r.method, r.resource.canonical) for r in request.app.router.routes() if r.resource is not None]
    return web.Response(text="".join(f"{method} {path}\n" for method, path in routes if method != "HEAD"))
