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

from hookrunner.settings import own_environment
from hookrunner.worker import LENGTH, Worker, WorkerLost

_ALWAYS = re.compile(
    r"PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|PYTHON\w+|GO(DEBUG|GC|MAXPROCS|MEMLIMIT|TRACEBACK)"
)
"""Where programs and libraries are, and how Python and Go behave."""

_CLUSTER = re.compile(
    r"KUBECONFIG|KUBERNETES_(MASTER|SERVICE_(HOST|PORT))|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy"
)
"""How client-go finds a cluster and reaches it."""

_LOGIN = re.compile(
    r"(AWS|AZURE|AAD|ARM|CLOUDSDK|DIGITALOCEAN|GOOGLE|OCI|OS|TSH|TELEPORT|VAULT|XDG)_\w+|USE_GKE_\w+|USER"
)
"""What programs that a kubeconfig names (`exec:`) log in with; others take theirs from the kubeconfig's `env`."""


def worker_environment(environ: Mapping[str, str], lookup: bool) -> dict[str, str]:
    """The part of `environ` that a worker gets; with `lookup` the part that leads to the cluster, too.

    A pod that has no kubeconfig logs in with the token of its service account, and needs no other credentials.
    """
    kubeconfig = environ.get("KUBECONFIG") or not environ.get("KUBERNETES_SERVICE_HOST")
    lists = [_ALWAYS, *([_CLUSTER] if lookup else []), *([_LOGIN] if lookup and kubeconfig else [])]
    return {name: text for name, text in environ.items() if any(names.fullmatch(name) for names in lists)}


STARTING = 60.0
"""Seconds until a worker must have said that it is ready: its library has 85 MB, and disks can be slow."""
PATIENCE = 5.0
"""Seconds between asking a worker to end and making it end, which leaves a `helm` that it runs behind."""

_ROOT = str(Path(__file__).parents[2])
_LAST_WORDS = re.compile(rb"^(?:fatal error|panic|[\w.]*Error): .*", re.MULTILINE)


class Child:
    """A running worker."""

    def __init__(self, worker: Worker, last_words: IO[bytes]) -> None:
        self._worker = worker
        self._last_words = last_words

    @classmethod
    async def start(cls, settings: Sequence[str], environ: Mapping[str, str] | None) -> Self:
        """Spawns an interpreter; `settings` are the worker's arguments after its socket, `environ` leads it to the
        cluster, None to none. Raises `WorkerLost`."""
        given = worker_environment(own_environment() if environ is None else environ, lookup=environ is not None)
        last_words = tempfile.TemporaryFile("a+b")  # noqa: SIM115

        async def spawn(descriptor: int) -> asyncio.subprocess.Process:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-c", _program(), str(descriptor), *settings),
                env=given,
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
        """Was it sent away, or has it ended?"""
        return self._worker.left

    async def ready(self) -> None:
        """Wait until it is. Raises WorkerLost."""
        answer = await self._answered(STARTING)
        if answer[:1] != b"=":
            raise WorkerLost(answer[1:].decode())
        self._worker.used = False

    async def ask(self, request: bytes, deadline: float) -> bytes:
        """The answer as `render_worker.py` describes it, or `WorkerLost`; a deadline of 0 is none."""
        try:
            self._worker.write(LENGTH.pack(len(request)) + request)
            await self._worker.drain()
        except OSError:
            raise await self._lost() from None
        return await self._answered(deadline)

    async def _answered(self, deadline: float) -> bytes:
        try:
            async with asyncio.timeout(deadline or None):
                return await self._worker.answer()
        except TimeoutError:
            await self.end()
            raise WorkerLost(f"not done within {deadline:g} s") from None
        except (asyncio.IncompleteReadError, OSError):
            raise await self._lost() from None

    async def _lost(self) -> WorkerLost:
        code = await self._worker.ended()
        if self._last_words.closed:
            return WorkerLost("the render worker was sent away")
        self._last_words.seek(0)
        words = _LAST_WORDS.search(self._last_words.read(1 << 16))
        self._last_words.close()
        reason = words[0].decode(errors="replace") if words else f"exit status {code}"
        return WorkerLost(f"the render worker died ({reason})", again=self._worker.used)

    def leave(self) -> None:
        """Hang up: an idle worker then ends by itself."""
        self._worker.leave()
        self._last_words.close()

    async def end(self) -> None:
        """Kill the worker, whatever it does, and wait until it is gone. It is asked first, for it may have a program of
        its own running, which is no child of ours."""
        self._last_words.close()
        await self._worker.kill(PATIENCE)


def _program() -> str:
    """Our package may not be on the interpreter's own path: we may run from a checkout. Imports leave no garbage to be
    looked for."""
    begin = f"import gc, sys; gc.disable(); sys.path.append({_ROOT!r})"
    return f"{begin}; from hookrunner.charts.render_worker import main; main()"
