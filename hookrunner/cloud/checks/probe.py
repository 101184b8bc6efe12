"""Questions to a provider under check: each call is judged for itself, and remembered.

reply = await probe.ask(INSTANCES, params)
reply.result()                                          # or raises QuestionFailed
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import NamedTuple, Protocol
from uuid import uuid4

from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.checks.printed_answers import AnswerProblem, judge_answer
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.verbs import BY_NAME
from hookrunner.cloud.provider.wire_answers import Answer
from hookrunner.cloud.provider.wire_requests import CallRequest
from hookrunner.cloud.shown_texts import Mask
from hookrunner.printable import printable_text
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

Ask = Callable[[CallRequest], Awaitable[Answer]]
"""Waits for the answer to a request, however long that takes. Raises ProviderError."""
_SHOWN = 200
_MOST_HANGS = 3
"""Calls without an end after which nothing else is asked: each takes a minute."""


class Printed(NamedTuple):
    """What a run of the program has printed, how it ended if not with exit code 0, and what it left running."""

    stdout: bytes
    stderr: str = ""
    ending: str = ""
    timed_out: bool = False
    left_behind: tuple[str, ...] = ()


class ProviderRunner(Protocol):
    """Runs the provider with one argument and an input."""

    async def run(self, argument: str, given: bytes, timeout: float) -> Printed:
        """What came of it, also if it failed. `timeout`: seconds."""
        ...

    def serving(self) -> AbstractAsyncContextManager[Ask]:
        """One process that serves, for requests that are made while others are open."""
        ...


class QuestionFailed(Exception):
    """A check cannot be made, because a question of it was not answered."""


@dataclass(frozen=True, slots=True)
class CallReply:
    """One call. `problem`: why it is no answer at all; `error`: what the provider says why it failed."""

    request: CallRequest
    printed: Printed
    seconds: float
    problem: AnswerProblem | None = None
    error: ProviderError | None = None
    value: dict[str, JSON] = field(default_factory=dict)

    @property
    def code(self) -> ErrorCode | None:
        """The code of a proper error."""
        return self.error.code if self.error else None

    def result(self) -> dict[str, JSON]:
        """The result. Raises QuestionFailed."""
        if self.problem:
            raise QuestionFailed(self.problem.text)
        if self.error:
            raise QuestionFailed(f"{self.request.verb} failed with {self.error.code}: {self.error.reason}")
        return self.value


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks one provider. `timeout` are the seconds of a call, `timeouts` those of verbs that have their own; `replies`
    gets all calls; `mask` takes secrets out of messages about them."""

    runner: ProviderRunner
    cluster: str
    timeout: float
    timeouts: Mapping[str, float] = field(default_factory=dict)
    replies: list[CallReply] = field(default_factory=list)
    mask: Mask = str

    def request(self, verb: AnyVerb, params: JSON) -> CallRequest:
        """A new question."""
        return CallRequest(verb.name, uuid4().hex, self.timeouts.get(verb.name, self.timeout), self.cluster, params)

    async def ask(self, verb: AnyVerb, params: JSON) -> CallReply:
        """One call, one process."""
        if sum(reply.printed.timed_out for reply in self.replies) >= _MOST_HANGS:
            raise QuestionFailed("it was not asked, because other calls did not end in time")
        request = self.request(verb, params)
        began = time.monotonic()
        printed = await self.runner.run(verb.name, request.text, request.deadline)
        reply = read_reply(request, printed, time.monotonic() - began, self.mask)
        self.replies.append(reply)
        return reply

    async def ask_while_pending(self, verb: AnyVerb, params: JSON) -> CallReply:
        """Ask again as long as the answer is `Pending`, until the time of a call is over."""
        end = asyncio.get_running_loop().time() + self.timeouts.get(verb.name, self.timeout)
        while (reply := await self.ask(verb, params)).code is ErrorCode.PENDING:
            assert reply.error
            if asyncio.get_running_loop().time() + reply.error.retry_after > end:
                return reply
            await asyncio.sleep(reply.error.retry_after)
        return reply


def read_reply(request: CallRequest, printed: Printed, seconds: float = 0.0, mask: Mask = str) -> CallReply:
    """A run of the program as a reply; `mask` takes secrets out of its messages."""
    if printed.timed_out:
        problem = AnswerProblem("deadline", f"{request.verb} had not ended after {request.deadline:g} s")
        return CallReply(request, printed, seconds, problem)
    if printed.ending:
        last = printed.stderr.strip().rpartition("\n")[2]
        log = f"; the end of its log: {printable_text(mask(last)[:_SHOWN])}" if last else ""
        text = f"{request.verb} ended with {printed.ending}; exit code 0 belongs to every answer, also to an error{log}"
        return CallReply(request, printed, seconds, AnswerProblem("exit-code", text))
    match judge_answer(printed.stdout, BY_NAME[request.verb], request.request_id, mask):
        case AnswerProblem(rule, text):
            return CallReply(request, printed, seconds, AnswerProblem(rule, f"{request.verb}: {text}"))
        case ProviderError() as error:
            return CallReply(request, printed, seconds, error=error)
        case value:
            return CallReply(request, printed, seconds, value=value)
