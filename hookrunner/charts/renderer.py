"""Renders charts in worker processes: a template can loop forever or use up all memory, and cannot be cancelled.

There is one worker while renders are short. A render that has waited for a second gets a worker of its own, so that a
template that hangs does not block other modules. Idle workers end after a while.

A worker runs templates, which are written by others. Helm gives them no `env`, so that this is a second wall: what is
not in the worker cannot leave it, whatever goes wrong in Helm's library. Therefore the lists below name what is passed;
everything else stays out, above all `HOOKRUNNER_*` and the variables that are meant for hooks.
"""

import asyncio
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

import orjson

from hookrunner import log
from hookrunner.errors import BadChart, BadManifest, RenderFailed
from hookrunner.model.releases import HelmHook, RenderedChart, RenderRequest
from hookrunner.process.worker import Worker, WorkerLost
from hookrunner.process.worker_pool import WorkerPool
from hookrunner.process.worker_process import LENGTH
from hookrunner.settings import ModulesSettings, own_environment
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_ALWAYS = re.compile(
    r"PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|PYTHON\w+|GO(DEBUG|GC|MAXPROCS|MEMLIMIT|TRACEBACK)"
)
"""Locations of programs and libraries, and settings of Python and Go."""

_CLUSTER = re.compile(
    r"KUBECONFIG|KUBERNETES_(MASTER|SERVICE_(HOST|PORT))|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy"
)
"""How client-go finds a cluster and reaches it."""

_LOGIN = re.compile(
    r"(AWS|AZURE|AAD|ARM|CLOUDSDK|DIGITALOCEAN|GOOGLE|OCI|OS|TSH|TELEPORT|VAULT|XDG)_\w+|USE_GKE_\w+|USER"
)
"""Credentials of programs that a kubeconfig names (`exec:`); other programs get theirs from the kubeconfig's `env`."""


def worker_environment(environ: Mapping[str, str], lookup: bool) -> dict[str, str]:
    """The part of `environ` that a worker gets; with `lookup` also the part that leads to the cluster.

    A pod that has no kubeconfig logs in with the token of its service account, and needs no other credentials.
    """
    kubeconfig = environ.get("KUBECONFIG") or not environ.get("KUBERNETES_SERVICE_HOST")
    lists = [_ALWAYS, *([_CLUSTER] if lookup else []), *([_LOGIN] if lookup and kubeconfig else [])]
    return {name: text for name, text in environ.items() if any(names.fullmatch(name) for names in lists)}


_READY_WITHIN = 60.0
"""Seconds within which a worker must report that it is ready: its library has 85 MB, and disks can be slow."""

_ROOT = str(Path(__file__).parents[2])
_LAST_WORDS = re.compile(rb"^(?:fatal error|panic|SIG[A-Z]+|[\w.]*Error): .*", re.MULTILINE)
"""What Go and Python write when they end. Go that gets no memory says so in several ways, or reads a null pointer."""


class RenderProcess:
    """A running render worker."""

    def __init__(self, worker: Worker, last_words: IO[bytes]) -> None:
        self.worker = worker
        self._last_words = last_words

    @classmethod
    async def start(cls, settings: Sequence[str], environ: Mapping[str, str] | None) -> Self:
        """Spawn an interpreter. `settings` are the worker's arguments after its socket; `environ` leads it to the
        cluster, None means no cluster. Raises `WorkerLost`."""
        worker_environ = worker_environment(
            own_environment() if environ is None else environ, lookup=environ is not None
        )
        last_words = tempfile.TemporaryFile("a+b")  # noqa: SIM115

        async def spawn(descriptor: int) -> asyncio.subprocess.Process:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-c", _program(), str(descriptor), *settings),
                env=worker_environ,
                pass_fds=(descriptor,),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=last_words,
            )

        try:
            return cls(await Worker.start("render", spawn), last_words)
        except BaseException:
            last_words.close()
            raise

    async def wait_ready(self) -> None:
        """Wait until the worker is ready. Raises WorkerLost."""
        answer = await self._read_answer(_READY_WITHIN)
        if answer[:1] != b"=":
            raise WorkerLost(answer[1:].decode())
        self.worker.used = False

    async def ask(self, request: bytes, deadline: float) -> bytes:
        """Send a request and read the answer, in the format of `render_worker.py`. A deadline of 0 means none. Raises
        WorkerLost."""
        try:
            self.worker.write(LENGTH.pack(len(request)) + request)
            await self.worker.drain()
        except OSError:
            raise await self._describe_loss() from None
        return await self._read_answer(deadline)

    async def _read_answer(self, deadline: float) -> bytes:
        try:
            async with asyncio.timeout(deadline or None):
                return await self.worker.read_answer()
        except TimeoutError:
            await self.end()
            raise WorkerLost(f"not done within {deadline:g} s") from None
        except (asyncio.IncompleteReadError, OSError):
            raise await self._describe_loss() from None

    async def _describe_loss(self) -> WorkerLost:
        code = await self.worker.wait()
        if self._last_words.closed:
            return WorkerLost("the render worker was dismissed")
        self._last_words.seek(0)
        reason = explain_end(self._last_words.read(1 << 16), code)
        self._last_words.close()
        return WorkerLost(f"the render worker died ({reason})", is_retryable=self.worker.used)

    def hang_up(self) -> None:
        """Close the socket: an idle worker then ends by itself."""
        self.worker.hang_up()
        self._last_words.close()

    async def end(self) -> None:
        """Kill the worker, also in the middle of a render, and wait until it has ended."""
        self._last_words.close()
        await self.worker.kill()


