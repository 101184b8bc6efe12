"""The routes of the debug endpoint that are the same for a module, the global values and an instance of an addon.

Values are shown as hooks and templates get them, those from a Secret too: a user who may open the socket runs as the
operator and can read them anyway. Only the explanation, which people pass around, leaves them out. Over TCP
`section_routes` are refused where there is a Secret (`debug.OverTcp`).
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol, TypeAlias, TypeVar

from aiohttp import web

from hookrunner.errors import HookrunnerError
from hookrunner.model.status import SnapshotDump
from hookrunner.web.formats import FORMAT, answer, format_of, snapshots_json
from kubetypes.json_values import JSON

T = TypeVar("T")

Layer: TypeAlias = Literal["values", "config"]


class Sections(Protocol):
    """What is shown of sections of values and of their releases. `section` is `global`, a module's name or an
    instance's unit, one that exists. Nothing is changed but by `rollback`. Methods raise HookrunnerError where there is
    nothing to show."""

    def values(self, section: str, layer: Layer, whole: bool) -> JSON:
        """The effective values or what the user has set (None for nothing); `whole` adds the global section."""

    def explain(self, section: str) -> JSON:
        """Which layer has set each value."""

    def patches(self, section: str) -> JSON:
        """What hooks have patched in memory."""

    def snapshots(self, section: str) -> Mapping[str, Sequence[SnapshotDump]]:
        """Snapshots of its hooks by their names."""

    async def render(self, section: str, debug: bool) -> str:
        """The manifests, empty without a chart."""

    async def diff(self, section: str) -> str:
        """The difference between the manifests and the live state."""

    async def rollback(self, section: str, revision: int | None) -> str:
        """Roll back to an earlier revision; the outcome in words."""


SectionOf: TypeAlias = Callable[[web.Request], tuple[Sections, str]]
"""The section that the path of a request names. Raises web.HTTPException if it names no section."""

_Show: TypeAlias = Callable[[Sections, str, web.Request], JSON]


def section_routes(base: str, section_of: SectionOf) -> list[web.RouteDef]:
    """The routes below `base` that show values of a section."""
    views: dict[str, _Show] = {
        "values": _values,
        "config": lambda sections, section, request: sections.values(section, "config", flag(request, "global")),
        "patches": lambda sections, section, _: sections.patches(section),
        "snapshots": _snapshots,
    }
    return [_view(f"{base}/{what}{FORMAT}", section_of, show) for what, show in views.items()]


def render_route(base: str, section_of: SectionOf) -> web.RouteDef:
    """The route that shows the manifests of a section, or how they differ from the cluster."""

    async def render(request: web.Request) -> web.Response:
        sections, section = section_of(request)
        work = sections.diff(section) if flag(request, "diff") else sections.render(section, flag(request, "debug"))
        return web.Response(text=await answer_failures(work))

    return web.get(f"{base}/render", render)


def rollback_route(base: str, section_of: SectionOf) -> web.RouteDef:
    """The route that brings an earlier revision of a section's release back."""

    async def rollback(request: web.Request) -> web.Response:
        sections, section = section_of(request)
        return web.Response(text=await answer_failures(sections.rollback(section, _revision(request))))

    return web.post(f"{base}/rollback", rollback)


async def answer_failures(work: Awaitable[T]) -> T:
    """Await the result, with `failures_answered`."""
    with failures_answered():
        return await work


@contextmanager
def failures_answered() -> Iterator[None]:
    """Answer a failure with its message, since it is not a bug of the server."""
    try:
        yield
    except HookrunnerError as error:
        raise web.HTTPInternalServerError(text=str(error)) from error


def flag(request: web.Request, name: str) -> bool:
    """A flag of the query, as Go reads it."""
    return request.query.get(name, "") in ("1", "t", "T", "true", "TRUE", "True")


def _view(path: str, section_of: SectionOf, show: _Show) -> web.RouteDef:
    async def show_section(request: web.Request) -> web.Response:
        sections, section = section_of(request)
        with failures_answered():
            shown = show(sections, section, request)
        return answer(shown, format_of(request.match_info["format"]))

    return web.get(path, show_section)


def _values(sections: Sections, section: str, request: web.Request) -> JSON:
    if flag(request, "explain"):
        return sections.explain(section)
    return sections.values(section, "values", flag(request, "global"))


def _snapshots(sections: Sections, section: str, _request: web.Request) -> JSON:
    return {hook: snapshots_json(snapshots) for hook, snapshots in sections.snapshots(section).items()}


def _revision(request: web.Request) -> int | None:
    """The revision in the query; None for the one before. Raises HTTPBadRequest."""
    wanted = request.query.get("revision", "")
    if wanted and not (wanted.isdecimal() and int(wanted)):
        raise web.HTTPBadRequest(text=f"'revision' parameter is invalid: '{wanted}' is no number of a revision")
    return int(wanted) if wanted else None
