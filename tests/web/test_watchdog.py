"""A blocked event loop, in a process of its own: the answers to probes, and the log. Level: pure."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import IO

import pytest

from hookrunner.web.listen import on_port
from hookrunner.web.watchdog import Heartbeat, blocked_seconds, watched


@dataclass
class Blockable:
    """The process of `blocked.py`."""

    process: "subprocess.Popen[str]"
    port: int

    def order(self, word: str, answer: str) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == f"{answer}\n"

    def probe(self) -> tuple[int, str]:
        """Status and text. The watchdog gives a client 0.1 s for its request: on a busy machine it probes again."""
        for _ in range(100):
            with suppress(ConnectionError), closing(HTTPConnection("127.0.0.1", self.port)) as connection:
                connection.request("GET", "/healthz")
                answer = connection.getresponse()
                return answer.status, answer.read().decode()
        raise ConnectionError("no probe was answered")

    def until_alive(self) -> None:
        """Probe until the loop is not blocked."""
        while (answer := self.probe()) != (200, "ok\n"):
            assert answer[0] == 503  # it waited for the processor for longer than the 0.1 s of this test

    @property
    def errors(self) -> IO[str]:
        assert self.process.stderr
        return self.process.stderr

    def read_until(self, text: str) -> str:
        """Standard error up to a line with this text."""
        seen = ""
        for line in self.errors:
            seen += line
            if text in line:
                return seen
        raise AssertionError(seen)


@pytest.fixture
def blockable() -> Iterator[Blockable]:
    command = [sys.executable, "-m", "tests.web.blocked"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        yield Blockable(process, int(process.stdout.readline()))
        process.kill()


@pytest.mark.slow
def test_probes_learn_how_long_the_loop_is_blocked(blockable: Blockable) -> None:
    blockable.until_alive()
    blockable.order("hang", "hangs")
    status, text = blockable.probe()
    assert status == 503
    assert float(text.removeprefix("event loop blocked for ").removesuffix(" s\n")) >= 0.1


@pytest.mark.slow
def test_loop_answers_again_when_it_runs(blockable: Blockable) -> None:
    blockable.order("hang", "hangs")
    assert blockable.probe()[0] == 503
    blockable.order("", "goes on")
    assert "seconds=" in blockable.read_until("event loop runs again")
    blockable.until_alive()


@pytest.mark.slow
def test_the_log_has_the_stack_of_the_loops_thread(blockable: Blockable) -> None:
    blockable.order("hang", "hangs")
    read = blockable.read_until("sys.stdin.readline()")  # before it hangs, it may have waited for a processor
    for words in ("level=error", "event loop blocked", "hang_in_a_callback"):
        assert words in read.splitlines()[-1]


@pytest.mark.slow
def test_stack_is_shown_even_when_no_python_code_can_run(blockable: Blockable) -> None:
    blockable.order("compute", "hangs")
    assert "most recent call first" in blockable.read_until("hold_the_lock")


@pytest.mark.slow
def test_silent_client_does_not_delay_answers_to_others(blockable: Blockable) -> None:
    blockable.order("hang", "hangs")
    with closing(HTTPConnection("127.0.0.1", blockable.port)) as silent:
        silent.connect()
        assert blockable.probe()[0] == 503


def test_time_is_counted_from_the_limit_on_in_slices() -> None:
    answers = iter([False] * 5 + [True])
    assert list(blocked_seconds(lambda _seconds: next(answers), Heartbeat(slice=1.0, limit=3.0))) == [3.0, 4.0, 5.0]


def test_pause_of_the_whole_process_counts_as_one_slice() -> None:
    """After SIGCONT the wait that was under way is over at once, and the loop answers within the next one."""
    clock = 0.0
    stops = iter([3600.0, 7200.0])

    def answered(_seconds: float) -> bool:
        nonlocal clock
        clock += (stopped := next(stops, 0.0))
        return not stopped

    assert list(blocked_seconds(answered, Heartbeat())) == []
    assert clock > Heartbeat().limit


async def test_watchdog_ends_with_the_server() -> None:
    with on_port("127.0.0.1", 0, "--listen-port") as listener, watched(listener):
        assert "watchdog" in [thread.name for thread in threading.enumerate()]
        await asyncio.sleep(0)
    assert "watchdog" not in [thread.name for thread in threading.enumerate()]
