"""Runs a provider as a process, as `cloud start` would, and keeps what it prints and leaves behind."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from hookrunner.cloud.checks.probe import Ask, Printed
from hookrunner.cloud.provider.provider_program import ProviderProgram, provider_command
from hookrunner.cloud.provider.serve_transport import ask, open_session, run_session
from hookrunner.cloud.provider.wire_answers import ANSWER, Answer, unavailable
from hookrunner.cloud.provider.wire_requests import CallRequest
from hookrunner.errors import HookFailed
from hookrunner.process.children import Children
from hookrunner.process.leader import processes
from hookrunner.process.output import OutputStream, WholeOutput

_MOST_LINES = 2000


class ProcessRunner:
    """`environment` is the whole environment of the program, `executable` an absolute path."""

    def __init__(self, executable: Path, environment: Mapping[str, str], children: Children) -> None:
        self._executable = executable
        self._environment = environment
        self._children = children

    async def run(self, argument: str, given: bytes, timeout: float) -> Printed:
        answer, log = WholeOutput(ANSWER.size + 1), _LogLines()
        command = provider_command(self._executable, self._environment, argument, given, timeout)
        command = replace(command, leaves_nothing=False)  # it is looked at first
        try:
            end = await self._children.run(command, log, answer)
        except HookFailed as error:
            return Printed(b"", ending=str(error))
        ending = "" if end.ok or answer.is_over else str(end)  # one that prints too much was ended for it
        return Printed(answer.text, "\n".join(log.lines), ending, end.timed_out, _end_group(end.pid))

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Ask]:
        """A process that serves, as `cloud start` keeps one. It has ended in the end."""
        session, program = await open_session(), ProviderProgram(self._executable, self._environment)
        running = asyncio.create_task(run_session(session, program, self._children))

        async def ask_serving(request: CallRequest) -> Answer:
            if not session.is_taking:
                raise unavailable(f"the provider's process has ended: {session.reason}")
            return await ask(session, request)

        try:
            yield ask_serving
        finally:
            running.cancel()
            await asyncio.wait({running})


class _LogLines:
    """The line sink of standard error."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, stream: OutputStream, text: str) -> None:
        if stream is OutputStream.STDERR and len(self.lines) < _MOST_LINES:
            self.lines.append(text)

    def ended(self, stream: OutputStream) -> None:
        pass


def _end_group(leader: int) -> tuple[str, ...]:
    """Kill what is left of a process group; the names of its processes. One that still runs keeps the group's id from
    being given to another."""
    left = tuple(row.name for row in processes() if row.group == leader and row.state != "Z")
    if left:
        os.killpg(leader, signal.SIGKILL)
    return left
