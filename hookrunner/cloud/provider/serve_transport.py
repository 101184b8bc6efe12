"""The program that stays: `<provider> serve` gets one request a line and answers one line each, in any order.

It is started when it is first needed. If it ends, or prints a line that answers none of its requests, all open requests
are `Unavailable`, its group is ended, and the next one is started after 1 s, doubled up to 30 s until one answers. A
request that is over its deadline is `Unavailable`; if it is still not answered after as long again, the program hangs:
its group is ended, too.
"""

import asyncio
from typing import TypeAlias

from hookrunner import log
from hookrunner.cloud.answers import ProviderError
from hookrunner.cloud.provider.process_transport import ProviderLog
from hookrunner.cloud.provider.provider_program import ProviderProgram, provider_command
from hookrunner.cloud.provider.wire_answers import ANSWER, Answer, read_answer, request_id_of, unavailable
from hookrunner.cloud.provider.wire_requests import CallRequest
from hookrunner.process.children import Children
from hookrunner.process.line_session import BadLine, LineRules, LineSession
from hookrunner.waits import Pauses

_log = log.get(__name__)

RESTARTS = Pauses(1.0, 30.0)
"""From the end of one process to the start of the next."""

ServeSession: TypeAlias = LineSession[Answer]


class ServeTransport:
    """Keeps one such process. `run` must be running for calls to be answered."""

    def __init__(self, program: ProviderProgram, children: Children, pauses: Pauses = RESTARTS) -> None:
        self._program = program
        self._children = children
        self._pauses = pauses
        self._wanted = asyncio.Event()
        self._changed = asyncio.Event()
        self._session: ServeSession | None = None
        self._is_renewed = False

    async def exchange(self, request: CallRequest) -> Answer:
        """What was answered to it. Raises ProviderError."""
        try:
            async with asyncio.timeout(request.deadline):
                while not (self._session and self._session.is_taking):
                    self._wanted.set()
                    self._changed.clear()
                    await self._changed.wait()
                return await ask(self._session, request)
        except TimeoutError:
            raise unavailable(f"no answer within {request.deadline:g} s") from None

    async def run(self) -> None:
        """Start the program when it is wanted, and again after its end, until cancelled."""
        failures = 0
        while True:
            await self._wanted.wait()
            session = self._session = await open_session()
            self._is_renewed = False
            self._changed.set()
            await run_session(session, self._program, self._children)
            self._wanted.clear()
            self._changed.set()  # those who wait say again that it is wanted
            failures = 0 if session.has_answered else failures
            if self._is_renewed:
                continue
            failures += 1
            pause = self._pauses.after(failures)
            _log.warn("provider's process ended, starting it again", reason=session.reason, seconds=pause)
            await asyncio.sleep(pause)

    def renew(self) -> None:
        """The file was replaced: let the process finish what it has, and start the new one."""
        if self._session:
            self._is_renewed = True
            self._session.finish()


async def open_session() -> ServeSession:
    """A session whose process is not started yet."""
    return await LineSession.open(_RULES)


async def run_session(session: ServeSession, program: ProviderProgram, children: Children) -> None:
    """Run the program until it ends, hangs or prints what is no answer. Cancelled, it gives it time to leave."""
    command = provider_command(program.executable, program.environment, "serve", session.requests)
    await session.run(children.run(command, ProviderLog(program, "serve"), session))


async def ask(session: ServeSession, request: CallRequest) -> Answer:
    """Raises ProviderError if the process ends before it has answered."""
    answer = session.send(request.request_id, request.text)
    try:
        return await answer
    except asyncio.CancelledError:  # the deadline, or the caller is gone
        session.drop(request.request_id, request.deadline)
        raise


def _read(line: bytes) -> tuple[str, Answer]:
    try:
        answer = read_answer(line)
        return request_id_of(answer), answer
    except ProviderError as error:
        raise BadLine(error.reason) from None


def _lost(reason: str) -> ProviderError:
    return unavailable(f"the provider's process is gone: {reason}")


_RULES: LineRules[Answer] = LineRules(ANSWER.size, _read, _lost)
