"""The worker processes of jq (`process/worker_pool.py`): sends them requests, and decides what a lost worker means.

A worker that hangs or dies is replaced, and only the object at fault fails: the batch goes on behind it. An object that
killed a worker which had already answered others is tried once more in a fresh one, since the memory may be the fault
of those. After `STRIKES` objects of a batch have cost a worker each, the rest of that batch fails too: otherwise ten
thousand objects would wait for ten thousand deadlines. Batches are sent in chunks, so that batches of other bindings
get a turn."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from signal import SIGPROF
from typing import Self, TypeAlias

import orjson

from hookrunner.errors import BadFilter, FilterFailed
from hookrunner.jq import complaints
from hookrunner.process.worker import Worker, WorkerLost
from hookrunner.process.worker_pool import WorkerPool
from hookrunner.process.worker_process import LENGTH

STRIKES = 3
CHUNK_OBJECTS = 200
CHUNK_BYTES = 1 << 20

Answer: TypeAlias = bytes | WorkerLost

SCRIPT = Path(__file__).with_name("worker.py")

PATIENCE = 60.0
"""Seconds beyond a worker's own deadline, which is of CPU: for one that was stopped, or that gets no CPU."""


class JqWorker:
    """One running worker process, seen from the parent. What a lost worker means is decided by `Pool`."""

    def __init__(self, worker: Worker, deadline: float) -> None:
        self.worker = worker
        self._deadline = deadline

    @classmethod
    async def start(cls, deadline: float, memory: int) -> Self:
        """A lean interpreter: no site, no environment, nothing of hookrunner. Raises `WorkerLost`."""

        async def spawn(descriptor: int) -> asyncio.subprocess.Process:
            settings = (str(descriptor), str(deadline), str(memory))
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(SCRIPT), *settings, *_libraries()),
                env={},
                cwd="/",
                pass_fds=(descriptor,),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )

        return cls(await Worker.start("jq", spawn), deadline)

    async def wait_ready(self) -> None:
        """It is ready from its start on: the first request waits in its socket."""

    async def ask(self, kind: bytes, program: bytes, texts: Sequence[bytes]) -> AsyncGenerator[bytes, None]:
        """The answers, one for each text, as they come (`worker.py` has the format). Raises `WorkerLost`."""
        try:
            self.worker.write(_packed([kind, program, *texts]))
            for _ in texts:
                async with asyncio.timeout(self._deadline + PATIENCE):
                    answer = await self.worker.read_answer()
                yield answer
        except TimeoutError:
            await self.end()
            raise WorkerLost(f"no result within {self._deadline + PATIENCE:g} s") from None
        except (asyncio.IncompleteReadError, OSError):
            raise await self._lost() from None

    async def _lost(self) -> WorkerLost:
        code = await self.worker.wait()
        if code == -SIGPROF:
            return WorkerLost(f"no result within {self._deadline:g} s of CPU")
        return WorkerLost(f"jq ran out of memory or crashed (exit status {code})", is_retryable=self.worker.used)

    def hang_up(self) -> None:
        """Hang up: an idle worker then ends by itself."""
        self.worker.hang_up()

    async def end(self) -> None:
        """Kill the worker, whatever it does, and wait until it is gone."""
        await self.worker.kill()


class Pool:
    """At most `workers` children, started when needed, ended after `idle` seconds without work.

    `deadline` is seconds of CPU for each object, `memory` bytes for each child.
    """

    def __init__(self, workers: int, deadline: float, memory: int, idle: float) -> None:
        self._workers = WorkerPool(partial(JqWorker.start, deadline, memory), workers, idle)

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
        await self._workers.close()

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
        """Add the answers of one worker to `answers`, until it is done or lost."""
        try:
            async with self._workers.lend() as child, aclosing(child.ask(kind, program, texts)) as stream:
                async for answer in stream:
                    answers.append(answer)
        except WorkerLost as lost:
            if not lost.is_retryable:
                answers.append(lost)


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


def _packed(parts: Sequence[bytes]) -> bytes:
    return LENGTH.pack(len(parts)) + b"".join(LENGTH.pack(len(part)) + part for part in parts)


def _libraries() -> list[str]:
    """The directories of `jq` and `orjson`, which a child without site cannot find. `jq` is not loaded here."""
    module, package = find_spec("jq"), Path(orjson.__file__).parent
    return [str(package.parent), *([str(Path(module.origin).parent)] if module and module.origin else [])]
