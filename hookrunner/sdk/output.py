"""What functions print while several run side by side: each line is sent with the run whose function prints it.

Which one that is stands in a context variable. So it is known in coroutines, in their tasks, and in what
`asyncio.to_thread` calls. A thread that a function starts has a context of its own (before Python 3.14), and what it
prints is the process's; so is what other programs print, which write to the descriptors, and what a fork of this
process prints: only one process writes answers.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

Report = Callable[[str, Mapping[str, Any]], bool]


class _RunOutput:
    """Sends the lines that one run prints in this process. What has no end yet waits for it."""

    def __init__(self, report: Report) -> None:
        self.process = os.getpid()
        self._report = report
        self._rest = {"stdout": "", "stderr": ""}
        self._lock = threading.Lock()

    def write(self, stream: str, text: str) -> int:
        with self._lock:
            *lines, self._rest[stream] = (self._rest[stream] + text).split("\n")
            for line in lines:
                self._report("log", {"line": line, "output": stream})
        return len(text)

    def close(self) -> None:
        for stream, rest in self._rest.items():
            if rest:
                self.write(stream, "\n")


_CURRENT: ContextVar[_RunOutput | None] = ContextVar("output", default=None)


def follow_runs() -> None:
    """Send what is printed from now on with its run, if `sent_with` says so. The streams stay the same objects, since
    `logging` and others have kept them."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        stream.write = partial(_write, name, stream.write)


@contextmanager
def sent_with(report: Report) -> Iterator[None]:
    """Send what is printed inside as messages about a run."""
    output = _RunOutput(report)
    token = _CURRENT.set(output)
    try:
        yield
    finally:
        _CURRENT.reset(token)
        output.close()


def _write(stream: str, write: Callable[[str], int], text: str) -> int:
    output = _CURRENT.get()
    return output.write(stream, text) if output and output.process == os.getpid() else write(text)
