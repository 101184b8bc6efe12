"""The public HTTP server: metrics, and whether the program is alive and ready.

With modules `/readyz` answers in the words that addon-operator's users look for, and `/status/converge` is there.

It knows nothing of the engine: what it shows comes from the functions of `Pages`. It is started before hooks are
loaded, so that probes get an answer from the first second on; then it is alive, and not ready.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from aiohttp import web

from hookrunner import __version__
from hookrunner.metrics.exposition import CONTENT_TYPE
from hookrunner.model.needs import ReadNeeds
from hookrunner.model.status import Condition, ConvergeDump
from hookrunner.model.timestamps import rfc3339
from hookrunner.web.formats import answer, list_routes
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

SCRAPES = 8
"""Concurrent scrapes. Each takes time of the event loop, for which probes and reviews wait."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Sources of the pages: two texts in the Prometheus format, in pieces, the conditions of readiness, and the
    progress of the converge if there are modules. `unready` is the HTTP status while not ready. `needs` is what needs
    the user, the most urgent first: in that order people see the conditions."""

    metrics: Callable[[], Iterable[bytes]]
    hook_metrics: Callable[[], Iterable[bytes]]
    conditions: Callable[[], Sequence[Condition]]
    converge: Callable[[], ConvergeDump] | None = None
    unready: int = 503
    needs: ReadNeeds = tuple


def application(pages: Pages) -> web.Application:
    """The routes. Serve them with `listen.serve`."""
    app, routes = web.Application(), _Routes(pages)
    app.add_routes(
        [
            web.get("/", _index),
            web.get("/metrics", routes.metrics),
            web.get("/metrics/hooks", routes.hook_metrics),
            web.get("/healthz", _alive),
            web.get("/readyz", routes.readyz),
            *([web.get("/status/converge", routes.converge)] if pages.converge else []),
            web.get("/discovery", list_routes),
        ]
    )
    return app


class _Routes:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._scrapes = 0

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        return await self._exposition(request, self._pages.metrics())

    async def hook_metrics(self, request: web.Request) -> web.StreamResponse:
        return await self._exposition(request, self._pages.hook_metrics())

    async def _exposition(self, request: web.Request, pieces: Iterable[bytes]) -> web.StreamResponse:
        if self._scrapes == SCRAPES:
            text = f"{SCRAPES} scrapes are being answered, ask again\n"
            return web.Response(text=text, status=503, headers={"Retry-After": "1"})
        self._scrapes += 1
        try:
            return await _send_pieces(request, pieces)
        finally:
            self._scrapes -= 1

    async def readyz(self, request: web.Request) -> web.Response:
        return _readiness(self._pages, request)

    async def converge(self, request: web.Request) -> web.Response:
        state = self._pages.converge() if self._pages.converge else ConvergeDump()
        if _wanted(request) == "json":
            return answer(converge_states(state), "json")
        return web.Response(text=converge_text(state))


_INDEX = f"""<!DOCTYPE html>
<html><head><title>hookrunner</title></head><body>
<h1>hookrunner {__version__}</h1>
<ul>
<li><a href="/readyz?output=text">/readyz</a>: is it ready, and what is missing</li>
<li><a href="/healthz">/healthz</a>: is it alive</li>
<li><a href="/metrics">/metrics</a>: metrics about hookrunner</li>
<li><a href="/metrics/hooks">/metrics/hooks</a>: metrics that hooks export</li>
<li><a href="/discovery">/discovery</a>: all routes</li>
</ul>
<p>Queues and snapshots: <code>hookrunner queue list</code>, <code>hookrunner hook snapshot NAME</code>,
run beside it, for example with <code>kubectl exec</code>.</p>
</body></html>
"""


async def _index(_request: web.Request) -> web.Response:
    return web.Response(text=_INDEX, content_type="text/html")


async def _alive(_request: web.Request) -> web.Response:
    """The answer shows that the event loop runs, and nothing else."""
    return web.Response(text="ok\n")


async def _send_pieces(request: web.Request, pieces: Iterable[bytes]) -> web.StreamResponse:
    """Each piece is made when the one before has been taken, and others have their turn in between. The first one is
    made before the status is sent: an error there is a 500."""
    if request.method == "HEAD":
        return web.Response(headers={"Content-Type": CONTENT_TYPE})
    rest = iter(pieces)
    piece: bytes | None = next(rest, b"")
    response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
    response.enable_compression()
    with suppress(ConnectionResetError):  # the client has left meanwhile
        await response.prepare(request)
        while piece is not None:
            await response.write(piece)
            await asyncio.sleep(0)
            piece = next(rest, None)
        await response.write_eof()
    return response


def _readiness(pages: Pages, request: web.Request) -> web.Response:
    """200 if all conditions hold. What holds back comes first in the text, which people get; with modules they ask for
    it, or get it when something else than the converge holds back."""
    conditions, converge = pages.conditions(), pages.converge() if pages.converge else None
    ready = all(condition.ready for condition in conditions) and (converge is None or converge.done)
    status, wanted = 200 if ready else pages.unready, _wanted(request)
    if converge and wanted != "json" and "output" not in request.query:
        return web.Response(text=converge_words(converge, ready) or _text(pages, conditions, ready), status=status)
    if wanted == "text":
        return web.Response(text=_text(pages, conditions, ready), status=status)
    shown = [{"name": c.name, "ready": c.ready, "message": c.message, "since": rfc3339(c.since)} for c in conditions]
    return answer({"ready": ready, "conditions": shown}, "json", status)


def _text(pages: Pages, conditions: Sequence[Condition], ready: bool) -> str:
    """What holds back first, then what needs the user, the most urgent first."""
    kinds = list(dict.fromkeys(need.kind for need in pages.needs()))

    def rank(condition: Condition) -> tuple[bool, int]:
        matters = condition.message and condition.name in kinds
        return condition.ready, kinds.index(condition.name) if matters else len(kinds)

    return "\n".join([*map(_line, sorted(conditions, key=rank)), "ready" if ready else "not ready", ""])


def _line(condition: Condition) -> str:
    """As Kubernetes' own health endpoints write it."""
    message = f": {condition.message}" if condition.message else ""
    return f"[{'+' if condition.ready else '-'}]{condition.name} since {rfc3339(condition.since)}{message}"


