"""One process of a resident hook, from its start to its end: its hello, its runs, its output, what it holds.

It reads requests on descriptor 3 and answers on descriptor 4; what it prints is the log. Lines that it has printed
before an answer are that run's, since its pipes are drained when the answer is read: exactly so for one run at a time.
Of several at once, lines belong to the process; a hook that takes several sends `log` messages.
"""

import asyncio
import itertools
import os
import time
from collections import deque
from collections.abc import Sequence
from contextvars import Context, copy_context
from dataclasses import field, replace

import orjson

from hookrunner import log
from hookrunner.errors import HookFailed
from hookrunner.hooks.resident.messages import (
    OUR_HELLO,
    CancelReason,
    Hello,
    Message,
    cancel_line,
    read_hello,
    read_line,
)
from hookrunner.model.bindings import Hook, Resident
from hookrunner.model.hook_runs import ExitedBadly, Run
from hookrunner.process.child import Child, Command
from hookrunner.process.children import Children
from hookrunner.process.leader import ProcessUsage
from hookrunner.process.line_session import LEAVING, BadLine, LineRules, LineSession
from hookrunner.process.output import LINE_CAP, LineSink, OutputStream
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

HELLO_WITHIN = 10.0
"""Seconds from the start of a process to its hello."""
CANCEL_WITHIN = 2.0
"""Seconds from a cancel to the answer; then the process is ended."""
KILL_AFTER = 5.0
"""Seconds from SIGTERM to SIGKILL."""
_KEPT_LINES, _KEPT = 50, 8 * 1024
"""Lines and characters of standard error that stand in a failure's text."""

_log = log.get(__name__)


@dataclass(slots=True)
class OpenRun:
    """A run that is not answered yet, who gets what is printed meanwhile, and in which context of the log."""

    run: Run
    sink: LineSink
    answer: asyncio.Future[Message]
    context: Context = field(default_factory=copy_context)


