"""The routes of the debug endpoint for addons and their instances, in the shape of those for modules.

An instance is `/addon/<addon>/<name>/…`, with `?namespace=` where several have that name. A cluster-scoped one has the
namespace "".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Protocol, TypeAlias

from aiohttp import web

from hookrunner.model.addons import Addon, RejectedAddon
from hookrunner.model.status import InstanceDump, ObjectDump, RevisionDump
from hookrunner.web.formats import FORMAT, answer, format_of
from hookrunner.web.views.section_routes import (
    Sections,
    answer_failures,
    render_route,
    rollback_route,
    section_routes,
)
from kubetypes.json_values import JSON

_BASE = "/addon/{addon}/{name}"


class AddonPages(Sections, Protocol):
    """What is shown of addons and instances. `section` is a unit that `units` names. Nothing is changed but by
    `rollback`."""

    def addons(self) -> Sequence[Addon]:
        """The addons that are offered."""

    def rejected(self) -> Sequence[RejectedAddon]:
        """Directories that cannot be offered."""

    def rows(self) -> Sequence[InstanceDump]:
        """All instances, by addon, namespace and name."""

    def units(self, addon: str, name: str) -> Mapping[str, str]:
        """The units of the instances with this name, by namespace."""

    async def revisions(self, section: str) -> Sequence[RevisionDump]:
        """The revisions of its release, the latest last. Raises HookrunnerError."""

    async def objects(self, section: str) -> Sequence[ObjectDump]:
        """The objects of its release with their health. Raises HookrunnerError while that is not known."""

    async def versions(self, addon: str, channels: Sequence[str]) -> JSON:
        """What an addon's source offers this cluster: versions, and where its usual channels and these lead. Raises
        HookrunnerError."""


FindAddons: TypeAlias = Callable[[], AddonPages | None]
"""The addons, None until there are addons."""


def instance_routes(find: FindAddons) -> list[web.RouteDef]:
    """The routes that show values of instances and what is made of them."""
    unit_of = partial(_unit_of, find)
    return [*section_routes(_BASE, unit_of), render_route(_BASE, unit_of)]


def addon_routes(find: FindAddons) -> list[web.RouteDef]:
    """The other routes."""
    shown = _Shown(find)
    return [
        web.get("/addon/list" + FORMAT, shown.instances),
        web.get("/addon/{addon}/versions" + FORMAT, shown.versions),
        web.get(f"{_BASE}/revisions{FORMAT}", shown.revisions),
        web.get(f"{_BASE}/objects{FORMAT}", shown.objects),
        rollback_route(_BASE, partial(_unit_of, find)),
    ]


def _pages(find: FindAddons) -> AddonPages:
    pages = find()
    if pages is None:
        raise web.HTTPNotFound(text="there are no addons: none were asked for (--addons-dir), or they still load")
    return pages


def _unit_of(find: FindAddons, request: web.Request) -> tuple[AddonPages, str]:
    pages, addon, name = _pages(find), request.match_info["addon"], request.match_info["name"]
    units, namespace = pages.units(addon, name), request.query.get("namespace", "")
    if namespace:
        units = {place: unit for place, unit in units.items() if place == namespace}
    if not units:
        place = f" in namespace '{namespace}'" if namespace else ""
        raise web.HTTPNotFound(text=f"there is no {addon}/{name}{place}; `hookrunner addon list` shows all instances")
    if len(units) > 1:
        places = ", ".join(sorted(units))
        raise web.HTTPBadRequest(text=f"there are several {addon}/{name}: add -n with one of {places}")
    return pages, next(iter(units.values()))


class _Shown:
    def __init__(self, find: FindAddons) -> None:
        self._find = find

    async def instances(self, request: web.Request) -> web.Response:
        pages = _pages(self._find)
        shown = {
            "addons": [addon.summary for addon in pages.addons()],
            "instances": [asdict(row) for row in pages.rows()],
            "rejected": [addon.summary for addon in pages.rejected()],
        }
        return answer(shown, format_of(request.match_info["format"]))

    async def versions(self, request: web.Request) -> web.Response:
        pages, addon = _pages(self._find), request.match_info["addon"]
        names = [offered.name for offered in pages.addons()]
        if addon not in names:
            known = ", ".join(names) or "none"
            raise web.HTTPNotFound(text=f"there is no addon '{addon}'; those that are offered: {known}")
        offer = await answer_failures(pages.versions(addon, request.query.getall("channel", [])))
        return answer(offer, format_of(request.match_info["format"]))

    async def objects(self, request: web.Request) -> web.Response:
        pages, unit = _unit_of(self._find, request)
        rows = await answer_failures(pages.objects(unit))
        return answer({"objects": [asdict(row) for row in rows]}, format_of(request.match_info["format"]))

    async def revisions(self, request: web.Request) -> web.Response:
        pages, unit = _unit_of(self._find, request)
        rows = await answer_failures(pages.revisions(unit))
        return answer({"revisions": [asdict(row) for row in rows]}, format_of(request.match_info["format"]))
