"""One render worker, seen from the parent: its environment, how it is started, asked and ended.

A worker runs templates, which are written by others. Helm gives them no `env`, so that this is a second wall: what is
not in the worker cannot leave it, whatever goes wrong in Helm's library. Therefore the lists below say what comes in;
everything else stays out, above all `HOOKRUNNER_*` and the variables that are meant for hooks.
"""

import asyncio
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from hookrunner.process.worker import LENGTH, Worker, WorkerLost
from hookrunner.settings import own_environment

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


STARTING = 60.0
"""Seconds within which a worker must report that it is ready: its library has 85 MB, and disks can be slow."""
PATIENCE = 5.0
"""Seconds between asking a worker to end and killing it; killing leaves behind a `helm` that it runs."""

_ROOT = str(Path(__file__).parents[2])
_LAST_WORDS = re.compile(rb"^(?:fatal error|panic|[\w.]*Error): .*", re.MULTILINE)


class RenderProcess:
    """A running render worker."""

    def __init__(self, worker: Worker, last_words: IO[bytes]) -> None:
        self._worker = worker
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

    @property
    def left(self) -> bool:
        """Was it dismissed, or has it ended?"""
        return self._worker.left

    async def wait_ready(self) -> None:
        """Wait until the worker is ready. Raises WorkerLost."""
        answer = await self._read_answer(STARTING)
        if answer[:1] != b"=":
            raise WorkerLost(answer[1:].decode())
        self._worker.used = False

    async def ask(self, request: bytes, deadline: float) -> bytes:
        """Send a request and read the answer, in the format of `render_worker.py`. A deadline of 0 means none. Raises
        WorkerLost."""
        try:
            self._worker.write(LENGTH.pack(len(request)) + request)
            await self._worker.drain()
        except OSError:
            raise await self._describe_loss() from None
        return await self._read_answer(deadline)

    async def _read_answer(self, deadline: float) -> bytes:
        try:
            async with asyncio.timeout(deadline or None):
                return await self._worker.answer()
        except TimeoutError:
            await self.end()
            raise WorkerLost(f"not done within {deadline:g} s") from None
        except (asyncio.IncompleteReadError, OSError):
            raise await self._describe_loss() from None

    async def _describe_loss(self) -> WorkerLost:
        code = await self._worker.ended()
        if self._last_words.closed:
            return WorkerLost("the render worker was dismissed")
        self._last_words.seek(0)
        words = _LAST_WORDS.search(self._last_words.read(1 << 16))
        self._last_words.close()
        reason = words[0].decode(errors="replace") if words else f"exit status {code}"
        return WorkerLost(f"the render worker died ({reason})", again=self._worker.used)

    def leave(self) -> None:
        """Close the socket: an idle worker then ends by itself."""
        self._worker.leave()
        self._last_words.close()

    async def end(self) -> None:
        """Kill the worker, whatever it does, and wait until it has ended. It is asked to end first, because it may have
        started a program, which is not a child of this process."""
        self._last_words.close()
        await self._worker.kill(PATIENCE)


def _program() -> str:
    """The worker's program. The package may not be on the interpreter's own path, as in a checkout. Imports leave no
    garbage, so the collector is off until they are done."""
    begin = f"import gc, sys; gc.disable(); sys.path.append({_ROOT!r})"
    return f"{begin}; from hookrunner.charts.render_worker import main; main()"
