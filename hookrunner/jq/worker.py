"""The worker process: compiles and runs jq programs with libjq, one request at a time, until its socket is closed.

Run as a script without site-packages (`-I -S`), so it imports nothing of hookrunner; the parent names the directories
of `jq` and `orjson`. It speaks over a socket of its own: stdin, stdout and stderr are closed to the program. libjq
answers `$ENV`, so the environment is emptied; `~/.jq` needs HOME, which is missing.

Each object has its own deadline, in seconds of CPU: on a busy machine a program that waits for its turn is not at
fault. SIGPROF ends the process even in the middle of libjq, also if the parent is gone. A program that takes too much
memory makes libjq abort. The parent sees either as the end of the socket.

    request   kind, program, input …   parts; kind is C (compile only), R (result) or L (list of outputs)
    answer    one part for each input, or one for C: "=" and JSON, or "!" and a message
    parts     their number, then for each its length, 4 bytes each, and itself
"""

import functools
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from typing import BinaryIO

sys.path.extend(sys.argv[4:])

import jq
import orjson

NUMBER = struct.Struct("!I")

# `input` and `inputs` are compile errors, as in gojq: libjq drops definitions that are not used, and objects to these
# otherwise. A definition in front also makes `import` and `include` syntax errors. halt_error would end a program as if
# nothing had happened.
BEFORE = (
    "def input: input_is_not_available; def inputs: inputs_are_not_available; "
    "def halt_error($code): if . == null then halt else error end; def halt_error: halt_error(5);\n"
)

# Only jq's own text writes long numbers exactly, but writes NaN as null and infinity as the greatest number.
# The blank line ends a comment at the program's end, also one that continues after a backslash.
AFTER = """

) | tojson as $text
| if ($text | contains("null") or contains("e+308")) and ($text | fromjson) != . then
    error("the result contains NaN or infinity, which JSON cannot carry")
  else $text end"""


def main() -> None:
    channel, deadline, memory = socket.socket(fileno=int(sys.argv[1])), float(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which still needs us
    os.environ.clear()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # macOS refuses to lower it
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    with channel, channel.makefile("rb") as requests:
        while parts := _request(requests):
            for answer in _answers(*parts, deadline=deadline):
                channel.sendall(NUMBER.pack(len(answer)) + answer)


def _request(requests: BinaryIO) -> list[bytes]:
    head = requests.read(NUMBER.size)
    return [requests.read(_number(requests.read(NUMBER.size))) for _ in range(_number(head))] if head else []


def _number(head: bytes) -> int:
    number: int = NUMBER.unpack(head)[0]
    return number


def _answers(kind: bytes, program: bytes, *inputs: bytes, deadline: float) -> Iterator[bytes]:
    for text in inputs or [b""]:
        signal.setitimer(signal.ITIMER_PROF, deadline)
        try:
            answer = b"=" + _run(kind, program.decode(), text.decode())
        except (TypeError, ValueError, MemoryError, RecursionError) as error:
            answer = b"!" + (str(error) or type(error).__name__).encode(errors="replace")
        signal.setitimer(signal.ITIMER_PROF, 0)
        yield answer


def _run(kind: bytes, program: str, text: str) -> bytes:
    if kind == b"C":
        jq.compile(BEFORE + program)
        return b""
    outputs = _compile(program).input_text(text).all()
    values = orjson.loads("[" + ",".join(outputs) + "]")
    if kind == b"R":
        values = values[0] if len(values) == 1 else values or None
    return orjson.dumps(values, option=orjson.OPT_SORT_KEYS)


@functools.lru_cache(maxsize=256)
def _compile(program: str) -> "jq._Program":
    return jq.compile(BEFORE + "(" + program + AFTER)


if __name__ == "__main__":
    main()
