"""The program that stays: `<provider> serve` gets one request a line and answers one line each, in any order.

It is started when it is first needed. If it ends, or prints a line that answers none of its requests, all open requests
are `Unavailable`, its group is ended, and the next one is started after 1 s, doubled up to 30 s until one answers. A
request that is over its deadline is `Unavailable`; if it is still not answered after as long again, the program hangs:
its group is ended, too.
"""

import asyncio
import os
from typing import Self

from hookrunner import log
from hookrunner.cloud.answers import ProviderError
from hookrunner.cloud.provider.process_transport import ProviderLog
from hookrunner.cloud.provider.provider_program import ProviderProgram, provider_command
from hookrunner.cloud.provider.wire_answers import ANSWER, Answer, read_answer, request_id_of, unavailable
from hookrunner.cloud.provider.wire_requests import CallRequest
from hookrunner.errors import HookFailed
from hookrunner.process.children import Children
from hookrunner.waits import Pauses

_log = log.get(__name__)

LEAVING = 5.0
"""Seconds that the program has to finish after the end of its standard input."""


RESTARTS = Pauses(1.0, 30.0)
"""From the end of one process to the start of the next."""


class ServeTransport:
    """Keeps one such process. `run` must be running for calls to be answered."""

    def __init__(self, program: ProviderProgram, children: Children, pauses: Pauses = RESTARTS) -> None:
        self._program = program
        self._children = children
        self._pauses = pauses
        self._wanted = asyncio.Event()
        self._changed = asyncio.Event()
        self._session: ServeSession | None = None

    async def exchange(self, request: CallRequest) -> Answer:
        """What was answered to it. Raises ProviderError."""
        try:
            async with asyncio.timeout(request.deadline):
                while not (self._session and self._session.is_taking):
                    self._wanted.set()
                    self._changed.clear()
                    await self._changed.wait()
                return await self._session.ask(request)
        except TimeoutError:
            raise unavailable(f"no answer within {request.deadline:g} s") from None

    async def run(self) -> None:
        """Start the program when it is wanted, and again after its end, until cancelled."""
        failures = 0
        while True:
            await self._wanted.wait()
            session = self._session = await ServeSession.open(self._program)
            self._changed.set()
            await session.run(self._children)
            self._wanted.clear()
            self._changed.set()  # those who wait say again that it is wanted
            failures = 0 if session.has_answered else failures
            if session.is_renewed:
                continue
            failures += 1
            pause = self._pauses.after(failures)
            _log.warn("provider's process ended, starting it again", reason=session.reason, seconds=pause)
            await asyncio.sleep(pause)

    def renew(self) -> None:
        """The file was replaced: let the process finish what it has, and start the new one."""
        if self._session:
            self._session.finish()


class ServeSession:
    """One process from its start to its end, and its open requests. A chunk sink for what it prints."""

    def __init__(self, program: ProviderProgram, read_end: int, stdin: asyncio.WriteTransport) -> None:
        self._program = program
        self._read_end = read_end
        self._stdin = stdin
        self._open: dict[str, asyncio.Future[Answer]] = {}
        self._overdue: set[str] = set()
        self._partial = bytearray()
        self._over = asyncio.Event()
        self.reason = "it ended by itself"
        self.is_taking = True
        self.is_renewed = False
        self.has_answered = False

    @classmethod
    async def open(cls, program: ProviderProgram) -> Self:
        """A session whose process is not started yet; requests may be written to it."""
        read_end, write_end = os.pipe()
        connect = asyncio.get_running_loop().connect_write_pipe
        stdin, _ = await connect(asyncio.BaseProtocol, os.fdopen(write_end, "wb", buffering=0))
        return cls(program, read_end, stdin)

    async def run(self, children: Children) -> None:
        """Run the process until it ends, hangs or prints what is no answer. Cancelled, it gives it time to leave."""
        process = asyncio.create_task(self._run_process(children))
        over = asyncio.create_task(self._over.wait())
        try:
            await asyncio.wait({process, over}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._stdin.close()
            await asyncio.wait({process}, timeout=LEAVING if self.is_alive else 0)
            raise
        finally:
            self.is_taking = False
            over.cancel()
            process.cancel()
            try:
                await asyncio.wait({process})
            finally:
                self._stdin.close()
                os.close(self._read_end)
                self._refuse_all()

    async def ask(self, request: CallRequest) -> Answer:
        """Write the request, and wait for its line. Raises ProviderError if the process ends before that."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[request.request_id] = answer
        self._stdin.write(request.text + b"\n")
        try:
            return await answer
        except asyncio.CancelledError:  # the deadline, or the caller is gone
            if self._open.pop(request.request_id, None):
                self._overdue.add(request.request_id)
                asyncio.get_running_loop().call_later(request.deadline, self._require_answered, request.request_id)
            raise

    def finish(self) -> None:
        """Take no more requests; the process may finish the open ones."""
        self.is_taking, self.is_renewed = False, True
        self._stdin.close()
        asyncio.get_running_loop().call_later(LEAVING, self._over.set)

    def take(self, chunk: bytes) -> bool:
        *ends, rest = chunk.split(b"\n")
        lines = [bytes(self._partial) + ends[0], *ends[1:]] if ends else []
        if ends:
            self._partial.clear()
        self._partial += rest
        if len(self._partial) > ANSWER.size:
            return self._give_up(f"it printed a line of more than {ANSWER.size >> 20} MiB")
        return self.is_alive and all(map(self._answer, lines))

    def flush(self) -> None:
        """Half a line is no answer."""

    @property
    def is_alive(self) -> bool:
        """Has nothing happened that must end the process?"""
        return not self._over.is_set()

    def _answer(self, line: bytes) -> bool:
        if not line.strip():
            return True
        try:
            printed = read_answer(line)
            request_id = request_id_of(printed)
        except ProviderError as error:
            return self._give_up(error.reason)
        if request_id in self._overdue:
            self._overdue.discard(request_id)
        elif answer := self._open.pop(request_id, None):
            self.has_answered = True
            if not answer.done():
                answer.set_result(printed)
        else:
            return self._give_up("it printed an answer to a request that is not open")
        return True

    def _give_up(self, reason: str) -> bool:
        """Nothing that this process prints from now on can be trusted."""
        if self.is_alive:
            self.is_taking, self.reason = False, reason
            self._over.set()
            self._refuse_all()
        return False

    def _require_answered(self, request_id: str) -> None:
        if request_id in self._overdue:
            self._give_up("it hangs: a request is not answered after twice its deadline")

    def _refuse_all(self) -> None:
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(unavailable(f"the provider's process is gone: {self.reason}"))
        self._open.clear()
        self._overdue.clear()

    async def _run_process(self, children: Children) -> None:
        program = self._program
        command = provider_command(program.executable, program.environment, "serve", self._read_end)
        try:
            end = await children.run(command, ProviderLog(program, "serve"), self)
        except HookFailed as error:
            self.reason = str(error)
        else:
            self.reason = self.reason if not self.is_alive else str(end)
