"""Things that go wrong with an API server, on demand: for tests, and for people who want to see what happens.

Standing faults (`delay`, `answer`, `refuse`, `stall`, `drop`, `garble`) hold for the requests whose line
`METHOD /path?query` contains `match`, so many `times` or until they are taken away. `cut` and `expire` happen once, to
the watches that are open. The same over HTTP, below `/_sandbox/`: see `administer`.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, field, fields
from http import HTTPStatus
from typing import Any, Literal, get_args

import orjson
from aiohttp import web

from kubesandbox import status
from kubesandbox.status import Refused, bad_request
from kubesandbox.verbs.watching import Event
from kubetypes import json_values
from kubetypes.light_dataclasses import dataclass

What = Literal["delay", "answer", "refuse", "stall", "drop", "garble"]
REMEMBERED = 10_000
PHRASES = {status.value: status.phrase for status in HTTPStatus}
REASONS = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired",
    422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """`delay`: answer after `seconds`. `answer`: with `status`, and `retry_after` seconds if given. `refuse`: close the
    connection without an answer. `stall`: send nothing more until it is taken away. `drop`: lose the events of watches.
    `garble`: send half a line for each of them.
    """

    what: What
    match: str = ""
    times: int = 0
    seconds: float = 0.0
    status: int = 500
    retry_after: int = 0

    def __post_init__(self) -> None:
        if self.what not in get_args(What):
            raise bad_request(f"there is no fault {self.what!r}; there are {', '.join(get_args(What))}")
        if not isinstance(self.match, str):
            raise bad_request("`match` is a part of a request's line: METHOD /path?query")
        if type(self.times) is not int or not isinstance(self.seconds, int | float) or not 0 <= self.seconds < 1e6:
            raise bad_request("`times` is a number of requests, `seconds` a length of time")
        if type(self.status) is not int or not 400 <= self.status <= 599 or type(self.retry_after) is not int:
            raise bad_request("`status` is a number from 400 to 599, `retry_after` whole seconds")


@dataclass(eq=False)
class Stream:
    """An open watch: its request's line, the answer that is being written, the task that writes it."""

    line: str
    response: web.StreamResponse | None
    task: asyncio.Task[Any] | None
    transport: asyncio.Transport | None


