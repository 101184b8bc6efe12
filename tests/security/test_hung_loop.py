"""A running program whose event loop hangs says so to the probes of its port, and to the reader of its log.

Level: sandbox."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.controlplane.processes import free_port


async def read_until(program: Process, text: str) -> str:
    assert program.stdout is not None
    async for line in program.stdout:
        if text in line.decode():
            return line.decode()
    raise AssertionError(f"it ended without: {text}")


async def probe(port: int) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/healthz") as answer:
        return answer.status, await answer.text()


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
async def program(port: int, tmp_path: Path) -> AsyncIterator[Process]:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "tmp").mkdir(mode=0o700)
    flags = f"--sandbox --hooks-dir {tmp_path}/hooks --listen-address 127.0.0.1 --listen-port {port} --log-type text"
    places = f"--tmp-dir {tmp_path}/tmp --debug-unix-socket {tmp_path}/tmp/debug.socket"
    words = [sys.executable, "-m", "tests.security.hanging", "start", *flags.split(), *places.split()]
    started = await asyncio.create_subprocess_exec(*words, stdout=PIPE, stderr=STDOUT)
    try:
        await read_until(started, " runs")
        yield started
    finally:
        started.kill()
        await started.wait()


@pytest.mark.usefixtures("launcher")
async def test_a_hung_loop_fails_probes_and_the_log_has_its_stack(program: Process, port: int) -> None:
    assert await probe(port) == (200, "ok\n")
    program.send_signal(signal.SIGUSR1)
    await read_until(program, "hangs")
    status, text = await probe(port)
    assert (status, text.startswith("event loop blocked for ")) == (503, True)
    assert "in hang" in await read_until(program, "event loop blocked")
