"""The output of a child: the read end of each stream, what is kept of it (`WholeOutput`: all, and nothing of it is
logged), its lines as records for the log (`Lines`, `Records`), and the sink that writes these with the fields that are
bound for its task (`HookLog`).

Read by the event loop in chunks, so a stream never stops the child for longer than a turn of the loop and a line of 200
MiB costs no memory. The pipe outlives the run if something that the child left behind still holds it: then it is read
until its end, in the context (log fields) of the run that started it.

Which lines become which records are the rules of shell-operator, without its defect: a line that looks like JSON and is
not JSON is logged as it is, never lost and never at a lower level.
"""

import asyncio
import os
import re
from collections.abc import Callable
from enum import Enum
from typing import Protocol

import orjson

from hookrunner import log
from kubetypes.light_dataclasses import dataclass

_log = log.get()

_CHUNK = 16 * 1024  # a chunk of very short lines is logged in one turn of the loop: 10 ms, not 50
_CAPACITY = 64 * 1024  # of a pipe on Linux, pipe(7)
LINE_CAP = 64 * 1024  # bytes of one line that are kept; the rest of it is dropped
SHOWN = 10_000  # characters of one line, or of one JSON object, that are logged
_OBJECT_CAP = 256 * 1024  # characters of an object over several lines, before it counts as plain text
_CUT = ":truncated"
_LEVELS = {word: word for word in ("trace", "debug", "info", "warn", "error", "fatal")} | {"warning": "warn"}
# A text with its end, or the rest of the line: to look for the end of one behind each of its quotes would take minutes.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|(".*)')

Json = dict[str, object]


class OutputStream(Enum):
    STDOUT = "stdout"
    STDERR = "stderr"


class LineSink(Protocol):
    """Takes the lines of both streams. It must not raise: no caller could handle the error."""

    def line(self, stream: OutputStream, text: str) -> None: ...

    def ended(self, stream: OutputStream) -> None:
        """No more lines, or none for now that belong together: the stream or the run has ended."""


class ChunkSink(Protocol):
    """Takes a stream in the pieces in which it is read. It must not raise."""

    def take(self, chunk: bytes) -> bool:
        """The next piece. False: no more is wanted, and the child may be ended."""
        ...

    def flush(self) -> None:
        """The stream or the run has ended."""


class KeptOutput:
    """The first and the last bytes of a stream, at most `limit` together."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._seen = 0

    def add(self, chunk: bytes) -> None:
        self._seen += len(chunk)
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:] if room < len(chunk) else b""
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half or None]

    def bytes(self) -> bytes:
        """What is kept; a gap says how much is missing."""
        tail = self._tail[-self._half :] if self._half else b""
        missing = self._seen - len(self._head) - len(tail)
        gap = f"\n... {missing} bytes left out ...\n".encode() if missing and self._half else b""
        return bytes(self._head + gap + tail)


class WholeOutput:
    """A chunk sink that keeps all of a stream, up to `limit` bytes; `is_over` says that there was more."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._text = bytearray()
        self.is_over = False

    @property
    def text(self) -> bytes:
        return bytes(self._text)

    def take(self, chunk: bytes) -> bool:
        room = self._limit - len(self._text)
        self._text += chunk[:room]
        self.is_over = self.is_over or len(chunk) > room
        return not self.is_over

    def flush(self) -> None:
        """Nothing is held back."""


class LineReader:
    """A chunk sink that passes lines on to a line sink, and keeps the ends of the stream."""

    def __init__(self, stream: OutputStream, sink: LineSink, keep: int) -> None:
        self._stream = stream
        self._sink = sink
        self._lines = Lines()
        self.kept = KeptOutput(keep)

    def take(self, chunk: bytes) -> bool:
        self.kept.add(chunk)
        for text in self._lines.feed(chunk):
            self._sink.line(self._stream, text)
        return True

    def flush(self) -> None:
        for text in self._lines.flush():
            self._sink.line(self._stream, text)
        self._sink.ended(self._stream)


