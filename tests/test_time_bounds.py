"""A test that hangs fails with its name, in whatever it waits for, and the others run. Level: pure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import asyncio, signal, threading, time
import pytest
from tests import time_bounds

time_bounds.HARD = 0.5
pytestmark = pytest.mark.bound(0.5)


@pytest.fixture
def endless_setup():
    threading.Event().wait()


@pytest.fixture
def endless_teardown():
    yield
    threading.Event().wait()


def test_in_setup(endless_setup): ...


def test_in_teardown(endless_teardown): ...


def test_waits():
    threading.Event().wait()


def test_computes():
    while True:
        pass


async def test_waits_in_a_loop():
    await asyncio.Event().wait()


async def test_task_computes():
    async def compute():
        while True:
            pass

    asyncio.create_task(compute())
    await asyncio.Event().wait()


def test_cannot_be_broken_off():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(600)


def test_that_ends(): ...


async def test_that_ends_in_a_loop(): ...
"""


@pytest.mark.slow
def test_hanging_tests_fail_with_their_names_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "test_hanging.py").write_text(TESTS)
    options = (
        "-n1",
        "-p",
        "tests.time_bounds",
        "-o",
        "asyncio_mode=auto",
        "--tb=line",
        "-rA",
        "-p",
        "no:cacheprovider",
    )
    command = (sys.executable, "-m", "pytest", *options, "--rootdir", str(tmp_path), "-c", os.devnull, str(tmp_path))
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)
    ends = {line.split("::")[1].split()[0]: line.split()[0] for line in done.stdout.splitlines() if _is_end(line)}
    assert ends == {
        "test_in_setup": "ERROR",
        "test_in_teardown": "ERROR",
        "test_waits": "FAILED",
        "test_computes": "FAILED",
        "test_waits_in_a_loop": "FAILED",
        "test_task_computes": "FAILED",
        "test_cannot_be_broken_off": "FAILED",
        "test_that_ends": "PASSED",
        "test_that_ends_in_a_loop": "PASSED",
    }
    assert "test_hanging.py::test_in_setup: its setup has no end, after 0.5 s" in done.stdout
    assert "in test_cannot_be_broken_off" in done.stderr, "the stacks"


def _is_end(line: str) -> bool:
    return line.startswith(("PASSED", "FAILED", "ERROR")) and "::" in line
