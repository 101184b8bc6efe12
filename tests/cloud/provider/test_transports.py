"""One contract for both ways of asking: a process for each call, and one that stays. Level: pure."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.provider.process_transport import ProcessTransport
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.serve_transport import ServeTransport
from hookrunner.cloud.provider.verbs import LB_GET
from hookrunner.cloud.provider.wire_answers import result_of
from hookrunner.cloud.provider.wire_requests import CallRequest
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.process.leader import processes
from hookrunner.waits import Pauses
from kubetypes.json_values import JSON
from tests.fakes.cluster import settle

ODD = Path(__file__).with_name("odd_provider.py")
WAYS = pytest.mark.parametrize("way", ["process", "serve"])
DEADLINE = 60.0
"""Seconds for calls that must not reach it."""


@asynccontextmanager
async def transport(way: str, tmp_path: Path) -> AsyncIterator[ProcessTransport | ServeTransport]:
    """The way to the odd provider, which runs with this Python."""
    program = tmp_path / "odd"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {ODD} "$@"\n')
    program.chmod(0o755)
    children = Children(Patience(linger=0.05))
    started = ProviderProgram(program, {"PATH": os.defpath, "SECRET": "hunter22"}, frozenset(["hunter22"]))
    if way == "process":
        yield ProcessTransport(started, children)
        return
    serve = ServeTransport(started, children, Pauses(0.01, 0.01))
    running = asyncio.create_task(serve.run())
    try:
        yield serve
    finally:
        running.cancel()
        await asyncio.wait({running})
        assert len(children) == 0


async def ask(way: ProcessTransport | ServeTransport, behaviour: str, deadline: float = DEADLINE) -> JSON:
    request = CallRequest("lb-get", os.urandom(4).hex(), deadline, "test", {"name": behaviour})
    return result_of(await way.exchange(request), LB_GET, request.request_id)


@pytest.mark.slow
@WAYS
async def test_answers(tmp_path: Path, way: str) -> None:
    async with transport(way, tmp_path) as asked:
        assert await ask(asked, '{"result": {"exists": true}}') == {"exists": True}
        with pytest.raises(ProviderError) as caught:
            await ask(asked, '{"error": {"code": "Pending", "message": "soon", "retryAfterSeconds": 42}}')
    assert (caught.value.code, caught.value.retry_after) == (ErrorCode.PENDING, 42.0)


@WAYS
@pytest.mark.slow
async def test_what_is_abnormal_is_unavailable_and_the_next_call_works(tmp_path: Path, way: str) -> None:
    async with transport(way, tmp_path) as asked:
        for behaviour in ("exit", "die half way", "killed", "garbage", "colours", "too much", "two", "another"):
            with pytest.raises(ProviderError) as caught:
                await ask(asked, behaviour)
            assert (behaviour, caught.value.code) == (behaviour, ErrorCode.UNAVAILABLE)
            assert await ask(asked, '{"result": {}}') == {}


@pytest.mark.slow
@WAYS
async def test_a_call_ends_at_its_deadline(tmp_path: Path, way: str) -> None:
    """The process that stays is ended after as long again, and with it what is asked meanwhile."""
    async with transport(way, tmp_path) as asked:
        assert await ask(asked, '{"result": {}}') == {}  # it has started: the next request is written at once
        hanging = asyncio.create_task(ask(asked, "hang", deadline=0.5))
        await settle()
        behind = asyncio.create_task(ask(asked, '{"result": {}}'))
        with pytest.raises(ProviderError) as caught:
            await hanging
        assert caught.value.code is ErrorCode.UNAVAILABLE
        if way == "serve":
            with pytest.raises(ProviderError, match="it hangs"):
                await behind
        else:
            assert await behind == {}
        assert await ask(asked, '{"result": {}}') == {}


@pytest.mark.slow
@WAYS
async def test_many_calls_side_by_side(tmp_path: Path, way: str) -> None:
    async with transport(way, tmp_path) as asked:
        bodies: list[JSON] = [{"result": {"number": number}} for number in range(8)]
        assert await asyncio.gather(*(ask(asked, json.dumps(body)) for body in bodies)) == [
            body["result"] for body in bodies
        ]


async def test_answers_in_another_order_reach_those_who_asked(tmp_path: Path) -> None:
    async with transport("serve", tmp_path) as asked:
        names = ("hold", "hold", "hold", "let go")
        requests = [
            CallRequest("lb-get", f"{name} {number}", DEADLINE, "test", {"name": name})
            for number, name in enumerate(names)
        ]
        ended: list[str] = []

        async def exchange(request: CallRequest) -> JSON:
            answer = result_of(await asked.exchange(request), LB_GET, request.request_id)
            ended.append(request.request_id)
            return answer["requestID"]

        answers = await asyncio.gather(*map(exchange, requests))
    assert answers == [request.request_id for request in requests]
    assert ended == ["let go 3", "hold 2", "hold 1", "hold 0"]


@pytest.mark.slow
async def test_a_program_that_reads_nothing_is_ended_and_the_next_one_answers(tmp_path: Path) -> None:
    """What is written to it is more than a pipe holds."""
    deaf = tmp_path / "deaf"
    deaf.touch()
    async with transport("serve", tmp_path) as asked:
        other = asyncio.create_task(ask(asked, '{"result": {}}'))
        await settle()  # it is being started: the next request is written at once
        with pytest.raises(ProviderError, match=r"no answer within 0\.5 s"):
            await ask(asked, " " * (1 << 20), deadline=0.5)
        with pytest.raises(ProviderError, match="it hangs"):
            await other
        deaf.unlink()
        assert await ask(asked, '{"result": {}}') == {}


@WAYS
async def test_its_environment_and_directory(tmp_path: Path, way: str) -> None:
    async with transport(way, tmp_path) as asked:
        seen = await ask(asked, "environment")
    given = {name: value for name, value in seen["environment"].items() if name not in ("PWD", "LC_CTYPE", "_")}
    assert (given, seen["directory"]) == ({"PATH": os.defpath, "SECRET": "hunter22"}, str(tmp_path))


async def test_what_a_call_leaves_behind_is_killed(tmp_path: Path) -> None:
    async with transport("process", tmp_path) as asked:
        assert await ask(asked, "leftover") == {"exists": False}
    deadline = time.monotonic() + DEADLINE
    while sleepers(tmp_path) and time.monotonic() < deadline:  # what is killed lives on for a moment
        os.sched_yield()
    assert sleepers(tmp_path) == []


def sleepers(directory: Path) -> list[int]:
    """Processes that sleep in this directory."""
    return [row.pid for row in processes() if row.name == "sleep" and row.state != "Z" and is_in(row.pid, directory)]


def is_in(pid: int, directory: Path) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/cwd") == str(directory)
    except OSError:
        return False


async def test_a_file_that_cannot_be_started(tmp_path: Path) -> None:
    program = ProviderProgram(tmp_path / "none", {})
    with pytest.raises(ProviderError, match="the file is not there"):
        await ask(ProcessTransport(program, Children(Patience())), "")


@pytest.mark.slow
async def test_a_replaced_file_is_served_by_a_new_process(tmp_path: Path) -> None:
    async with transport("serve", tmp_path) as asked:
        assert isinstance(asked, ServeTransport)
        assert await ask(asked, '{"result": {}}') == {}
        before = [row.pid for row in processes() if row.parent == os.getpid() and row.state != "Z"]
        asked.renew()
        assert await ask(asked, '{"result": {}}') == {}
        after = [row.pid for row in processes() if row.parent == os.getpid() and row.state != "Z"]
    assert len(set(after) - set(before)) == 1
