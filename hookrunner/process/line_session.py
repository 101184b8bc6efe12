"""A program that stays and answers lines: one request a line, one answer a line, in any order.

    session = await LineSession.open(rules)
    future = session.send("r1", b'{"id": "r1"}')        # its answer, or the error of a session that has ended
    await session.run(children.wait(child))             # until the program ends, or must be ended

What differs between programs is in `LineRules`, and which descriptors they are: the program reads from
`session.requests`, and what it writes is passed to `session.take`. A line that cannot be read, or that answers no
request that is open, ends the session: nothing that this process writes from then on can be trusted.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Generic, Self, TypeVar

from hookrunner.errors import HookFailed
from hookrunner.process.child import Exit
from hookrunner.process.output import OutputPipe
from kubetypes.bounds import in_units
from kubetypes.light_dataclasses import dataclass

T = TypeVar("T")

LEAVING = 5.0
"""Seconds that a program has to finish after the end of its requests."""


_CLOSED = 0.5
"""Seconds from a closed pipe to the end of its process, which is how most are closed."""


class BadLine(Exception):
    """A line that no program may write. The message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class LineRules(Generic[T]):
    """What lines mean. `read` returns the id of a request and what was answered to it, or None for a line that answers
    nothing; it raises BadLine. `largest` is in bytes. `lost` makes the error of requests that get no answer: at once
    when the session is given up, or with `waits` not before the process has ended."""

    largest: int
    read: Callable[[bytes], tuple[str, T] | None]
    lost: Callable[[str], Exception]
    waits: bool = False


class _Requests(asyncio.BaseProtocol):
    """Notices that the process has closed its end."""

    def __init__(self) -> None:
        self.closed: Callable[[str], None] | None = None

    def connection_lost(self, error: Exception | None) -> None:
        if self.closed:
            self.closed("requests")


class LineSession(Generic[T]):
    """One process from its start to its end, and its open requests. A chunk sink for what it answers."""

    def __init__(self, rules: LineRules[T], requests: int, writer: asyncio.WriteTransport) -> None:
        self.requests = requests
        self._is_released = False
        self.reason = "it ended by itself"
        self.end: Exit | None = None
        self.is_taking = True
        self.has_answered = False
        self._rules = rules
        self._writer = writer
        self._open: dict[str, asyncio.Future[T]] = {}
        self._overdue: set[str] = set()
        self._partial = bytearray()
        self._over = asyncio.Event()
        self._answers: OutputPipe | None = None
        self._has_ended = self._is_closed = False

    @classmethod
    async def open(cls, rules: LineRules[T]) -> Self:
        """A session whose process is not started yet; requests may be written to it. `requests` is the descriptor that
        the process reads from."""
        read_end, write_end = os.pipe()
        connect = asyncio.get_running_loop().connect_write_pipe
        writer, protocol = await connect(_Requests, os.fdopen(write_end, "wb", buffering=0))
        session = cls(rules, read_end, writer)
        protocol.closed = session.note_closed
        return session

    def read_from(self, descriptor: int) -> None:
        """Read answers from a descriptor, which becomes the session's, instead of by `take`."""
        self._answers = OutputPipe(descriptor, self, self._over.set)

    def close(self) -> None:
        """Close a session whose process could not be started."""
        self._close_requests()
        self.release()

    def release(self) -> None:
        """The process has its end of the requests: from now on it shows if it closes it."""
        if not self._is_released:
            self._is_released = True
            os.close(self.requests)

    def note_closed(self, which: str) -> None:
        """The process has closed one of its ends. Mostly because it ends; one that goes on is ended."""
        if self.is_alive and not self._is_closed:
            asyncio.get_running_loop().call_later(_CLOSED, self.give_up, f"it closed its {which}")

    async def run(self, process: Coroutine[None, None, Exit]) -> None:
        """Run the process until it ends, or the session is given up. Cancelled, it gives it time to leave. `reason`
        says afterwards why it ended, `end` how if it did so by itself."""
        running = asyncio.create_task(self._note_end(process))
        over = asyncio.create_task(self._over.wait())
        try:
            await asyncio.wait({running, over}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._close_requests()
            await asyncio.wait({running}, timeout=LEAVING if self.is_alive else 0)
            raise
        finally:
            self.is_taking = False
            over.cancel()
            running.cancel()
            try:
                await asyncio.wait({running})
            finally:
                self._close_requests()
                self._close_answers()
                self.release()
                self._has_ended = True
                self._refuse_all()

    def send(self, request_id: str, text: bytes) -> asyncio.Future[T]:
        """Write a request, a line without its end, and return what will be answered to it. Only while it is taking."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._open[request_id] = answer
        self.tell(text)
        return answer

    def tell(self, text: bytes) -> None:
        """Write a line that needs no answer."""
        self._writer.write(text + b"\n")

    def drop(self, request_id: str, patience: float) -> None:
        """No caller waits for this answer any more. If it does not come within so many seconds, the program hangs."""
        if self._open.pop(request_id, None):
            self._overdue.add(request_id)
            asyncio.get_running_loop().call_later(patience, self._require_answered, request_id)

    def finish(self) -> None:
        """Take no more requests; the process may finish the open ones."""
        self.is_taking = False
        self._close_requests()
        asyncio.get_running_loop().call_later(LEAVING, self._over.set)

    def give_up(self, reason: str) -> bool:
        """End the process: nothing that it writes from now on can be trusted. False, as `take` returns."""
        if self.is_alive and not self._has_ended:
            self.is_taking, self.reason = False, reason
            self._over.set()
            if not self._rules.waits:
                self._refuse_all()
        return False

    def take(self, chunk: bytes) -> bool:
        """Read a piece of what it writes."""
        *ends, rest = chunk.split(b"\n")
        lines = [bytes(self._partial) + ends[0], *ends[1:]] if ends else []
        if ends:
            self._partial.clear()
        self._partial += rest
        if len(self._partial) > self._rules.largest:
            return self.give_up(f"it printed a line of more than {in_units(self._rules.largest)}")
        return self.is_alive and all(map(self._answer, lines))

    def flush(self) -> None:
        """Half a line is no answer."""
        if self._answers and self._answers.eof.is_set():
            self.note_closed("answers")

    @property
    def is_alive(self) -> bool:
        """Has nothing happened that must end the process?"""
        return not self._over.is_set()

    def _close_answers(self) -> None:
        """Take what it has written before its end."""
        if self._answers:
            self._answers.drain()
            self._is_closed = True
            self._answers.close()

    def _close_requests(self) -> None:
        self._is_closed = True
        self._writer.close()

    def _answer(self, line: bytes) -> bool:
        if not line.strip():
            return True
        try:
            answered = self._rules.read(line)
        except BadLine as error:
            return self.give_up(str(error))
        if answered is None:
            return self.is_alive
        request_id, value = answered
        if request_id in self._overdue:
            self._overdue.discard(request_id)
        elif answer := self._open.pop(request_id, None):
            self.has_answered = True
            if not answer.done():
                answer.set_result(value)
        else:
            return self.give_up("it printed an answer to a request that is not open")
        return True

    def _require_answered(self, request_id: str) -> None:
        if request_id in self._overdue:
            self.give_up("it hangs: a request is not answered after twice its deadline")

    def _refuse_all(self) -> None:
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(self._rules.lost(self.reason))
        self._open.clear()
        self._overdue.clear()

    async def _note_end(self, process: Coroutine[None, None, Exit]) -> None:
        try:
            self.end = await process
        except HookFailed as error:
            self.reason = str(error)
        else:
            self.reason = self.reason if not self.is_alive else str(self.end)
