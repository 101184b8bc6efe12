"""One render worker, seen from the parent: start it, ask it, end it."""

import asyncio
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from hookrunner.charts.environment import worker_environment
from hookrunner.settings import own_environment
from hookrunner.worker import LENGTH, Worker, WorkerLost

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
        """The answer as `worker.py` describes it, or `WorkerLost`; a deadline of 0 is none."""
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
    return f"{begin}; from hookrunner.charts.worker import main; main()"
