"""Commands that are asked something: input comes in whole, the answer is kept whole and not logged, nothing stays.

Level: pure."""

import os
import time
from pathlib import Path

import pytest

from hookrunner.process.child import Command, Exit, Patience
from hookrunner.process.children import Children
from hookrunner.process.leader import processes
from hookrunner.process.output import OutputStream, WholeOutput

LIMIT = 300_000


class StderrLines:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.lines: list[tuple[OutputStream, str]] = []

    def line(self, stream: OutputStream, text: str) -> None:
        self.lines.append((stream, text))

    def ended(self, stream: OutputStream) -> None:
        pass


async def ask(tmp_path: Path, script: str, text: bytes, sink: StderrLines) -> tuple[Exit, WholeOutput]:
    answer = WholeOutput(LIMIT)
    command = Command(
        ("/bin/sh", "-c", script), tmp_path, {"PATH": os.defpath}, timeout=600.0, stdin=text, leaves_nothing=True
    )
    return await Children(Patience(kill=2.0)).run(command, sink, answer), answer


@pytest.mark.parametrize("size", [0, 1, LIMIT])
async def test_input_comes_back_whole_and_is_not_logged(tmp_path: Path, size: int) -> None:
    sink, text = StderrLines(), os.urandom(size)
    end, answer = await ask(tmp_path, "echo hello >&2; cat", text, sink)
    assert (end.ok, answer.text, answer.is_over) == (True, text, False)
    assert sink.lines == [(OutputStream.STDERR, "hello")]


async def test_a_child_that_prints_too_much_is_ended(tmp_path: Path) -> None:
    end, answer = await ask(tmp_path, "exec yes", b"", StderrLines())
    assert (answer.is_over, len(answer.text), end.ok, end.timed_out) == (True, LIMIT, False, False)


async def test_input_that_is_not_read_holds_up_nothing(tmp_path: Path) -> None:
    end, answer = await ask(tmp_path, "echo done", b"x" * 5_000_000, StderrLines())
    assert (end.ok, answer.text) == (True, b"done\n")


async def test_what_it_leaves_behind_is_killed_and_not_waited_for(tmp_path: Path) -> None:
    end, answer = await ask(tmp_path, "sleep 987 & setsid sleep 0.5 & echo done", b"", StderrLines())
    assert (answer.text, end.seconds < 600) == (b"done\n", True)
    deadline = time.monotonic() + 30
    while sleepers(tmp_path) and time.monotonic() < deadline:  # what is killed lives on for a moment
        os.sched_yield()
    assert sleepers(tmp_path) == []


def sleepers(tmp_path: Path) -> list[str]:
    """Processes that still sleep for long in this directory."""
    found = []
    for row in processes():
        try:
            where = os.readlink(f"/proc/{row.pid}/cwd")
            line = Path(f"/proc/{row.pid}/cmdline").read_bytes()
        except OSError:
            continue
        if where == str(tmp_path) and b"987" in line and row.state != "Z":
            found.append(line.decode())
    return found