def explain_end(last_words: bytes, code: int) -> str:
    """Why a worker ended, from what it wrote and its exit status, as one line."""
    words = _LAST_WORDS.search(last_words)
    return words[0].decode(errors="replace") if words else f"exit status {code}"


def _program() -> str:
    """The worker's program. The package may not be on the interpreter's own path, as in a checkout. Imports leave no
    garbage, so the collector is off until they are done."""
    begin = f"import gc, sys; gc.disable(); sys.path.append({_ROOT!r})"
    return f"{begin}; from hookrunner.charts.render_worker import main; main()"


_CROWDED_AFTER = 1.0
"""Seconds that a render waits for a worker until there is one more."""

_MOST_WORKERS = 3
STEP = 256 << 10
"""Bytes of objects that are read at a time."""

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """`deadline` (0 means none) and `idle` in seconds, `memory` in bytes beyond what a worker has at its start."""

    deadline: float = 60.0
    memory: int = 1 << 30
    idle: float = 60.0

    @classmethod
    def of(cls, settings: ModulesSettings) -> "RenderLimits":
        """Those that an operator has set."""
        return cls(settings.render_timeout, settings.render_memory)

    def __str__(self) -> str:
        return f"a render may take {self.deadline:g} s and {self.memory >> 20} MiB"


class Renderer:
    """Renders charts. An async context manager: at its end all workers are killed.

    `environ` leads templates that look things up to a cluster; without it they find nothing. Workers get only the part
    that they need (`worker_environment`).
    """

    def __init__(self, limits: RenderLimits = RenderLimits(), environ: Mapping[str, str] | None = None) -> None:
        self._limits = limits
        self._environ = environ
        self._pool = WorkerPool(self._start_worker, _MOST_WORKERS, limits.idle, _CROWDED_AFTER)
        self._prewarming: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._prewarming:
            await asyncio.wait({self._prewarming}, timeout=_CROWDED_AFTER)
            self._prewarming.cancel()
            await asyncio.wait({self._prewarming})
        await self._pool.close()

    async def render(self, order: RenderRequest) -> RenderedChart:
        """Render one chart. Raises BadChart if the chart or a template cannot be read, BadManifest if the rendered
        texts are not objects, else RenderFailed. The message names template and line where Helm does."""
        answer = await self._ask(order)
        match answer[:1]:
            case b"=":
                return await read_render(order, answer)
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
            async with self._pool.lend():
                pass

    async def _ask(self, order: RenderRequest) -> bytes:
        packed = orjson.dumps(request(order, self._environ is not None))
        while True:
            try:
                async with self._pool.lend() as child:
                    return await child.ask(packed, self._limits.deadline)
            except WorkerLost as lost:
                if not lost.is_retryable:
                    raise RenderFailed(f"chart in {order.directory}: {lost}; {self._limits}") from None

    async def _start_worker(self) -> RenderProcess:
        settings = (str(self._limits.memory), str(self._limits.deadline))
        return await RenderProcess.start(settings, self._environ)


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
        "user": order.user,
    }


async def read_render(order: RenderRequest, answer: bytes) -> RenderedChart:
    """What a worker has rendered (`as_answer`), read in steps of some milliseconds."""
    begin = answer.index(b"\n") + 1
    head = orjson.loads(answer[1:begin])
    end = begin + head["manifest"]
    manifest = answer[begin:end].decode()
    for hook in head["ignored"]:
        _log.warn(f"{order.name}: an object is left out, because Helm does not know its helm.sh/hook: {hook}")
    await asyncio.sleep(0)
    values = [value async for value in _read_lines(answer[end:])]
    hooks, objects = values[: head["hooks"]], values[head["hooks"] :]
    return RenderedChart(manifest, tuple(objects), tuple(map(_hook, hooks)), head["notes"], head["chart"])


async def _read_lines(text: bytes) -> AsyncIterator[JSON]:
    read = 0
    for line in text.splitlines():
        yield orjson.loads(line)
        read += len(line)
        if read >= STEP:
            read = 0
            await asyncio.sleep(0)


def _hook(stored: dict[str, Any]) -> HelmHook:
    tuples = {key: tuple(stored[key]) for key in ("events", "delete_policies")}
    return HelmHook(**stored | tuples)
