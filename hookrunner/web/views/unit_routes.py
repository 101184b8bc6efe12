"""The routes of the debug endpoint that are the same for a module, the global values and an instance of an addon.

The global values are `/global/…`, a module is `/module/<name>/…` and an instance `/addon/<addon>/<name>/…`, with
`?namespace=` where several have that name. A cluster-scoped one has the namespace "".

Values are shown as hooks and templates get them, those from a Secret too: a user who may open the socket runs as the
operator and can read them anyway. Only the explanation, which people pass around, leaves them out. Over TCP
`value_routes` are refused where there is a Secret (`debug.OverTcp`).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import TypeAlias, TypeVar

from aiohttp import web

from hookrunner.errors import HookrunnerError
from hookrunner.model.modules import GLOBAL
from hookrunner.web.formats import FORMAT, answer_request, snapshots_json
from hookrunner.web.views.pages import AddonPages, DebugPages, ModulePages, UnitPages, View

T = TypeVar("T")

_NO_MODULES = "there are no modules: none were asked for (--modules-dir), or they still load"
MODULE_BASE, INSTANCE_BASE = "/module/{name}", "/addon/{addon}/{name}"

FindUnit: TypeAlias = Callable[[DebugPages, web.Request, View], str]
"""The unit that the path of a request names. Raises web.HTTPException if it names none, or none with such a view."""

_Show: TypeAlias = Callable[[UnitPages, str, web.Request], Awaitable[web.Response]]


def value_routes(pages: DebugPages) -> list[web.RouteDef]:
    """The routes that show values of units and what is made of them."""
    views: tuple[View, ...] = ("values", "config", "patches", "snapshots")
    shared = [_route(pages, f"/{GLOBAL}", view) for view in views]
    return shared + [_route(pages, base, view) for base in (MODULE_BASE, INSTANCE_BASE) for view in (*views, "render")]


def release_routes(pages: DebugPages) -> list[web.RouteDef]:
    """The routes about revisions of units."""
    revisions = _route(pages, INSTANCE_BASE, "revisions")
    return [*(_route(pages, base, "rollback") for base in (MODULE_BASE, INSTANCE_BASE)), revisions]


def existing_units(pages: DebugPages) -> UnitPages:
    """Raises web.HTTPNotFound while there are no modules, with which units begin."""
    return existing(pages.units, _NO_MODULES)


def existing_modules(pages: DebugPages) -> ModulePages:
    """Raises web.HTTPNotFound while there are no modules."""
    return existing(pages.modules, _NO_MODULES)


def existing_addons(pages: DebugPages) -> AddonPages:
    """Raises web.HTTPNotFound while there are no addons."""
    return existing(pages.addons, "there are no addons: none were asked for (--addons-dir), or they still load")


def existing(page: T | None, why: str) -> T:
    """A page. Raises web.HTTPNotFound if it does not exist."""
    if page is None:
        raise web.HTTPNotFound(text=why)
    return page


def find_module(pages: DebugPages, request: web.Request, _view: View | None = None) -> str:
    """The module that a request names. Raises web.HTTPNotFound."""
    name = request.match_info["name"]
    if not existing_modules(pages).knows(name):
        raise web.HTTPNotFound(text=f"unknown module {name}")
    return name


def find_instance(pages: DebugPages, request: web.Request, view: View) -> str:
    """The unit of the instance that a request names. Raises web.HTTPNotFound, web.HTTPBadRequest if there are several,
    and web.HTTPInternalServerError if it has no such view at the moment."""
    addons, addon, name = existing_addons(pages), request.match_info["addon"], request.match_info["name"]
    units, namespace = addons.units(addon, name), request.query.get("namespace", "")
    if namespace:
        units = {place: unit for place, unit in units.items() if place == namespace}
    if not units:
        place = f" in namespace '{namespace}'" if namespace else ""
        raise web.HTTPNotFound(text=f"there is no {addon}/{name}{place}; `hookrunner addon list` shows all instances")
    if len(units) > 1:
        places = ", ".join(sorted(units))
        raise web.HTTPBadRequest(text=f"there are several {addon}/{name}: add -n with one of {places}")
    unit = next(iter(units.values()))
    if objection := addons.objection(unit, view):
        raise web.HTTPInternalServerError(text=objection)
    return unit


async def answer_failures(work: Awaitable[T]) -> T:
    """Await the result. A failure is answered with its message, since it is not a bug of the server."""
    try:
        return await work
    except HookrunnerError as error:
        raise web.HTTPInternalServerError(text=str(error)) from error


def flag(request: web.Request, name: str) -> bool:
    """A flag of the query, as Go reads it."""
    return request.query.get(name, "") in ("1", "t", "T", "true", "TRUE", "True")


def _route(pages: DebugPages, base: str, view: View) -> web.RouteDef:
    find, show = _FINDERS[base], _VIEWS[view]

    async def respond(request: web.Request) -> web.Response:
        unit = find(pages, request, view)
        return await answer_failures(show(existing_units(pages), unit, request))

    if view == "rollback":
        return web.post(f"{base}/{view}", respond)
    return web.get(f"{base}/{view}" + FORMAT * (view != "render"), respond)


async def _show_values(units: UnitPages, unit: str, request: web.Request) -> web.Response:
    if flag(request, "explain"):
        return answer_request(request, units.explain(unit))
    return answer_request(request, units.values(unit, "values", flag(request, "global")))


async def _show_config(units: UnitPages, unit: str, request: web.Request) -> web.Response:
    return answer_request(request, units.values(unit, "config", flag(request, "global")))


async def _show_patches(units: UnitPages, unit: str, request: web.Request) -> web.Response:
    return answer_request(request, units.patches(unit))


async def _show_snapshots(units: UnitPages, unit: str, request: web.Request) -> web.Response:
    return answer_request(request, {hook: snapshots_json(dumps) for hook, dumps in units.snapshots(unit).items()})


async def _render(units: UnitPages, unit: str, request: web.Request) -> web.Response:
    """The manifests of a unit, or how they differ from the cluster."""
    work = units.diff(unit) if flag(request, "diff") else units.render(unit, flag(request, "debug"))
    return web.Response(text=await work)


async def _show_revisions(units: UnitPages, unit: str, request: web.Request) -> web.Response:
    return answer_request(request, {"revisions": [asdict(row) for row in await units.revisions(unit)]})


async def _roll_back(units: UnitPages, unit: str, request: web.Request) -> web.Response:
    """Bring an earlier revision of a unit's release back: that of the query, or the one before. Raises
    HTTPBadRequest."""
    wanted = request.query.get("revision", "")
    if wanted and not (wanted.isdecimal() and int(wanted)):
        raise web.HTTPBadRequest(text=f"'revision' parameter is invalid: '{wanted}' is no number of a revision")
    return web.Response(text=await units.rollback(unit, int(wanted) if wanted else None))


_VIEWS: Mapping[View, _Show] = {
    "values": _show_values,
    "config": _show_config,
    "patches": _show_patches,
    "snapshots": _show_snapshots,
    "render": _render,
    "revisions": _show_revisions,
    "rollback": _roll_back,
}
_FINDERS: Mapping[str, FindUnit] = {
    f"/{GLOBAL}": lambda _pages, _request, _view: GLOBAL,
    MODULE_BASE: find_module,
    INSTANCE_BASE: find_instance,
}
