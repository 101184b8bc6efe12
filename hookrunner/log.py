"""Structured logs: one line per record, on one stream, that never hold up the event loop and never raise.

    _log = log.get(__name__)
    with log.bound(hook="a.sh", queue="main"):
        _log.info("hook done", seconds=0.2)

The context of a task is bound once, in a context variable, so a call site is one short line. Output types:
`json` (keys and key order of shell-operator), `text` (logfmt), `color` and `plain` (for eyes). Python's own `logging`
and `warnings` come out in the same form. Until `configure` is called, records of level info and above go to standard
error as `text`, so that commands whose standard output is read by scripts can log too.

What is configured here is the only global that changes after import: every room logs, and the level
is a runtime parameter. What a hook prints is read in `process/output.py`.
"""

import io
import logging
import os
import select
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import MappingProxyType
from typing import TextIO

from hookrunner.log_forms import Event, LogType, renderer
from kubetypes.light_dataclasses import dataclass

LEVELS = {"trace": 5, "debug": 10, "info": 20, "warn": 30, "error": 40, "fatal": 50}

_OWN_KEYS = frozenset({"level", "logger", "msg", "source", "stacktrace", "time"})
_BACKLOG = 4 * 1024 * 1024  # bytes held for a reader that has stopped reading
_BOUND: ContextVar[Mapping[str, object]] = ContextVar("fields of records", default=MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Logger:
    """Writes records under a dotted name; the name "" leaves the key `logger` out.

    Fields are the caller's words, with any values: what JSON cannot carry is shown by its repr. The field
    `exc_info` (an exception) becomes `stacktrace`.
    """

    name: str

    def trace(self, msg: str, /, **fields: object) -> None:
        self.log("trace", msg, **fields)

    def debug(self, msg: str, /, **fields: object) -> None:
        self.log("debug", msg, **fields)

    def info(self, msg: str, /, **fields: object) -> None:
        self.log("info", msg, **fields)

    def warn(self, msg: str, /, **fields: object) -> None:
        self.log("warn", msg, **fields)

    def error(self, msg: str, /, **fields: object) -> None:
        self.log("error", msg, **fields)

    def fatal(self, msg: str, /, **fields: object) -> None:
        """Write a record of level `fatal`; it does not end the process."""
        self.log("fatal", msg, **fields)

    def exception(self, msg: str, /, **fields: object) -> None:
        """An error with the stack trace of the exception that is being handled."""
        self.log("error", msg, exc_info=sys.exception(), **fields)

    def log(self, level: str, msg: str, /, **fields: object) -> None:
        """Write a record at a level that is known only at run time, one of `LEVELS`."""
        if LEVELS[level] >= LEVELS[_OUTPUT.level]:
            _OUTPUT.write(_event(level, self.name, msg, {**_BOUND.get(), **fields}))


def get(name: str = "") -> Logger:
    """A logger; a file takes `log.get(__name__)`, which is its path in the package, in dots."""
    return Logger(name.removeprefix("hookrunner."))


@contextmanager
def bound(**fields: object) -> Iterator[None]:
    """Add fields to every record that this task, and what it starts, writes inside the `with`."""
    before = _BOUND.set({**_BOUND.get(), **fields})
    try:
        yield
    finally:
        _BOUND.reset(before)


def bound_fields() -> Mapping[str, object]:
    """The fields that records of this task have now."""
    return _BOUND.get()


def configure(kind: LogType, level: str, stream: TextIO) -> None:
    """Set once how and where to write, and take over Python's own `logging` and `warnings`.

    Raises ValueError for a level or type that does not exist.
    """
    render = renderer(kind)
    set_level(level)
    _OUTPUT.render = render
    _OUTPUT.lines = LineWriter(stream)
    logging.getLogger().addHandler(_FOREIGN)
    logging.captureWarnings(True)


def set_level(level: str) -> None:
    """Write records of this level and above from now on. Raises ValueError for an unknown word."""
    if level not in LEVELS:
        raise ValueError(f"unknown log level '{level}': use one of {', '.join(LEVELS)}")
    _OUTPUT.level = level
    logging.getLogger().setLevel(LEVELS[level])


def current_level() -> str:
    return _OUTPUT.level


def flush(seconds: float) -> None:
    """Wait up to `seconds` for a slow reader to take the lines held for it. For the end of the process."""
    _OUTPUT.lines.flush(seconds)


def _event(level: str, logger: str, msg: str, fields: Event) -> Event:
    """One record in the order of its keys: level, logger, msg, source, other fields sorted, stacktrace, time."""
    error = fields.pop("exc_info", None)
    error = sys.exception() if error is True else error
    event: Event = {"level": level}
    if logger:
        event["logger"] = logger
    event["msg"] = msg
    if LEVELS[_OUTPUT.level] <= LEVELS["debug"] and LEVELS[level] < LEVELS["error"]:
        event["source"] = _source()
    for key in sorted(fields):
        event[f"{key}_" if key in _OWN_KEYS else key] = fields[key]
    if isinstance(error, BaseException):
        event["stacktrace"] = "".join(traceback.format_exception(error)).splitlines()
    event["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return event


def _source() -> str:
    """`file:line` of the nearest caller outside this file and outside Python's `logging`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename in (__file__, logging.__file__):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


class LineWriter:
    """Writes lines to a stream at once if its reader keeps up, else holds a bounded backlog for it.

    The caller never waits for a reader: a pipe is written in pieces that fit (`PIPE_BUF`, see pipe(7)), and when it is
    full a thread waits in its place. Lines that found no room, a closed pipe or a full disk are counted in `lost`.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._fd = -1
        with suppress(io.UnsupportedOperation):  # a buffer in memory, as of a test runner, has none
            self._fd = stream.fileno()
            stream.flush()
        self._lock = threading.Lock()
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._thread: threading.Thread | None = None
        self.lost = 0

    def write(self, line: str) -> bool:
        """Write or hold the line. False if it is lost."""
        if self._fd < 0:
            return not self._stream.closed and bool(self._stream.write(line))
        lost, data = self.lost, line.encode(errors="backslashreplace")
        with self._lock:
            if self._thread is None:
                data = self._put(data, patience=0)
            if data:
                self._hold(data)
        return self.lost == lost

    def flush(self, seconds: float) -> None:
        if thread := self._thread:
            thread.join(seconds)

    def _put(self, data: bytes, patience: int | None) -> bytes:
        """Write what fits without waiting longer than `patience` milliseconds for room; return the rest."""
        room = select.poll()
        room.register(self._fd, select.POLLOUT)
        try:
            while data and room.poll(patience):
                data = data[os.write(self._fd, data[: select.PIPE_BUF]) :]
        except BlockingIOError:  # the stream was made non-blocking by another process that shares it
            return data
        except OSError:
            self.lost += 1
            return b""
        return data

    def _hold(self, data: bytes) -> None:
        if self._held_bytes + len(data) > _BACKLOG:
            self.lost += 1
            return
        self._held.append(data)
        self._held_bytes += len(data)
        if self._thread is None:
            self._thread = threading.Thread(target=self._catch_up, name="log-writer", daemon=True)
            self._thread.start()

    def _catch_up(self) -> None:
        """Wait for the reader in a thread of its own until nothing is held back."""
        while data := self._next():
            while data:
                data = self._put(data, patience=None)

    def _next(self) -> bytes:
        with self._lock:
            if not self._held:
                self._thread = None
                return b""
            data = self._held.popleft()
            self._held_bytes -= len(data)
            return data


class _Output:
    """Where records go, in which form, from which level on."""

    def __init__(self) -> None:
        self.level = "info"
        self.render: Callable[[Event], str] = renderer("text")
        self.lines = LineWriter(sys.__stderr__ or open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (None: started without one)

    def write(self, event: Event) -> None:
        if self.lines.write(self.render(event) + "\n") and (lost := self.lines.lost):
            gap = _event(
                "warn", "log", "lines of this log were lost: its reader was slow or its disk full", {"lost": lost}
            )
            if self.lines.write(self.render(gap) + "\n"):
                self.lines.lost -= lost


class _Foreign(logging.Handler):
    """Python's `logging` records, in our form. Levels of others are rounded down to ours."""

    def emit(self, record: logging.LogRecord) -> None:
        level = next((word for word in reversed(LEVELS) if LEVELS[word] <= record.levelno), "trace")
        error = record.exc_info[1] if record.exc_info else None
        Logger(record.name).log(level, record.getMessage(), exc_info=error)


_OUTPUT = _Output()
_FOREIGN = _Foreign()
