"""A worker process and the socket to it, for foreign code that may hang, crash or take all memory. What is sent over
the socket is up to the caller and the worker."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self

from hookrunner import safe_files
from hookrunner.process.worker_process import LENGTH
from kubetypes.light_dataclasses import dataclass


class WorkerLost(Exception):
    """The worker ended before it answered, or was ended. The message says why, as far as that is known.

    `is_retryable`: another request may be to blame, so a fresh worker may do better.
    """

    def __init__(self, reason: str, is_retryable: bool = False) -> None:
        super().__init__(reason)
        self.is_retryable = is_retryable


@dataclass(eq=False, slots=True)
class Worker:
    """A running worker. `used`: it has answered before."""

    process: asyncio.subprocess.Process
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    used: bool = False

    @classmethod
    async def start(cls, name: str, spawn: Callable[[int], Awaitable[asyncio.subprocess.Process]]) -> Self:
        """`spawn` starts the process, which talks over this descriptor. It stays in our process group, by which
        `process.children` knows it from orphans. Raises WorkerLost if there can be no process."""
        ours, theirs = socket.socketpair()
        with theirs:
            reader, writer = await asyncio.open_connection(sock=ours)
            try:
                process = await spawn(theirs.fileno())
            except BaseException as error:
                writer.close()
                if isinstance(error, OSError):
                    raise WorkerLost(f"no {name} worker can be started: {error}") from None
                raise
        safe_files.restore_limit(process.pid)
        return cls(process, reader, writer)

    @property
    def is_gone(self) -> bool:
        """Has the socket been closed, or the process ended?"""
        return self._writer.is_closing() or self.has_ended

    @property
    def has_ended(self) -> bool:
        """Has the process ended?"""
        return self.process.returncode is not None

    def write(self, message: bytes) -> None:
        """Send a message. May raise OSError if the worker has ended."""
        self._writer.write(message)

    async def drain(self) -> None:
        """Wait until there is room for more. Raises OSError."""
        await self._writer.drain()

    async def read_answer(self) -> bytes:
        """The next answer. Raises IncompleteReadError, OSError if the worker is gone."""
        (size,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
        text = await self._reader.readexactly(size)
        self.used = True
        return text

    async def wait(self) -> int:
        """Wait until it has ended by itself; its exit status."""
        self._writer.close()
        return await self.process.wait()

    def hang_up(self) -> None:
        """Hang up: an idle worker then ends by itself."""
        self._writer.close()

    async def kill(self) -> None:
        """Kill it, also in the middle of its work, and wait until it has ended."""
        self.hang_up()
        with suppress(ProcessLookupError):
            self.process.kill()
            await self.process.wait()
