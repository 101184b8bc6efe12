"""Runs as lines on one descriptor, answers on another, for a process that stays (docs/hook-protocol.md).

One run at a time is made in the main thread, where a signal interrupts it for a cancel that comes meanwhile: another
thread that reads would cost each run two changes of threads, and forks of functions a warning. Several are made in
threads, which nothing can interrupt: of these a cancel ends coroutines, and others where they ask.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TextIO

from . import output
from .answers import Cancelled
from .carriers import CarryOut, attempt
from .tasks import Report, Task

JSON = Any
VERSION = 1
CAPABILITIES = ("cancel", "file", "log", "progress")
_PART = 1 << 16


def serve(carry_out: CarryOut, concurrency: int = 1) -> None:
    """Answer runs until the requests end. Raises SystemExit if no one has asked for that."""
    session = _Session(carry_out, concurrency)
    if concurrency == 1:
        session.prepare_signals()
    else:
        output.follow_runs()
    session.serve()


class _Session:
    def __init__(self, carry_out: CarryOut, concurrency: int) -> None:
        self._carry_out = carry_out
        self._concurrency = concurrency
        self._requests, self._answers = _open_streams()
        self._writing = threading.Lock()
        self._partial = bytearray()
        self._waiting: deque[dict[str, JSON]] = deque()
        self._open: dict[str, Task] = {}
        self._capabilities: list[str] = []
        self._is_looking = False
        self._poll = select.poll()
        self._poll.register(self._requests, select.POLLIN)
        self._flags = fcntl.fcntl(self._requests, fcntl.F_GETFL) & ~os.O_ASYNC

    def serve(self) -> None:
        while self._waiting or self._read():
            while self._waiting:
                self._take(self._waiting.popleft())

    def prepare_signals(self) -> None:
        """The system signals what comes while a function runs, which interrupts what that waits for, too. Between runs
        it does not: a signal for each line takes longer than a run. One that comes in the microsecond before a wait
        does not end it; hookrunner ends the process then, as one that ignores cancels."""
        signal.signal(signal.SIGIO, self._look)
        fcntl.fcntl(self._requests, fcntl.F_SETOWN, os.getpid())

    def _take(self, message: Mapping[str, JSON]) -> None:
        if "hello" in message:
            asked = message["hello"].get("capabilities", ())
            self._capabilities = [name for name in CAPABILITIES if name in asked]
            hello = {"capabilities": self._capabilities, "concurrency": self._concurrency, "sdk": "python"}
            self._say({"hello": {"version": VERSION, **hello}})
        elif "cancel" in message:
            self._cancel(message["cancel"])
        elif "run" in message and self._concurrency > 1:
            threading.Thread(target=self._answer, args=(message["run"],)).start()
        elif "run" in message:
            self._answer(message["run"])

    def _answer(self, run: Mapping[str, JSON]) -> None:
        if "file" in run:
            with open(run["file"], encoding="utf-8") as file:
                run = {**json.load(file)["run"], "id": run["id"]}
        task = self._open[run["id"]] = Task(run, self._reporter(run["id"]))
        message = self._attempt(task)
        answer = task.answer()
        if message is not None:
            answer = {"outcome": "failed", "message": message, "operations": answer.get("operations", [])}
        sys.stdout.flush()  # what was printed belongs to this run
        sys.stderr.flush()
        self._say({"answer": {"id": run["id"], **answer}})

    def _attempt(self, task: Task) -> str | None:
        """Why it failed, None if it did not. From its end on nothing interrupts what is done for it."""
        try:
            try:
                self._signal_requests(True)
                with self._output_of(task):
                    return attempt(self._carry_out, task)
            finally:
                del self._open[task.id]
        except Cancelled as error:
            self._open.pop(task.id, None)
            return str(error)
        except BaseException as error:
            if self._concurrency == 1:
                raise
            return f"{type(error).__name__}: {error}"  # it would end a thread, and the run had no answer
        finally:
            self._signal_requests(False)

    def _signal_requests(self, is_on: bool) -> None:
        if self._concurrency == 1:
            fcntl.fcntl(self._requests, fcntl.F_SETFL, self._flags | (os.O_ASYNC if is_on else 0))
            self._look()  # for what came before

    def _output_of(self, task: Task) -> AbstractContextManager[None]:
        """What takes the output of a run beside others. That of one at a time is known by when it is printed."""
        is_sent = self._concurrency > 1 and "log" in self._capabilities
        return output.sent_with(self._reporter(task.id)) if is_sent else nullcontext()

    def _reporter(self, run_id: str) -> Report:
        """What sends messages about a run, as far as hookrunner takes them. With one run at a time the log is what is
        printed, in its order."""
        kinds = {"progress"} | ({"log"} if self._concurrency > 1 else set())

        def report(kind: str, body: Mapping[str, JSON]) -> bool:
            if kind not in kinds or kind not in self._capabilities:
                return False
            self._say({kind: {**json.loads(json.dumps(body, default=str)), "id": run_id}})
            return True

        return report

    def _say(self, message: Mapping[str, JSON]) -> None:
        with self._writing:
            self._answers.write(json.dumps(message) + "\n")
            self._answers.flush()

    def _read(self) -> bool:
        """Wait for more of the requests; False at their end."""
        part = os.read(self._requests.fileno(), _PART)
        self._partial += part
        if b"\n" in part:
            *lines, self._partial = self._partial.split(b"\n")
            self._waiting.extend(json.loads(line.decode()) for line in lines)
        return bool(part)

    def _look(self, *_signal: object) -> None:
        """Take in the cancel of the run that is under way, if there is one. Raises Cancelled."""
        if not self._open or self._is_looking:
            return
        self._is_looking = True
        try:
            if self._poll.poll(0):
                self._read()
        finally:
            self._is_looking = False
        for message in [one for one in self._waiting if "cancel" in one]:
            self._waiting.remove(message)
            self._cancel(message["cancel"])

    def _cancel(self, cancel: Mapping[str, JSON]) -> None:
        task = self._open.get(cancel["id"])
        if task is None:
            return
        task.cancelled = cancel["reason"]
        if self._concurrency == 1:
            task.raise_if_cancelled()
        else:
            task.interrupt()


def _open_streams() -> tuple[TextIO, TextIO]:
    """Where requests are read and answers are written: duplicates of the two descriptors that no child inherits, since
    one that holds them open, or prints there, would break the session."""
    paths = [os.environ.get(name) for name in ("HOOKRUNNER_REQUESTS", "HOOKRUNNER_ANSWERS")]
    if None in paths:
        sys.exit("--resident is for hookrunner, which sets HOOKRUNNER_REQUESTS and HOOKRUNNER_ANSWERS")
    numbers = [int(str(path).rpartition("/")[2]) for path in paths]
    streams = _duplicate_streams(*numbers)
    for number in numbers:
        os.close(number)
    return streams


def _duplicate_streams(requests: int, answers: int) -> tuple[TextIO, TextIO]:
    """Streams on duplicates of two descriptors, which no program inherits that is executed. hookrunner.provider and
    hookrunner.sdk have this text both, since an image may have a copy of one of them alone."""
    return os.fdopen(os.dup(requests), encoding="utf-8"), os.fdopen(os.dup(answers), "w", encoding="utf-8")
