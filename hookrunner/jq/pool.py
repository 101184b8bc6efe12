"""The worker pool: who runs which request, and what it means when a worker is lost.

A worker that hangs or dies is replaced, and only the object at fault fails: the batch goes on behind it. An object that
killed a worker which had already answered others is tried once more in a fresh one, since the memory may be theirs.
After `STRIKES` objects of a batch have cost a worker each, the rest of that batch is given up: else ten thousand
objects would wait for ten thousand deadlines. Batches go out in chunks, so that those of other bindings get between.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

from hookrunner.errors import BadFilter, FilterFailed
from hookrunner.jq import complaints
from hookrunner.jq.child import Child
from hookrunner.worker import WorkerLost

STRIKES = 3
CHUNK_OBJECTS = 200
CHUNK_BYTES = 1 << 20

Answer: TypeAlias = bytes | WorkerLost


class Pool:
    """At most `workers` children, started when needed, ended after `idle` seconds without work.

    `deadline` is seconds for each object, `memory` bytes for each child.
    """

    def __init__(self, workers: int, deadline: float, memory: int, idle: float) -> None:
        self._deadline = deadline
        self._memory = memory
        self._idle = idle
        self._slots = asyncio.Semaphore(workers)
        self._resting: dict[Child, asyncio.TimerHandle] = {}
        self._children: set[Child] = set()

    async def check(self, program: str) -> None:
        """Raises `BadFilter` if libjq does not compile the program, or dies of it."""
        [answer] = await self._answers(b"C", _encoded(program), [b""])
        if isinstance(answer, WorkerLost):
            raise BadFilter(f"the jq program cannot be compiled: {answer}")
        if answer.startswith(b"!"):
            raise BadFilter(complaints.of_syntax(answer[1:].decode()))

    async def results(self, program: str, inputs: Sequence[bytes | FilterFailed]) -> list[bytes | FilterFailed]:
        """The result for each input, in order. An input that failed already keeps its place."""
        texts = [text for text in inputs if isinstance(text, bytes)]
        answers = iter(await self._answers(b"R", _encoded(program), texts))
        return [_result(next(answers), program) if isinstance(text, bytes) else text for text in inputs]

    async def outputs(self, program: str, text: bytes | FilterFailed) -> bytes:
        """The JSON array of all outputs for one input. Raises `FilterFailed`."""
        if isinstance(text, FilterFailed):
            raise text
        [answer] = await self._answers(b"L", _encoded(program), [text])
        result = _result(answer, program)
        if isinstance(result, FilterFailed):
            raise result
        return result

    async def close(self) -> None:
        """Kill all workers."""
        for timer in self._resting.values():
            timer.cancel()
        self._resting.clear()
        await asyncio.gather(*(child.end() for child in self._children))

    async def _answers(self, kind: bytes, program: bytes, texts: Sequence[bytes]) -> list[Answer]:
        answers: list[Answer] = []
        for chunk in _chunks(texts):
            due = len(answers) + len(chunk)
            while len(answers) < due:
                lost = [answer for answer in answers if isinstance(answer, WorkerLost)]
                if len(lost) >= STRIKES:
                    given_up = WorkerLost(f"not tried, after {STRIKES} objects: {lost[-1]}")
                    return answers + [given_up] * (len(texts) - len(answers))
                await self._converse(kind, program, chunk[len(answers) - due :], answers)
        return answers

    async def _converse(self, kind: bytes, program: bytes, texts: Sequence[bytes], answers: list[Answer]) -> None:
        """Add to `answers` what one worker says, until it is done or lost."""
        try:
            async with self._lent() as child, aclosing(child.ask(kind, program, texts)) as stream:
                async for answer in stream:
                    answers.append(answer)
        except WorkerLost as lost:
            if not lost.again:
                answers.append(lost)

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[Child]:
        async with self._slots:
            child = await self._hired()
            try:
                yield child
            except BaseException:
                # Also when cancelled: what it says next would be taken for the answer to another request.
                await child.end()
                raise
            self._resting[child] = asyncio.get_running_loop().call_later(self._idle, self._retire, child)

    async def _hired(self) -> Child:
        if self._resting:
            child, timer = self._resting.popitem()
            timer.cancel()
            return child
        child = await Child.start(self._deadline, self._memory)
        self._children = {other for other in self._children if other.running} | {child}
        return child

    def _retire(self, child: Child) -> None:
        del self._resting[child]
        child.leave()


def _chunks(texts: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    start = size = 0
    for position, text in enumerate(texts):
        if position > start and (position - start >= CHUNK_OBJECTS or size + len(text) > CHUNK_BYTES):
            yield texts[start:position]
            start, size = position, 0
        size += len(text)
    if texts:
        yield texts[start:]


def _encoded(program: str) -> bytes:
    try:
        text = program.encode()
    except UnicodeEncodeError:
        raise BadFilter("the jq program contains half a surrogate pair, which is not a character") from None
    if b"\0" in text:
        raise BadFilter("the jq program contains a NUL character")
    return text


def _result(answer: Answer, program: str) -> bytes | FilterFailed:
    if isinstance(answer, WorkerLost):
        return FilterFailed(str(answer))
    if answer.startswith(b"="):
        return answer[1:]
    return FilterFailed(complaints.of_failure(answer[1:].decode(errors="replace"), program))
