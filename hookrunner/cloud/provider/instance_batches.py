"""Questions about instances in natural batches: one call at a time, and what is asked meanwhile goes into the next.

There is no timer: the first question starts a call at once, and a thousand that come during it share the next ones, up
to the provider's `maxBatch`. If a call with several Nodes fails, it is made again in halves until the bad ones stand
alone. Such a Node is *set aside*: it is asked about alone, beside the others' calls, until it is answered, so a Node at
which the program chokes or hangs costs the others nothing.

A program that fails at every Node is away, not choking: two Nodes of a failed call are asked about alone first, and
only if one of them is answered the call is halved. Otherwise an outage would cost two calls for each Node, in place of
three for all. While it is away, each round begins with one Node, and ends there as long as that is not answered.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Protocol, TypeAlias

from hookrunner.cloud.answers import ErrorCode, InstanceAnswer, ProviderError, Want
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider.cloud_verb import CloudVerb
from hookrunner.cloud.provider.verbs import INSTANCES
from hookrunner.cloud.provider.wire_answers import unavailable
from hookrunner.cloud.provider.wire_requests import InstancesQuestion
from kubetypes.light_dataclasses import dataclass

_ABOUT_ALL = {ErrorCode.THROTTLED, ErrorCode.UNAUTHENTICATED, ErrorCode.NOT_IMPLEMENTED, ErrorCode.PENDING}
"""Errors that are no Node's fault: a smaller call would fail, too."""
_PROBES = 2
_BESIDE = "one instance"
"""The lane of calls about a Node alone, beside the batches."""


_InstancesVerb: TypeAlias = CloudVerb[InstancesQuestion, dict[str, InstanceAnswer]]


class InstanceCalls(Protocol):
    """Calls about instances: `verb_calls.py`."""

    @property
    def max_batch(self) -> int:
        """The number of Nodes that one call may be about."""
        ...

    async def ask(
        self, verb: _InstancesVerb, question: InstancesQuestion, lane: str | None = None
    ) -> dict[str, InstanceAnswer]:
        """One call, in this lane or in that of all batches. Raises ProviderError."""
        ...


@dataclass(eq=False, slots=True)
class _Question:
    """What is asked about a Node, perhaps by several callers, who wait for one answer."""

    node: CloudNode
    want: set[Want]
    answer: asyncio.Future[InstanceAnswer | ProviderError] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, answer: InstanceAnswer | ProviderError) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


class _WaitingQuestions:
    """Questions that wait for their call, one for each Node."""

    def __init__(self) -> None:
        self._questions: dict[str, _Question] = {}
        self._is_asked = asyncio.Event()

    def add(self, node: CloudNode, want: AbstractSet[Want]) -> _Question:
        """The latest projection of the Node counts, and all that is wanted of it."""
        question = self._questions.setdefault(node.name, _Question(node, set()))
        question.node = node
        question.want |= want
        self._is_asked.set()
        return question

    async def take(self, most: Callable[[], int]) -> list[_Question]:
        """The oldest questions, as soon as there is one. `most` are taken as it is then: the provider may have said
        how many it can answer while there was no question."""
        await self._is_asked.wait()
        names = list(self._questions)[: most()]
        taken = [self._questions.pop(name) for name in names]
        if not self._questions:
            self._is_asked.clear()
        return taken