class OutputPipe:
    """Reads one stream into a sink from the moment it is made until its end or `close`. `enough` is called when the
    sink wants no more; what comes then is read and dropped, so that it holds up nothing."""

    def __init__(self, fd: int, sink: ChunkSink, enough: Callable[[], None]) -> None:
        self._fd = fd
        self._sink = sink
        self._enough = enough
        self._loop = asyncio.get_running_loop()
        self.eof = asyncio.Event()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._read)

    def drain(self) -> None:
        """Take what the pipe holds now, at most what a pipe can hold."""
        for _ in range(_CAPACITY // _CHUNK + 1):
            if self.eof.is_set() or not self._read():
                return

    def flush(self) -> None:
        """Pass on a last line that no newline has ended."""
        self._sink.flush()

    def close(self) -> None:
        if not self.eof.is_set():
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self.eof.set()
            self.flush()

    def _read(self) -> bool:
        """Read one chunk. False if there is nothing to read now."""
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self.close()
            return False
        if not self._sink.take(chunk):
            self._enough()
        return True


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One line for the log: its level, its message, and the fields that it brings."""

    level: str
    message: str
    fields: Json


class Lines:
    """Cuts a stream of bytes into lines of text without their newline, each at most `LINE_CAP` bytes."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that end in this chunk."""
        *ends, rest = chunk.split(b"\n")
        if not ends:
            self._hold(rest)
            return []
        self._hold(ends[0])
        first, self._held = self._held, bytearray(rest[:LINE_CAP])
        return [_text(first), *map(_text, ends[1:])]

    def flush(self) -> list[str]:
        """The last line, if no newline has ended it."""
        last, self._held = self._held, bytearray()
        return [_text(last)] if last else []

    def _hold(self, part: bytes) -> None:
        self._held += part[: LINE_CAP - len(self._held)]


class Records:
    """Turns the lines of one stream into log records.

    A line that is a JSON object is *proxied*: its own level and message are used. An object over several lines is put
    together when its `{` stands alone on a line, with `multiline` also when the line goes on after it. Lines that turn
    out to be no object are logged one by one.
    """

    def __init__(self, multiline: bool = False) -> None:
        self._multiline = multiline
        self._held: list[str] = []
        self._size = 0
        self._depth = 0

    def feed(self, line: str) -> list[LogRecord]:
        """The records that this line completes."""
        line = line.strip()
        if not line:
            return []
        if self._held:
            return self._add(line)
        record = _record(line)
        opens = line.startswith("{") if self._multiline else line == "{"
        return self._add(line) if opens and not record.fields else [record]

    def flush(self) -> list[LogRecord]:
        """The records of lines that were waiting for the end of their object."""
        lines, self._held, self._size, self._depth = self._held, [], 0, 0
        return [_record(line) for line in lines]

    def _add(self, line: str) -> list[LogRecord]:
        """Hold the line until the braces outside strings are balanced, then see whether it all is an object."""
        self._held.append(line)
        self._size += len(line)
        code = _STRING.sub(r"\1", line)
        self._depth += code.count("{") - code.count("}")
        hopeless = '"' in code or self._depth < 0 or self._size > _OBJECT_CAP
        if self._depth > 0 and not hopeless:
            return []
        whole = None if hopeless else _proxied("\n".join(self._held))
        singles = self.flush()
        return [whole] if whole else singles


def _text(line: bytes | bytearray) -> str:
    return line[:LINE_CAP].decode(errors="replace")


def _record(line: str) -> LogRecord:
    return _proxied(line) or LogRecord("info", _cut(line), {})


def _proxied(text: str) -> LogRecord | None:
    """A JSON object as a record: level, message and time are taken out, every other key becomes `hook_<key>`."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        rest: Json = orjson.loads(text)
        rest.pop("time", None)
        level = _LEVELS.get(str(rest.get("level")).lower())
        if level:
            del rest["level"]
        message = rest.pop("msg") if isinstance(rest.get("msg"), str) else "hook result"
        shown = orjson.dumps(rest).decode()
    except (ValueError, TypeError):  # not JSON, or nested too deep to be written again
        return None
    long: Json = {"hook": {"truncated": _cut(shown)}}
    fields = long if len(shown) > SHOWN else {f"hook_{key}": value for key, value in rest.items()}
    return LogRecord(level or "info", _cut(str(message)), fields | {"proxyJsonLog": True})


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + _CUT


class HookLog:
    """The line sink of a hook's run. The streams are read apart, so that one never cuts a JSON object of the other in
    two. `multiline` is the flag `--log-proxy-hook-json`."""

    def __init__(self, multiline: bool = False) -> None:
        self._records = {OutputStream.STDOUT: Records(multiline), OutputStream.STDERR: Records(multiline)}

    def line(self, stream: OutputStream, text: str) -> None:
        self._write(stream, self._records[stream].feed(text))

    def ended(self, stream: OutputStream) -> None:
        self._write(stream, self._records[stream].flush())

    def _write(self, stream: OutputStream, records: list[LogRecord]) -> None:
        for record in records:
            _log.log(record.level, record.message, output=stream.value, **record.fields)
