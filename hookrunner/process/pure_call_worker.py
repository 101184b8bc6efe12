"""The process that `pure_calls.py` starts for one call: reads a function and its arguments, writes the result, ends.

Both have 4 bytes of length before them and are pickled; the result is a pair: whether the function returned, and what
it returned or raised. When the CPU time is over, the kernel ends the process by SIGPROF, also without the parent.
"""

import os
import pickle
import signal
import socket
import sys
from typing import Any

from hookrunner.process.worker_process import LENGTH, limit_memory

OUT_OF_MEMORY = 71
"""The exit status."""


def main() -> None:
    """The arguments are the socket's descriptor, the seconds of CPU time, the bytes of memory."""
    channel, seconds, memory = socket.socket(fileno=int(sys.argv[1])), float(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    signal.setitimer(signal.ITIMER_PROF, seconds)
    limit_memory(memory)
    with channel, channel.makefile("rb") as requests:
        request = requests.read(LENGTH.unpack(requests.read(LENGTH.size))[0])
        try:
            answer = _answer(request)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        for piece in (LENGTH.pack(sum(map(len, answer))), *answer):
            channel.sendall(piece)


def packed(value: Any) -> list[bytes]:
    """The value pickled, in pieces: a long text in it is a piece itself, and not copied. Errors keep their attributes,
    and no constructor is called."""
    pieces = _Pieces()
    _Pickler(pieces, pickle.HIGHEST_PROTOCOL).dump(value)
    return pieces


class _Pieces(list[bytes]):
    """What the pickler writes."""

    def write(self, piece: bytes) -> None:
        self.append(bytes(piece))


def _answer(request: bytes) -> list[bytes]:
    function, args, kwargs = pickle.loads(request)  # noqa: S301  # written by pure_calls.py
    try:
        return packed((True, function(*args, **kwargs)))
    except MemoryError:
        raise
    except Exception as error:
        return packed((False, error))


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, BaseException):
            return _rebuilt, (type(value), value.args, value.__dict__)
        return NotImplemented


def _rebuilt(kind: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error
