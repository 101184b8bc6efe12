"""Starts of workers that fail or are cancelled. Workers at work are tested with what they do: jq filters and charts.

Level: pure."""

import asyncio
import socket
from asyncio.subprocess import Process

import pytest

from hookrunner.process.worker import Worker, WorkerLost

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
async def pair(monkeypatch: pytest.MonkeyPatch) -> Pair:
    """The sockets that a start gets. The event loop makes such a pair for itself, so it has to run before."""
    made = socket.socketpair()
    monkeypatch.setattr(socket, "socketpair", lambda: made)
    return made


async def test_start_that_is_cancelled_leaves_no_socket(pair: Pair) -> None:
    async def spawn(_: int) -> Process:
        raise AssertionError("it is cancelled before")

    starting = asyncio.create_task(Worker.start("jq", spawn))
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait([starting])
    assert starting.cancelled()
    await asyncio.sleep(0)  # transports close in the next turn of the loop
    assert [end.fileno() for end in pair] == [-1, -1]


async def test_process_that_cannot_be_started_leaves_no_socket(pair: Pair) -> None:
    async def spawn(_: int) -> Process:
        raise OSError("no memory")

    with pytest.raises(WorkerLost, match="no jq worker can be started: no memory"):
        await Worker.start("jq", spawn)
    await asyncio.sleep(0)
    assert [end.fileno() for end in pair] == [-1, -1]
