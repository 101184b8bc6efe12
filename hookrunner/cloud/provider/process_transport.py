"""One call of the cloud's program, one process: the request on standard input, the answer on standard output.

It leads a process group of its own in the directory of the executable. At its deadline the group gets SIGTERM, 2 s
later SIGKILL; what it leaves behind in its group is killed. Any end but exit code 0 with an answer of at most 2 MiB is
`Unavailable`. Lines on standard error go to the log with provider and verb.
"""

import asyncio

from hookrunner import log
from hookrunner.cloud.provider.provider_program import ProviderProgram, provider_command
from hookrunner.cloud.provider.wire_answers import ANSWER, Answer, read_answer, unavailable
from hookrunner.cloud.provider.wire_requests import CallRequest
from hookrunner.errors import HookFailed
from hookrunner.process.children import Children
from hookrunner.process.output import SHOWN, OutputStream, WholeOutput

_log = log.get(__name__)


class ProcessTransport:
    """Starts a process for each call."""

    def __init__(self, program: ProviderProgram, children: Children) -> None:
        self._program = program
        self._children = children

    async def exchange(self, request: CallRequest) -> Answer:
        """The answer, within the request's deadline. Raises ProviderError (`Unavailable`)."""
        answer = WholeOutput(ANSWER.size)
        program = self._program
        command = provider_command(
            program.executable, program.environment, request.verb, request.text, request.deadline
        )
        try:
            end = await self._children.run(command, ProviderLog(program, request.verb), answer)
        except HookFailed as error:
            raise unavailable(str(error)) from None
        if answer.is_over:
            raise unavailable(f"it printed more than {ANSWER.size >> 20} MiB on standard output")
        if not end.ok:
            raise unavailable(f"{end}; its own messages are in the log")
        printed = read_answer(answer.text)
        await asyncio.sleep(0)  # parsing takes the loop long enough, its result is read in another step
        return printed


class ProviderLog:
    """The line sink of a provider: standard error goes to the log, without the secrets of its environment."""

    def __init__(self, program: ProviderProgram, verb: str) -> None:
        self._program = program
        self._verb = verb

    def line(self, stream: OutputStream, text: str) -> None:
        if stream is OutputStream.STDERR and text.strip():
            message = self._program.masked(text.strip())[:SHOWN]
            _log.info(message, provider=self._program.name, verb=self._verb)

    def ended(self, stream: OutputStream) -> None:
        pass