class ResidentProcess:
    """A line sink and a chunk sink for what the process prints and answers. `start` makes one that is ready."""

    def __init__(self, name: str, session: LineSession[Message], sink: LineSink) -> None:
        self.name = name
        self.hello = Hello()
        self.began = time.monotonic()
        self.ran = self.claimed = 0
        self.most_runs = float("inf")
        self.used = (0.0, 0.0, 0)
        self.open: dict[str, OpenRun] = {}
        self.task: asyncio.Task[None] | None = None
        self.usage = ProcessUsage(0)
        self._session = session
        self._sink = sink
        self._answered_hello: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        self._stderr = deque[str](maxlen=_KEPT_LINES)
        self._child: Child | None = None
        self._ids = itertools.count(1)

    @classmethod
    async def start(cls, hook: Hook, command: Command, children: Children, sink: LineSink) -> "ResidentProcess":
        """Start the process and exchange hellos. Raises HookFailed with what it printed if it does not become ready."""
        settings = hook.config.settings.resident or Resident()
        process: ResidentProcess | None = None

        def read(line: bytes) -> tuple[str, Message] | None:
            return process._read(line) if process else None

        def lost(reason: str) -> HookFailed:
            return process._lost(reason) if process else HookFailed(reason)

        session = await LineSession.open(LineRules(settings.max_line, read, lost, waits=True))
        process = cls(hook.name, session, sink)
        try:
            await process._begin(command, children)
            process.hello = await process._receive_hello()
        except BaseException:
            await process.end()
            raise
        return process

    @property
    def is_alive(self) -> bool:
        """Can it take runs, as far as is known?"""
        return self._session.is_taking and self.task is not None and not self.task.done()

    @property
    def has_answered(self) -> bool:
        """Has it answered a run?"""
        return self._session.has_answered

    @property
    def reason(self) -> str:
        """Why it ended, or has to."""
        return self._session.reason

    @property
    def free(self) -> int:
        """How many more runs it takes now."""
        return self.hello.concurrency - self.claimed if self.is_alive else 0

    def new_id(self) -> str:
        """Names the next run."""
        return f"r{next(self._ids)}"

    async def ask(self, run_id: str, line: bytes, run: Run, sink: LineSink) -> Message:
        """Give it a run and wait for the answer. It is not left before the hook has stopped working on the run, or the
        process has ended: the next attempt must not run beside this one.

        Raises ExitedBadly if its time is over, or if the process ended.
        """
        if not self.is_alive:
            raise self._lost(self.reason)
        answer = self._session.send(run_id, line)
        self.open[run_id] = OpenRun(run, sink, answer)
        if len(self.open) == 1:
            self._stderr.clear()
        try:
            if not answer.done():
                await asyncio.wait((answer,), timeout=run.timeout)
            if not answer.done():
                await self._cancel(run_id, answer, "deadline")
                raise ExitedBadly(f"{run.hook.name} FAILED: {_over_time(run)}", (), _over_time(run))
            self.ran += 1
            return answer.result()
        except asyncio.CancelledError:
            await self._cancel(run_id, answer, "deadline")
            raise
        finally:
            del self.open[run_id]

    async def stop_runs(self) -> int:
        """Ask the runs that are open to end soon: hookrunner stops. Those that do are answered as usual; returns how
        many had to be ended."""
        answers = [open_run.answer for open_run in self.open.values()]
        if answers and "cancel" in self.hello.capabilities:
            for run_id in self.open:
                self._session.tell(cancel_line(run_id, "shutdown"))
            await asyncio.wait(answers, timeout=CANCEL_WITHIN)
        ended = sum(not answer.done() for answer in answers)
        if ended:
            self._session.give_up("ended: hookrunner stops")
        return ended

    def finish(self) -> None:
        """Let it end: no more requests come. It may finish what it has."""
        self._session.finish()

    async def end(self) -> str:
        """End it, and wait for that: the end of its requests; SIGTERM, SIGKILL if it does not go. Returns how it ended
        if that was not as it should be, else an empty text."""
        if self.task is None:
            return ""
        self._session.finish()
        await asyncio.wait({self.task})
        end = self._session.end
        if end is None:
            return f"it did not end within {LEAVING:g} s of the end of its requests"
        return "" if end.ok else f"at the end of its requests it ended with {self._explained(str(end))}"

    def line(self, stream: OutputStream, text: str) -> None:
        if stream is OutputStream.STDERR:
            self._stderr.append(text)
        if len(self.open) == 1:
            (open_run,) = self.open.values()
            open_run.context.run(open_run.sink.line, stream, text)
        else:
            self._sink.line(stream, text)

    def ended(self, stream: OutputStream) -> None:
        if len(self.open) == 1:
            (open_run,) = self.open.values()
            open_run.context.run(open_run.sink.ended, stream)
        else:
            self._sink.ended(stream)

    async def _begin(self, command: Command, children: Children) -> None:
        answers, theirs = os.pipe()
        try:
            command = replace(command, channels=(self._session.requests, theirs), leaves_nothing=True)
            child = self._child = await children.start(command, self)
        except BaseException:
            os.close(answers)
            self._session.close()
            raise
        finally:
            os.close(theirs)
        self._session.release()
        self._session.read_from(answers)
        self.usage = ProcessUsage(child.pid)
        self._session.tell(OUR_HELLO)
        self.task = asyncio.create_task(self._run(child, children), name=f"resident hook {self.name}")

    async def _run(self, child: Child, children: Children) -> None:
        try:
            await self._session.run(children.wait(child))
        finally:
            self.usage.close()

    async def _receive_hello(self) -> Hello:
        assert self.task
        waiting: Sequence[asyncio.Future[object]] = (self._answered_hello, self.task)  # type: ignore[assignment]
        await asyncio.wait(waiting, timeout=HELLO_WITHIN, return_when=asyncio.FIRST_COMPLETED)
        if self._answered_hello.done():
            return self._answered_hello.result()
        if not self.task.done():
            self._session.give_up(f"it did not answer hello on descriptor 4 within {HELLO_WITHIN:g} s")
            await asyncio.wait({self.task})
        raise HookFailed(f"{self.name} --resident: {self._explained(self.reason)}")

    async def _cancel(self, run_id: str, answer: asyncio.Future[Message], reason: CancelReason) -> None:
        """Let the hook stop working on a run; if it does not, end the process."""
        try:
            if self.is_alive and "cancel" in self.hello.capabilities:
                self._session.tell(cancel_line(run_id, reason))
                await asyncio.wait((answer,), timeout=CANCEL_WITHIN)
        finally:
            if not answer.done():
                self._session.give_up("it was ended: a run took too long, and it did not answer a cancel")
        if not answer.done() and self.task:
            await asyncio.wait((answer,))
        if answer.done():
            answer.exception()  # else it would be reported as never retrieved

    def _read(self, line: bytes) -> tuple[str, Message] | None:
        """Raises BadLine."""
        message = read_line(line)
        match message.kind:
            case "answer":
                self._take_output()
                self._end_output(message.id)
                return message.id, message
            case "hello" if not self._answered_hello.done():
                self._answered_hello.set_result(read_hello(message.body))
            case "hello":
                raise BadLine("it said hello twice")
            case "log":
                self._log(message)
            case "progress":
                open_run = self.open.get(message.id)
                if open_run and (progress := open_run.run.options.progress):
                    progress.text = str(message.body.get("message", ""))[:200]
        return None

    def _take_output(self) -> None:
        """Read what it has printed so far: it is about the runs of now."""
        for pipe in self._child.pipes if self._child else ():
            pipe.drain()
            pipe.flush()

    def _end_output(self, run_id: str) -> None:
        """What was sent as its output is complete."""
        if open_run := self.open.get(run_id):
            for stream in OutputStream:
                open_run.context.run(open_run.sink.ended, stream)

    def _log(self, message: Message) -> None:
        """A record of its own, or a line as it was printed, of a run or of the process."""
        stream, text = _logged(message.body)
        if stream is OutputStream.STDERR:
            self._stderr.append(text)
        if open_run := self.open.get(message.id):
            open_run.context.run(open_run.sink.line, stream, text)
        else:
            self._sink.line(stream, text)

    def _lost(self, reason: str) -> ExitedBadly:
        end = self._session.end
        return ExitedBadly(f"{self.name} FAILED: {self._explained(reason)}", (), reason, end.code if end else None)

    def _explained(self, reason: str) -> str:
        """What it printed on standard error, and how it ended where that says more than a status."""
        printed = "\n".join(self._stderr).strip()[-_KEPT:]
        end = self._session.end
        is_plain = end is not None and end.code is not None and self._answered_hello.done()
        return printed if printed and is_plain else ": ".join(filter(None, (reason, printed)))


def _logged(body: JSON) -> tuple[OutputStream, str]:
    """The line that a log message stands for, and where it would have been printed."""
    if isinstance(line := body.get("line"), str):
        return OutputStream.STDERR if body.get("output") == "stderr" else OutputStream.STDOUT, line[:LINE_CAP]
    return OutputStream.STDOUT, orjson.dumps({key: value for key, value in body.items() if key != "id"}).decode()


def _over_time(run: Run) -> str:
    return f"timed out after {run.timeout or 0:.1f}s"
