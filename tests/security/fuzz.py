"""Parsers and many texts, in a process of their own: `python -m tests.security.fuzz TEXTS same|new DIRECTORY
PARSER…`: the same texts as in each run, or new ones.

A text is read or refused. Anything else ends the process with an error: another exception, more memory than there is
for it, or a text that takes more processor time than its allowance. The last parser and text stand in a file of the
directory, for ends that no program can catch.
"""

import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.security.parsers import PARSERS

MEMORY = 512 << 20
"""Bytes above what the process has after its start."""
SECONDS = 20
"""Of processor time for one text: patience, since a text is a few kilobytes. Each parser takes milliseconds."""

TOKENS = (
    b"[", b"]", b"{", b"}", b",", b":", b'"', b"'", b"\n", b"- ", b"&a ", b"*a", b"<<: ", b"? ", b"---\n", b"|\n ",
    b"!!int ", b"a: ", b"0x", b"1e999", b"9", b"-", b".", b"0", b"\0", b"\xff", b"\xc3\xa9", b"\\", b"\\u0000",
    b"\\ud800", b"(", b")", b"a*", b"+", b"?", b"null", b"true", b"~1", b"/", b"..", b"*", b"@every 1s", b"TZ=../",
    b"\n\xff\xff\x03", b"\x80",
)  # fmt: skip
PIECE = st.sampled_from(TOKENS) | st.binary(max_size=4)
REPEATED = st.builds(bytes.__mul__, PIECE, st.sampled_from((1, 1, 1, 2, 300, 5_000)))
Edit = tuple[float, float, bytes]
EDITS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), REPEATED | st.just(b"")), max_size=4)


def edited(sample: bytes, edits: list[Edit]) -> bytes:
    """The sample with each piece in place of a part of it."""
    for place, part, piece in edits:
        start = int(place * len(sample))
        sample = sample[:start] + piece + sample[start + int(part * len(sample)) :]
    return sample


def main(texts: str, which: str, directory: str, *names: str) -> None:
    """Raises what a parser should not have raised."""
    for name in names:
        for sample in PARSERS[name].samples:
            PARSERS[name].read(sample)  # a sample that is refused would lead nowhere
    _limit()
    profile = settings(
        max_examples=int(texts),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
        derandomize=which == "same",
    )
    for name in names:
        any_text = st.builds(edited, st.sampled_from(PARSERS[name].samples), EDITS)
        profile(given(any_text)(_reading(name, Path(directory, "last"))))()


def _reading(name: str, last: Path) -> Callable[[bytes], None]:
    parser = PARSERS[name]

    def read(text: bytes) -> None:
        last.write_bytes(f"{name}: ".encode() + text)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            parser.read(text)
        except parser.refusals:
            return
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    return read


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGPROF, _too_long)


def _too_long(number: int, frame: FrameType | None) -> Any:
    raise TimeoutError(f"more than {SECONDS} s of processor time for one text")


if __name__ == "__main__":
    main(*sys.argv[1:])
