"""How many files this process may have open, and those that it starts. Level: pure."""

import asyncio
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrunner import safe_files
from hookrunner.process.child import Command
from hookrunner.process.spawn import spawn


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process was started with a soft limit of 512."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(safe_files, "_ORIGINAL_LIMIT", 512)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def limit_of_a_child() -> int:
    """The soft limit that a started process sees."""
    spawned = await spawn(Command(("/bin/sh", "-c", "ulimit -Sn"), Path("/"), {}))
    os.close(spawned.stderr)
    with os.fdopen(spawned.stdout) as output:
        said = await asyncio.to_thread(output.read)
    await asyncio.to_thread(os.waitpid, spawned.pid, 0)
    return int(said)


def test_the_limit_is_raised_as_far_as_may_be() -> None:
    safe_files.raise_limit()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert safe_files.limit() == (min(hard, 1 << 20) if hard != resource.RLIM_INFINITY else 1 << 20)
    safe_files.raise_limit()


async def test_processes_that_we_start_have_the_usual_limit() -> None:
    assert await limit_of_a_child() == 512
    safe_files.raise_limit()
    raised = safe_files.limit()
    assert await limit_of_a_child() == 512
    assert safe_files.limit() == raised


async def test_processes_are_started_beyond_the_usual_limit_too() -> None:
    """They get it a moment after their start."""
    safe_files.raise_limit()
    many = [os.open("/dev/null", os.O_RDONLY) for _ in range(600)]
    try:
        spawned = await spawn(Command(("/bin/sleep", "3600"), Path("/"), {}))
        assert resource.prlimit(spawned.pid, resource.RLIMIT_NOFILE)[0] == 512
        os.kill(spawned.pid, 9)
        await asyncio.to_thread(os.waitpid, spawned.pid, 0)
    finally:
        for descriptor in (*many, spawned.stdout, spawned.stderr):
            os.close(descriptor)
