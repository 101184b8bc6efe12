"""Renders charts in worker processes: a template can loop forever or use up all memory, and cannot be cancelled.

There is one worker while renders are short. A render that has waited for a second gets a worker of its own, so that a
template that hangs does not block other modules. Idle workers end after a while.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

import orjson

from hookrunner import log
from hookrunner.charts.render_process import RenderProcess
from hookrunner.errors import BadChart, BadManifest, RenderFailed
from hookrunner.model.releases import HelmHook, RenderedChart, RenderRequest
from hookrunner.process.worker import WorkerLost
from kubetypes.json_values import JSON

PATIENCE = 1.0
MOST_WORKERS = 3

_log = log.get("charts")


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """`deadline` (0 means none) and `idle` in seconds, `memory` in bytes beyond what a worker has at its start."""

    deadline: float = 60.0
    memory: int = 1 << 30
    idle: float = 60.0

    def __str__(self) -> str:
        return f"a render may take {self.deadline:g} s and {self.memory >> 20} MiB"


class Renderer:
    """Renders charts. An async context manager: at its end all workers are killed.

    `environ` leads templates that look things up to a cluster; without it they find nothing. Workers get only the part
    that they need (`render_process.py`). `program` is a `helm` that is used instead of the library.
    """

    def __init__(
        self, limits: RenderLimits = RenderLimits(), environ: Mapping[str, str] | None = None, program: str = ""
    ) -> None:
        self._limits = limits
        self._environ = environ
        self._program = program
        self._places: asyncio.Queue[RenderProcess | None] = asyncio.Queue()
        self._places.put_nowait(None)
        self._workers = 1
        self._children: set[RenderProcess] = set()
        self._timers: dict[RenderProcess, asyncio.TimerHandle] = {}
        self._prewarming: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for timer in self._timers.values():
            timer.cancel()
        if self._prewarming:
            await asyncio.wait({self._prewarming}, timeout=PATIENCE)
            self._prewarming.cancel()
            await asyncio.wait({self._prewarming})
        await asyncio.gather(*(child.end() for child in self._children))

    async def render(self, order: RenderRequest) -> RenderedChart:
        """Render one chart. Raises BadChart if the chart or a template cannot be read, BadManifest if the rendered
        texts are not objects, else RenderFailed. The message names template and line where Helm does."""
        answer = await self._ask(order)
        match answer[:1]:
            case b"=":
                return _rendered(order, **orjson.loads(answer[1:]))
            case b"C":
                raise BadChart(answer[1:].decode())
            case b"M":
                raise BadManifest(answer[1:].decode())
        raise RenderFailed(answer[1:].decode())

    def prewarm(self) -> None:
        """Start a worker, unless one is idle, because a render will follow soon. It takes 0.2 s."""
        if self._prewarming is None or self._prewarming.done():
            self._prewarming = asyncio.create_task(self._start_ahead())

    async def _start_ahead(self) -> None:
        """Start a worker. If that fails, the render that needs it reports why."""
        with suppress(WorkerLost):
            async with self._borrow_worker():
                pass

    async def _ask(self, order: RenderRequest) -> bytes:
        packed = orjson.dumps(request(order, self._environ is not None))
        while True:
            try:
                async with self._borrow_worker() as child:
                    return await child.ask(packed, self._limits.deadline)
            except WorkerLost as lost:
                if not lost.again:
                    raise RenderFailed(f"chart in {order.directory}: {lost}; {self._limits}") from None

    @asynccontextmanager
    async def _borrow_worker(self) -> AsyncIterator[RenderProcess]:
        child = await self._take_place()
        try:
            if child is None or child.left:
                child = await self._start_worker()
            yield child
        except BaseException:
            # Also when cancelled: its next answer would be taken for the answer to another request.
            if child is not None:
                await child.end()
            self._places.put_nowait(None)
            raise
        self._return_worker(child)

    async def _take_place(self) -> RenderProcess | None:
        """Wait for an idle worker, or for a place to start one. If none becomes free for a while, a place is added."""
        while True:
            try:
                async with asyncio.timeout(PATIENCE if self._workers < MOST_WORKERS else None):
                    child = await self._places.get()
            except TimeoutError:
                if self._workers < MOST_WORKERS:
                    self._workers += 1
                    return None
            else:
                if child in self._timers:
                    self._timers.pop(child).cancel()
                return child

    async def _start_worker(self) -> RenderProcess:
        settings = (str(self._limits.memory), self._program, str(self._limits.deadline))
        child = await RenderProcess.start(settings, self._environ)
        self._children = {other for other in self._children if not other.left} | {child}
        try:
            await child.wait_ready()
        except BaseException:
            await child.end()
            raise
        return child

    def _return_worker(self, child: RenderProcess) -> None:
        if self._workers > 1 and not self._places.empty():
            self._workers -= 1
            child.leave()
        else:
            self._timers[child] = asyncio.get_running_loop().call_later(self._limits.idle, self._dismiss, child)
            self._places.put_nowait(child)

    def _dismiss(self, child: RenderProcess) -> None:
        del self._timers[child]
        child.leave()


def request(order: RenderRequest, lookup: bool) -> dict[str, Any]:
    """The request to a worker (`render_worker.py`)."""
    return {
        "directory": str(order.directory),
        "name": order.name,
        "namespace": order.namespace,
        "values": order.values,
        "kube_version": order.capabilities.kube_version,
        "api_versions": order.capabilities.api_versions,
        "install": order.install,
        "revision": order.revision,
        "labels": dict(order.labels),
        "quotes": order.quotes,
        "lookup": lookup,
    }


def _rendered(order: RenderRequest, rendered: dict[str, Any], chart: JSON) -> RenderedChart:
    for hook in rendered["ignored"]:
        _log.warn(f"{order.name}: an object is left out, because Helm does not know its helm.sh/hook: {hook}")
    return RenderedChart(
        manifest=rendered["manifest"],
        objects=tuple(rendered["objects"]),
        hooks=tuple(_hook(hook) for hook in rendered["hooks"]),
        notes=rendered["notes"],
        chart=chart,
    )


def _hook(stored: dict[str, Any]) -> HelmHook:
    tuples = {key: tuple(stored[key]) for key in ("events", "delete_policies")}
    return HelmHook(**stored | tuples)
