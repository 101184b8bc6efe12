"""The output of a child: the read end of each stream, what is kept of it, and the sink that writes a hook's lines to
the log with the fields that are bound for its task.

Read by the event loop in chunks, so a stream never stops the child for longer than a turn of the loop and a line of 200
MiB costs no memory. The pipe outlives the run if something that the child left behind still holds it: then it is read
until its end, in the context (log fields) of the run that started it.
"""

import asyncio
import os
from enum import Enum
from typing import Protocol

from hookrunner import log
from hookrunner.process.lines import Lines, Record, Records

_log = log.get()

_CHUNK = 16 * 1024  # a chunk of very short lines is logged in one turn of the loop: 10 ms, not 50
_CAPACITY = 64 * 1024  # of a pipe on Linux, pipe(7)


class OutputStream(Enum):
    STDOUT = "stdout"
    STDERR = "stderr"


class LineSink(Protocol):
    """Takes the lines of both streams. It must not raise: no caller could handle the error."""

    def line(self, stream: OutputStream, text: str) -> None: ...

    def ended(self, stream: OutputStream) -> None:
        """No more lines, or none for now that belong together: the stream or the run has ended."""


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


class OutputPipe:
    """Reads one stream as lines into a sink from the moment it is made until its end or `close`."""

    def __init__(self, fd: int, stream: OutputStream, sink: LineSink, keep: int) -> None:
        self._fd = fd
        self._stream = stream
        self._sink = sink
        self._lines = Lines()
        self._loop = asyncio.get_running_loop()
        self.kept = KeptOutput(keep)
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
        for text in self._lines.flush():
            self._sink.line(self._stream, text)
        self._sink.ended(self._stream)

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
        self.kept.add(chunk)
        for text in self._lines.feed(chunk):
            self._sink.line(self._stream, text)
        return True


class HookLog:
    """The line sink of a hook's run. The streams are read apart, so that one never cuts a JSON object of the other in
    two. `multiline` is the flag `--log-proxy-hook-json`."""

    def __init__(self, multiline: bool = False) -> None:
        self._records = {OutputStream.STDOUT: Records(multiline), OutputStream.STDERR: Records(multiline)}

    def line(self, stream: OutputStream, text: str) -> None:
        self._write(stream, self._records[stream].feed(text))

    def ended(self, stream: OutputStream) -> None:
        self._write(stream, self._records[stream].flush())

    def _write(self, stream: OutputStream, records: list[Record]) -> None:
        for record in records:
            _log.log(record.level, record.message, output=stream.value, **record.fields)