class InstanceBatches:
    """Answers questions while `run_batches` and `run_alone` are running. `aside` has the names of the Nodes that are
    asked about alone."""

    def __init__(self, calls: InstanceCalls) -> None:
        self._calls = calls
        self._batch, self._alone = _WaitingQuestions(), _WaitingQuestions()
        self.aside: set[str] = set()
        self._is_answering: bool | None = None
        """Did the last round have an answer? None before the first."""

    async def ask(
        self, nodes: Iterable[CloudNode], want: AbstractSet[Want]
    ) -> dict[str, InstanceAnswer | ProviderError]:
        """An answer for each Node, by name. A Node that is set aside does not hold up the others: without an answer of
        its own by then, it gets an error."""
        queues = ((node, self._alone if node.name in self.aside else self._batch) for node in nodes)
        questions = {node.name: waiting.add(node, want) for node, waiting in queues}
        usual = [question.answer for name, question in questions.items() if name not in self.aside]
        waited = usual or [question.answer for question in questions.values()]
        if waited:
            await asyncio.wait(waited)
        pending = unavailable("the provider has failed at this Node, which is asked about alone and not answered yet")
        return {
            name: question.answer.result() if question.answer.done() else pending
            for name, question in questions.items()
        }

    async def run_batches(self) -> None:
        """Ask about all but the Nodes that are set aside, until cancelled."""
        while True:
            questions = await self._batch.take(lambda: self._calls.max_batch)
            try:
                await self._ask_round(questions)
            finally:
                _settle(questions, unavailable("the question was given up"))

    async def run_alone(self) -> None:
        """Ask about the Nodes that are set aside, one at a time, until cancelled."""
        while True:
            (question,) = await self._alone.take(lambda: 1)
            try:
                if error := await self._attempt([question], _BESIDE):
                    question.settle(error)
                else:
                    self.aside.discard(question.node.name)
            finally:
                question.settle(unavailable("the question was given up"))

    async def _ask_round(self, questions: list[_Question]) -> None:
        error: ProviderError | None = None
        if self._is_answering is False and len(questions) > 1:
            error = await self._probe(questions, 1)
        error = error or await self._ask_all(questions)
        if error:
            _settle(questions, error)
        if not (error and error.code in _ABOUT_ALL):
            self._is_answering = error is None

    async def _ask_all(self, questions: list[_Question]) -> ProviderError | None:
        """One call, and more if it fails; an error that concerns all that have no answer after it."""
        open_questions = [question for question in questions if not question.answer.done()]
        error = await self._attempt(open_questions) if open_questions else None
        if error is None or error.code in _ABOUT_ALL:
            return error
        if len(open_questions) < len(questions):  # the program has answered in this round
            return await self._ask_halves(open_questions)
        if len(questions) > 1:
            return await self._probe(questions, _PROBES) or await self._ask_halves(questions)
        if self._is_answering:
            self.aside.add(questions[0].node.name)
        return error

    async def _probe(self, questions: list[_Question], number: int) -> ProviderError | None:
        """Ask about so many Nodes alone: None if one of them is answered, else why not."""
        error: ProviderError | None = None
        for question in random.sample(questions, min(number, len(questions))):
            error = await self._attempt([question])
            if error is None or error.code in _ABOUT_ALL:
                break
        return error

    async def _ask_halves(self, questions: list[_Question]) -> ProviderError | None:
        """Ask in ever smaller parts; a Node that fails alone is set aside. Returns an error that is about all."""
        parts = deque(_halves(questions))
        while parts:
            part = [question for question in parts.popleft() if not question.answer.done()]
            error = await self._attempt(part) if part else None
            if error is None:
                continue
            if error.code in _ABOUT_ALL:
                return error
            if len(part) > 1:
                parts.extend(_halves(part))
                continue
            self.aside.add(part[0].node.name)
            part[0].settle(error)
        return None

    async def _attempt(self, questions: Sequence[_Question], lane: str | None = None) -> ProviderError | None:
        """One call, which settles its questions; the error if it fails, which settles none."""
        want = frozenset[Want]().union(*(question.want for question in questions))
        asked = InstancesQuestion([question.node for question in questions], want)
        try:
            answers = await self._calls.ask(INSTANCES, asked, lane)
        except ProviderError as error:
            return error
        for question in questions:
            question.settle(answers[question.node.name])
        return None


def _halves(questions: list[_Question]) -> list[list[_Question]]:
    middle = len(questions) // 2
    return [half for half in (questions[:middle], questions[middle:]) if half]


def _settle(questions: Iterable[_Question], error: ProviderError) -> None:
    for question in questions:
        question.settle(error)
