"""One render worker, seen from the parent: start it, ask it, end it."""

import asyncio
import re
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Self

from hookrunner.charts.protocol import LENGTH

STARTING = 60.0
"""Seconds until a worker must have said that it is ready: its library has 85 MB, and disks can be slow."""
PATIENCE = 1.0
"""Seconds between asking a worker to end and making it end."""

_ROOT = str(Path(__file__).parents[2])
_LAST_WORDS = re.compile(rb"^(?:fatal error|panic|[\w.]*Error): .*", re.MULTILINE)


class WorkerLost(Exception):
    """The worker ended before it answered, or was ended. The message says why.

    `again`: an earlier render may be to blame, so a fresh worker may do better.
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
        last_words: IO[bytes],
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._last_words = last_words
        self._used = False

    @classmethod
    async def start(cls, settings: Sequence[str]) -> Self:
        """Spawns an interpreter and waits until it has loaded an engine; `settings` are the worker's arguments after
        its socket. It stays in our process group, by which `process.orphans` knows it from orphans.

        Raises `WorkerLost`.
        """
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours)
        last_words = tempfile.TemporaryFile("a+b")  # noqa: SIM115
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-c", _program(), str(theirs.fileno()), *settings),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=last_words,
            )
        except BaseException as error:
            writer.close()
            last_words.close()
            if isinstance(error, OSError):
                raise WorkerLost(f"no render worker can be started: {error}") from None
            raise
        finally:
            theirs.close()
        return cls(process, reader, writer, last_words)

    @property
    def left(self) -> bool:
        """Was it sent away, or has it ended?"""
        return self._writer.is_closing() or self._process.returncode is not None

    async def ready(self) -> None:
        """Wait until it is. Raises WorkerLost."""
        answer = await self._answered(STARTING)
        if answer[:1] != b"=":
            raise WorkerLost(answer[1:].decode())

    async def ask(self, request: bytes, deadline: float) -> bytes:
        """The answer as `worker.py` describes it, or `WorkerLost`; a deadline of 0 is none."""
        try:
            self._writer.write(LENGTH.pack(len(request)) + request)
            await self._writer.drain()
        except OSError:
            raise await self._lost() from None
        answer = await self._answered(deadline)
        self._used = True
        return answer

    async def _answered(self, deadline: float) -> bytes:
        try:
            async with asyncio.timeout(deadline or None):
                (size,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
                return await self._reader.readexactly(size)
        except TimeoutError:
            await self.end()
            raise WorkerLost(f"not done within {deadline:g} s") from None
        except (asyncio.IncompleteReadError, OSError):
            raise await self._lost() from None

    async def _lost(self) -> WorkerLost:
        self._writer.close()
        code = await self._process.wait()
        self._last_words.seek(0)
        words = _LAST_WORDS.search(self._last_words.read(1 << 16))
        self._last_words.close()
        reason = words[0].decode(errors="replace") if words else f"exit status {code}"
        return WorkerLost(f"the render worker died ({reason})", again=self._used)

    def leave(self) -> None:
        """Hang up: an idle worker then ends by itself."""
        self._writer.close()
        self._last_words.close()

    async def end(self) -> None:
        """Kill the worker, whatever it does, and wait until it is gone. It is asked first, for it may have a program of
        its own running, which is no child of ours."""
        self.leave()
        for kill, patience in ((self._process.terminate, PATIENCE), (self._process.kill, None)):
            try:
                kill()
                async with asyncio.timeout(patience):
                    await self._process.wait()
            except (ProcessLookupError, TimeoutError):
                continue


def _program() -> str:
    """Our package may not be on the interpreter's own path: we may run from a checkout."""
    return f"import sys; sys.path.insert(0, {_ROOT!r}); from hookrunner.charts.worker import main; main()"
