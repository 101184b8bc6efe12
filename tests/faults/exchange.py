"""One request through the proxy and its answer, and what a fault does to them on the level of bytes."""

import asyncio
import json
import socket
import struct
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

# The proxy makes its own framing; a length stays, or a HEAD's answer would lie.
NOT_PASSED_ON = {"connection", "keep-alive", "transfer-encoding"}
LINGER_NOT = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that came to the proxy; `target` is the path with the raw query."""

    method: str
    path: str
    query: dict[str, str]
    target: str

    @property
    def line(self) -> str:
        """`METHOD /path?query`, which matches look at."""
        return f"{self.method} {self.target}"

    def matches(self, match: str) -> bool:
        """Tell whether all words of the match stand in the line."""
        return all(word in self.line for word in match.split())


class Exchange:
    """A request that is open: its client's connection and, once the answer has begun, the stream to write to."""

    def __init__(self, request: Request, incoming: web.BaseRequest) -> None:
        self.request = request
        self.transport = incoming.transport
        self._incoming = incoming
        self._response: web.StreamResponse | None = None
        self._between_lines = True
        self._injected: list[bytes] = []

    @property
    def streams(self) -> bool:
        """Whether the client has got the answer's headers."""
        return self._response is not None

    async def begin(self, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
        """Send the headers of the API server's answer on."""
        headers = [(name, value) for name, value in upstream.headers.items() if name.lower() not in NOT_PASSED_ON]
        response = web.StreamResponse(status=upstream.status, reason=upstream.reason)
        response.headers.extend(headers)
        await response.prepare(self._incoming)
        self._response = response
        return response

    async def write(self, chunk: bytes) -> None:
        """Send a piece of the answer on, and then what waits to be injected, if a line has just ended."""
        assert self._response is not None
        self._between_lines = chunk.endswith(b"\n")
        await self._response.write(chunk)
        while self._between_lines and self._injected:
            await self._response.write(self._injected.pop(0))

    async def inject(self, event: dict[str, Any]) -> None:
        """Send an event as a line of its own, now or at the next end of a line."""
        self._injected.append(json.dumps(event).encode() + b"\n")
        if self._between_lines:
            await self.write(self._injected.pop(0))


def reset(transport: asyncio.Transport | None) -> bool:
    """Close a connection with RST, without TLS's farewell; tell whether there was one."""
    if transport is None or transport.is_closing():
        return False
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
    transport.abort()
    return True