@dataclass(eq=False)
class Faults:
    """The faults of one sandbox. `requests` remembers the last request lines, the newest last."""

    requests: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    _standing: dict[int, Fault] = field(default_factory=dict)
    _used: dict[int, int] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _streams: set[Stream] = field(default_factory=set)

    # ── Python ────────────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, fault: Fault) -> int:
        """Let it happen from now on; the number takes it away again."""
        number = next(self._ids)
        self._standing[number] = fault
        self._tell()
        return number

    def remove(self, number: int) -> None:
        """Take one away."""
        self._standing.pop(number, None)
        self._tell()

    def clear(self) -> None:
        """Remove all faults; stalled requests continue."""
        self._standing.clear()
        self._tell()

    def watching(self, match: str = "") -> int:
        """How many watches are open."""
        return sum(match in stream.line for stream in self._streams)

    def cut(self, match: str = "") -> int:
        """Break off open watches in the middle; how many."""
        found = [stream for stream in self._streams if match in stream.line]
        for stream in found:
            if stream.transport is not None:
                stream.transport.abort()
        return len(found)

    async def expire(self, match: str = "") -> int:
        """End open watches with 410, as after a compaction. Returns how many."""
        refused = status.expired("too old resource version: a fault that the sandbox was given")
        return await self.inject({"type": "ERROR", "object": refused.json()}, match, end=True)

    async def inject(self, event: dict[str, Any] | bytes, match: str = "", *, end: bool = False) -> int:
        """Send an event of any kind into open watches; how many. Bytes are sent as they are, all at once."""
        sent = event if isinstance(event, bytes) else orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)
        found = [stream for stream in self._streams if match in stream.line and stream.response is not None]
        for stream in found:
            assert stream.response is not None
            await stream.response.write(sent)
            if end:
                await stream.response.write_eof()
                assert stream.task is not None
                stream.task.cancel()
        return len(found)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # ── for the server ────────────────────────────────────────────────────────────────────────────────────────────

    async def before(self, http: web.BaseRequest) -> None:
        """Apply the faults that come before a request is read. Raises Refused, or ConnectionError after a cut."""
        line = f"{http.method} {http.path_qs}"
        if line.partition(" ")[2].startswith("/_sandbox"):
            return
        self.requests.append(line)
        for number, fault in self._matching(line, "delay", "answer", "refuse"):
            self._use(number, fault)
            if fault.what == "delay":
                await asyncio.sleep(fault.seconds)
            elif fault.what == "answer":
                raise _answered(fault)
            elif http.transport is not None:
                http.transport.abort()
                raise ConnectionResetError("refused by a fault")
        await self._wait_for_stalls(line)

    async def through(
        self, http: web.BaseRequest, response: web.StreamResponse, events: AsyncIterator[Event]
    ) -> AsyncIterator[Event]:
        """The events of a watch that come through."""
        line = f"{http.method} {http.path_qs}"
        with self._open(Stream(line, response, asyncio.current_task(), http.transport)):
            async for event in events:
                if not await self._spoilt(line, response, event):
                    await self._wait_for_stalls(line)
                    yield event

    async def _spoilt(self, line: str, response: web.StreamResponse, event: Event) -> bool:
        """Whether an event is lost, or half of it sent."""
        faults = self._matching(line, "drop", "garble")
        for number, fault in faults:
            self._use(number, fault)
            if fault.what == "garble":
                await response.write(event.body[: len(event.body) // 2] + b"\n")
        return bool(faults)

    @contextmanager
    def _open(self, stream: Stream) -> Iterator[None]:
        self._streams.add(stream)
        try:
            yield
        finally:
            self._streams.discard(stream)

    def _matching(self, line: str, *whats: str) -> list[tuple[int, Fault]]:
        if not self._standing:
            return []
        return [(n, fault) for n, fault in self._standing.items() if fault.what in whats and fault.match in line]

    def _use(self, number: int, fault: Fault) -> None:
        self._used[number] = self._used.get(number, 0) + 1
        if fault.times and self._used[number] >= fault.times:
            self.remove(number)

    async def _wait_for_stalls(self, line: str) -> None:
        while self._matching(line, "stall"):
            await self._changed.wait()

    # ── HTTP ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def administer(self, http: web.BaseRequest, body: bytes) -> object:
        """`GET|POST|DELETE /_sandbox/faults[/<number>]`, `POST /_sandbox/cut|expire?match=…`, `GET
        /_sandbox/requests`; the value to answer with."""
        parts = http.path.strip("/").split("/")[1:]
        match http.method, parts:
            case "GET", ["faults"]:
                return {"faults": [{"number": number} | asdict(fault) for number, fault in self._standing.items()]}
            case "POST", ["faults"]:
                return {"number": self.add(_fault(body))}
            case "DELETE", ["faults"]:
                self.clear()
            case "DELETE", ["faults", number] if number.isdecimal() and len(number) < 20:
                self.remove(int(number))
            case "POST", ["cut"]:
                return {"watches": self.cut(http.query.get("match", ""))}
            case "POST", ["expire"]:
                return {"watches": await self.expire(http.query.get("match", ""))}
            case "GET", ["requests"]:
                return {"requests": list(self.requests)}
            case _:
                raise status.no_such_path()
        return {}


def _fault(body: bytes) -> Fault:
    try:
        return Fault(**json_values.loads(body))
    except (ValueError, TypeError):
        keys = ", ".join(key.name for key in fields(Fault))
        example = '{"what": "answer", "match": "GET /api/v1/pods", "status": 503}'
        raise bad_request(f"a fault is a JSON object with some of {keys}; for example {example}") from None


def _answered(fault: Fault) -> Refused:
    phrase = PHRASES.get(fault.status, "a fault")
    refused = Refused(fault.status, REASONS.get(fault.status, ""), f"a fault that the sandbox was given: {phrase}")
    refused.retry_after = fault.retry_after
    return refused
