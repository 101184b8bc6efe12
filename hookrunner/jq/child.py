"""One worker process, seen from the parent: start it, ask it, end it. What a lost worker means, `pool.py` knows."""

import asyncio
import socket
import struct
import sys
from collections.abc import AsyncGenerator, Sequence
from importlib.util import find_spec
from pathlib import Path
from signal import SIGALRM
from typing import Self

import orjson

NUMBER = struct.Struct("!I")
SCRIPT = Path(__file__).with_name("worker.py")

# Beyond a worker's own alarm: for one that was stopped, or whose answer waits behind a busy event loop.
PATIENCE = 10.0


class WorkerLost(Exception):
    """The worker ended before it answered. The message says why, as far as that is known.

    `again`: another request may be to blame, so a fresh worker may do better.
    """

    def __init__(self, reason: str, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


class Child:
    """A running worker."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        deadline: float,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._deadline = deadline
        self._used = False

    @classmethod
    async def start(cls, deadline: float, memory: int) -> Self:
        """A lean interpreter: no site, no environment, nothing of ours. It stays in our process group, by which
        `process.orphans` knows it from orphans.

        Raises `WorkerLost` if there can be no process.
        """
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours)
        settings = (str(theirs.fileno()), str(deadline), str(memory))
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(SCRIPT), *settings, *_libraries()),
                env={},
                cwd="/",
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except BaseException as error:
            writer.close()
            if isinstance(error, OSError):
                raise WorkerLost(f"no jq worker can be started: {error}") from None
            raise
        finally:
            theirs.close()
        return cls(process, reader, writer, deadline)

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    async def ask(self, kind: bytes, program: bytes, texts: Sequence[bytes]) -> AsyncGenerator[bytes, None]:
        """The answers, one for each text, as they come (`worker.py` has the format). Raises `WorkerLost`."""
        try:
            self._writer.write(_packed([kind, program, *texts]))
            for _ in texts:
                async with asyncio.timeout(self._deadline + PATIENCE):
                    (size,) = NUMBER.unpack(await self._reader.readexactly(NUMBER.size))
                    answer = await self._reader.readexactly(size)
                self._used = True
                yield answer
        except TimeoutError:
            await self.end()
            raise WorkerLost(f"no result within {self._deadline + PATIENCE:g} s") from None
        except (asyncio.IncompleteReadError, OSError):
            raise await self._lost() from None

    async def _lost(self) -> WorkerLost:
        self._writer.close()
        code = await self._process.wait()
        if code == -SIGALRM:
            return WorkerLost(f"no result within {self._deadline:g} s")
        return WorkerLost(f"jq ran out of memory or crashed (exit status {code})", again=self._used)

    def leave(self) -> None:
        """Hang up: an idle worker then ends by itself."""
        self._writer.close()

    async def end(self) -> None:
        """Kill the worker, whatever it does, and wait until it is gone."""
        self.leave()
        try:
            self._process.kill()
        except ProcessLookupError:
            pass
        await self._process.wait()


def _packed(parts: Sequence[bytes]) -> bytes:
    return NUMBER.pack(len(parts)) + b"".join(NUMBER.pack(len(part)) + part for part in parts)


def _libraries() -> list[str]:
    """The directories of `jq` and `orjson`, which a child without site cannot find. `jq` is not loaded here."""
    module, package = find_spec("jq"), Path(orjson.__file__).parent
    return [str(package.parent), *([str(Path(module.origin).parent)] if module and module.origin else [])]
