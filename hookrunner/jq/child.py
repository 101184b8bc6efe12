"""One worker process, seen from the parent: start it, ask it, end it. What a lost worker means, `pool.py` knows."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from importlib.util import find_spec
from pathlib import Path
from signal import SIGALRM
from typing import Self

import orjson

from hookrunner.worker import LENGTH, Worker, WorkerLost

SCRIPT = Path(__file__).with_name("worker.py")

# Beyond a worker's own alarm: for one that was stopped, or whose answer waits behind a busy event loop.
PATIENCE = 10.0


class Child:
    """A running worker."""

    def __init__(self, worker: Worker, deadline: float) -> None:
        self._worker = worker
        self._deadline = deadline

    @classmethod
    async def start(cls, deadline: float, memory: int) -> Self:
        """A lean interpreter: no site, no environment, nothing of ours. Raises `WorkerLost`."""

        async def spawn(descriptor: int) -> asyncio.subprocess.Process:
            settings = (str(descriptor), str(deadline), str(memory))
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(SCRIPT), *settings, *_libraries()),
                env={},
                cwd="/",
                pass_fds=(descriptor,),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )

        return cls(await Worker.start("jq", spawn), deadline)

    @property
    def running(self) -> bool:
        return self._worker.process.returncode is None

    async def ask(self, kind: bytes, program: bytes, texts: Sequence[bytes]) -> AsyncGenerator[bytes, None]:
        """The answers, one for each text, as they come (`worker.py` has the format). Raises `WorkerLost`."""
        try:
            self._worker.write(_packed([kind, program, *texts]))
            for _ in texts:
                async with asyncio.timeout(self._deadline + PATIENCE):
                    answer = await self._worker.answer()
                yield answer
        except TimeoutError:
            await self.end()
            raise WorkerLost(f"no result within {self._deadline + PATIENCE:g} s") from None
        except (asyncio.IncompleteReadError, OSError):
            raise await self._lost() from None

    async def _lost(self) -> WorkerLost:
        code = await self._worker.ended()
        if code == -SIGALRM:
            return WorkerLost(f"no result within {self._deadline:g} s")
        return WorkerLost(f"jq ran out of memory or crashed (exit status {code})", again=self._worker.used)

    def leave(self) -> None:
        """Hang up: an idle worker then ends by itself."""
        self._worker.leave()

    async def end(self) -> None:
        """Kill the worker, whatever it does, and wait until it is gone."""
        await self._worker.kill()


def _packed(parts: Sequence[bytes]) -> bytes:
    return LENGTH.pack(len(parts)) + b"".join(LENGTH.pack(len(part)) + part for part in parts)


def _libraries() -> list[str]:
    """The directories of `jq` and `orjson`, which a child without site cannot find. `jq` is not loaded here."""
    module, package = find_spec("jq"), Path(orjson.__file__).parent
    return [str(package.parent), *([str(Path(module.origin).parent)] if module and module.origin else [])]