def _wanted(request: web.Request) -> str:
    """`text`, `json`, or anything: `?output=` decides, else a type that `Accept` names, which probes do not send."""
    accept = request.headers.get("Accept", "")
    return request.query.get("output", "json" if "json" in accept else "text" if "text/" in accept else "")


DONE, IN_PROGRESS = "Startup converge done.\n", "Startup converge in progress\n"


def converge_words(converge: ConvergeDump, ready: bool) -> str:
    """The text of `/readyz`; empty if something else keeps the program from being ready.

    These are addon-operator's words, which probes and deployment scripts read.
    """
    if not converge.done:
        return IN_PROGRESS
    return DONE if ready else ""


def converge_text(converge: ConvergeDump) -> str:
    """For `/status/converge`: a line for the first converge, and when it is done one for the present."""
    return "".join(f"{line}\n" for line in _lines(converge))


def converge_states(converge: ConvergeDump) -> JSON:
    """The same as JSON."""
    first, later = (0, converge.tasks) if converge.done else (converge.tasks, 0)
    return {
        "CONVERGE_IN_PROGRESS": later,
        "CONVERGE_WAIT_TASK": converge.done and not later,
        "STARTUP_CONVERGE_DONE": converge.done,
        "STARTUP_CONVERGE_IN_PROGRESS": first,
        "STARTUP_CONVERGE_NOT_STARTED": not converge.begun,
    }


def _lines(converge: ConvergeDump) -> Iterator[str]:
    if not converge.begun:
        yield "STARTUP_CONVERGE_NOT_STARTED"
    elif not converge.done:
        yield f"STARTUP_CONVERGE_IN_PROGRESS: {converge.tasks} tasks"
    else:
        yield "STARTUP_CONVERGE_DONE"
        yield f"CONVERGE_IN_PROGRESS: {converge.tasks} tasks" if converge.tasks else "CONVERGE_WAIT_TASK"
