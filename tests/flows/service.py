"""A Service as kube-proxy makes one: each new connection goes to one of the endpoints and stays there, also if that
endpoint does not answer."""

import asyncio
import contextlib
import itertools
from types import TracebackType
from typing import Self


class Service:
    """An async context manager that listens on a port of this machine. `endpoints` are ports too, and may change."""

    def __init__(self, port: int, *endpoints: int) -> None:
        self.endpoints = list(endpoints)
        self._port = port
        self._numbers = itertools.count()
        self._connections = set[asyncio.Task[None]]()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._passed(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # the endpoint is not there, one side has reset the connection, or the end has come
        finally:
            writer.transport.abort()
            self._connections.discard(task)

    async def _passed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        endpoint = self.endpoints[next(self._numbers) % len(self.endpoints)]
        answers, questions = await asyncio.open_connection("127.0.0.1", endpoint)
        try:
            await asyncio.gather(_pump(reader, questions), _pump(answers, writer))
        finally:
            questions.transport.abort()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Until the end of the source, which is passed on as well."""
    while chunk := await source.read(65536):
        target.write(chunk)
        await target.drain()
    with contextlib.suppress(OSError):  # the other side has closed meanwhile
        target.write_eof()
