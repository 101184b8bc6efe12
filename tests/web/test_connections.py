"""Clients that misbehave, and how a server stops. Level: pure."""

import asyncio
import os
import resource
import socket
import ssl
from contextlib import AsyncExitStack, closing, suppress
from dataclasses import replace

import aiohttp
import pytest

from hookrunner.model.reviews import Verdict
from hookrunner.web import tls
from hookrunner.web.listen import on_port
from hookrunner.web.review_limits import ReviewLimits
from hookrunner.web.tls import listening
from tests.tables import each
from tests.web.connecting import WHOLE, connected, head
from tests.web.reviewing import ScriptedReviewer, Served, Setup, admission, served

# ── rude clients ──────────────────────────────────────────────────────────────────────────────────────────────────────

PATIENCE = 60.0
"""Seconds that a test waits for anything, on a machine of any load."""
PATIENT = ReviewLimits(arrival=3600, idle=3600, handshake=3600, farewell=3600, taking=3600)
"""Limits that must not be reached by tests about another one."""
HASTY = replace(PATIENT, arrival=0.05, farewell=0.05, taking=0.05)
"""Where a request has to arrive within such a limit, the time is virtual: a busy machine would be too slow for it."""


async def quiet(before: int, tasks: int) -> None:
    """Wait until open descriptors and tasks are no more than before."""
    while descriptors() > before or len(asyncio.all_tasks()) > tasks:  # noqa: ASYNC110  # nothing tells of both
        await asyncio.sleep(0.005)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@each("sent", [b"P", b"POST /hooks/a HTTP/1.1\r\nHost: x\r\n", WHOLE[:-1]])
async def test_incomplete_request_is_cut(sent: bytes) -> None:
    reviewer = ScriptedReviewer()
    async with (
        served(reviewer, Setup(limits=HASTY)) as server,
        asyncio.timeout(PATIENCE),
        connected(server) as (reader, writer),
    ):
        writer.write(sent)
        assert (await reader.read(), reviewer.reviews) == (b"", [])


async def test_single_bytes_do_not_extend_the_time_limit() -> None:
    async with (
        served(ScriptedReviewer(), Setup(limits=HASTY)) as server,
        asyncio.timeout(PATIENCE),
        connected(server) as (reader, writer),
    ):
        writer.write(b"POST /hooks/a HTTP/1.1\r\nX: ")
        reading = asyncio.create_task(reader.read())
        while not reading.done():
            writer.write(b"X")
            await asyncio.wait({reading}, timeout=0.005)
        with suppress(ConnectionResetError):  # if our last byte crossed with the cut
            assert await reading == b""


@pytest.mark.looptime
async def test_incomplete_request_after_another_one_is_cut() -> None:
    async with (
        served(ScriptedReviewer(), Setup(limits=HASTY)) as server,
        asyncio.timeout(PATIENCE),
        connected(server) as (reader, writer),
    ):
        writer.write(WHOLE + WHOLE[:-1])
        assert (await head(reader)).startswith(b"HTTP/1.1 200")
        assert await reader.read() == b""


@pytest.mark.looptime
async def test_connection_may_idle_longer_than_a_request_may_take() -> None:
    async with (
        served(ScriptedReviewer(), Setup(limits=HASTY)) as server,
        asyncio.timeout(PATIENCE),
        connected(server) as (reader, writer),
    ):
        for _ in range(2):
            await asyncio.sleep(2 * HASTY.arrival)
            writer.write(WHOLE)
            assert (await head(reader)).startswith(b"HTTP/1.1 200")


@pytest.mark.looptime
async def test_answer_may_take_longer_than_a_request() -> None:
    reviewer = ScriptedReviewer(paused=True)
    async with (
        served(reviewer, Setup(limits=HASTY)) as server,
        asyncio.timeout(PATIENCE),
        connected(server) as (reader, writer),
    ):
        writer.write(WHOLE)
        await reviewer.wait_for_reviews(1)
        await asyncio.sleep(2 * HASTY.arrival)
        reviewer.unpaused.set()
        assert (await head(reader)).startswith(b"HTTP/1.1 200")


async def test_idle_connection_is_closed_eventually() -> None:
    async with (
        served(ScriptedReviewer(), Setup(limits=replace(PATIENT, idle=0.05))) as server,
        asyncio.timeout(PATIENCE),
        connected(server) as (reader, _),
    ):
        assert await reader.read() == b""


@each(("size", "count"), [(16_000_000, 1), (50_000, 300)], ids=["large", "many"])
async def test_unread_answer_is_abandoned(size: int, count: int) -> None:
    reviewer = ScriptedReviewer(Verdict(False, "x" * size))
    async with served(reviewer, Setup(limits=HASTY)) as server, asyncio.timeout(PATIENCE):
        before, tasks = descriptors(), len(asyncio.all_tasks())
        async with connected(server) as (_, writer):
            reading = writer.transport
            assert isinstance(reading, asyncio.Transport)
            reading.pause_reading()
            writer.write(WHOLE * count)
            await quiet(before + 1, tasks)


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00garbage", b"\x00" * 1000, b""])
async def test_connection_without_tls_is_closed(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with (
        served(ScriptedReviewer(), Setup(limits=replace(PATIENT, handshake=0.1))) as server,
        asyncio.timeout(PATIENCE),
    ):
        before, tasks = descriptors(), len(asyncio.all_tasks())
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        with suppress(ConnectionError):
            await reader.read()
        writer.transport.abort()
        await quiet(before, tasks)
    assert caplog.records == []


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"\x16\x03\x01\r\n\r\n"]
)
async def test_request_that_is_not_http_is_answered_400(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with served(ScriptedReviewer()) as server, asyncio.timeout(PATIENCE), connected(server) as (reader, writer):
        writer.write(sent)
        assert b" 400 Bad Request" in await reader.readline()
    assert caplog.records == []


@pytest.mark.parametrize("sent", [b"", b"POST", WHOLE[:-1], WHOLE])
async def test_vanished_clients_leave_nothing_behind(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    reviewer = ScriptedReviewer(paused=True)
    async with served(reviewer, Setup(limits=PATIENT)) as server, asyncio.timeout(PATIENCE):
        before, tasks = descriptors(), len(asyncio.all_tasks())
        for round_ in range(10):
            async with connected(server) as (_, writer):
                writer.write(sent)
                if sent == WHOLE:
                    await reviewer.wait_for_reviews(round_ + 1)
        await reviewer.wait_for_cancellations(len(reviewer.reviews))
        await quiet(before, tasks)
    assert caplog.records == []


async def test_clients_wait_while_the_system_is_out_of_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "PAUSE", 0.01)
    async with served(ScriptedReviewer()) as server, asyncio.timeout(PATIENCE):
        context, limits = server.ca.client_context(), resource.getrlimit(resource.RLIMIT_NOFILE)
        sock = socket.create_connection(("127.0.0.1", server.port))
        with closing(os.fdopen(os.dup(0))) as free:
            lowest = free.fileno()
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
        try:
            await asyncio.sleep(5 * tls.PAUSE)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        _, writer = await asyncio.open_connection(sock=sock, ssl=context, server_hostname="127.0.0.1")
        writer.transport.abort()


async def test_idle_connection_with_the_fewest_requests_gives_way() -> None:
    async with (
        served(ScriptedReviewer(), Setup(limits=ReviewLimits(connections=2))) as server,
        asyncio.timeout(PATIENCE),
        connected(server) as (known_reader, known),
    ):
        known.write(WHOLE)
        await head(known_reader)
        async with connected(server) as (stranger, _), connected(server) as (reader, writer):
            assert await stranger.read() == b""
            for answers, asks in ((reader, writer), (known_reader, known)):
                asks.write(WHOLE)
                assert (await head(answers)).startswith(b"HTTP/1.1 200")


async def test_silent_clients_do_not_shut_out_others() -> None:
    async with (
        served(ScriptedReviewer(), Setup(limits=ReviewLimits(connections=10))) as server,
        asyncio.timeout(PATIENCE),
    ):
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(50)]
        assert (await server.post("/hooks/a", admission()))[0] == 200
        for _, writer in silent:
            writer.transport.abort()


async def test_clients_with_incomplete_requests_do_not_shut_out_others() -> None:
    setup = Setup(limits=ReviewLimits(connections=2))
    async with served(ScriptedReviewer(), setup) as server, asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
        for _ in range(2):
            reader, writer = await stack.enter_async_context(connected(server))
            writer.write(WHOLE + WHOLE[:-1])
            await head(reader)
        assert (await server.post("/hooks/a", admission()))[0] == 200


async def test_new_clients_wait_while_all_connections_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "PAUSE", 0.01)
    reviewer = ScriptedReviewer(paused=True)
    async with served(reviewer, Setup(limits=ReviewLimits(connections=2))) as server, asyncio.timeout(PATIENCE):
        asked = [asyncio.create_task(server.post("/hooks/a", admission())) for _ in range(2)]
        await reviewer.wait_for_reviews(2)
        asked.append(asyncio.create_task(server.post("/hooks/a", admission())))
        await asyncio.sleep(5 * tls.PAUSE)
        assert len(reviewer.reviews) == 2
        reviewer.unpaused.set()
        assert [status for status, _ in await asyncio.gather(*asked)] == [200, 200, 200]


# ── the end ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def under_review(
    session: aiohttp.ClientSession, server: Served, reviewer: ScriptedReviewer
) -> asyncio.Task[aiohttp.ClientResponse]:
    """A request whose review has begun."""
    url = f"https://127.0.0.1:{server.port}/hooks/a"
    asking = asyncio.ensure_future(session.post(url, json=admission(), ssl=server.ca.client_context()))
    await reviewer.wait_for_reviews(1)
    return asking


async def test_running_review_is_answered_after_the_stop_request() -> None:
    reviewer = ScriptedReviewer(paused=True)
    async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE):
        async with served(reviewer) as server:
            asking = await under_review(session, server, reviewer)
            asyncio.get_running_loop().call_soon(reviewer.unpaused.set)
        answer = await asking
        assert (answer.status, answer.headers["Connection"]) == (200, "close")


async def test_review_that_outlives_the_grace_is_cancelled() -> None:
    reviewer = ScriptedReviewer(paused=True)
    async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE):
        async with served(reviewer, Setup(limits=replace(PATIENT, grace=0.05))) as server:
            asking = await under_review(session, server, reviewer)
        with pytest.raises(aiohttp.ClientError):
            await asking
    assert reviewer.cancelled == 1


async def test_review_can_still_be_answered_after_the_grace() -> None:
    reviewer = ScriptedReviewer(paused=True)
    async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE):
        async with served(reviewer) as server:
            asking = await under_review(session, server, reviewer)
            await server.listener.finish(0.01)
            reviewer.unpaused.set()
        assert (await asking).status == 200


@pytest.mark.looptime
async def test_stop_waits_for_a_review_no_longer_than_the_grace() -> None:
    """Its own deadline, 25 s for most, may be far away."""
    reviewer, now = ScriptedReviewer(paused=True), asyncio.get_running_loop().time
    async with aiohttp.ClientSession() as session, served(reviewer, Setup(limits=PATIENT)) as server:
        asking = await under_review(session, server, reviewer)
        began = now()
        async with asyncio.timeout(3600):
            await server.listener.finish(3.0)
        assert now() - began == pytest.approx(3.0, abs=0.1)
        assert not asking.done()
        reviewer.unpaused.set()
        assert (await asking).status == 200


async def test_descriptor_of_a_finished_handshake_is_kept() -> None:
    """Its next owner could not use it, nor could the connection."""
    async with served(ScriptedReviewer()) as server, asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        context, greeting = server.ca.client_context(), server.listener._greeting
        connecting = tasks.create_task(asyncio.open_connection("127.0.0.1", server.port, ssl=context))
        while not any(task.done() for task in greeting):  # noqa: ASYNC110  # it is so for one turn of the loop
            await asyncio.sleep(0)
        [accepted] = greeting.values()
        descriptor = accepted.fileno()
        await server.listener._shut()
        assert accepted.fileno() == descriptor
        _, writer = await connecting
        writer.transport.abort()


async def test_certificate_after_the_stop_is_not_used() -> None:
    async with served(ScriptedReviewer()) as server:
        pass
    pair = server.ca.server()
    server.listener.use(pair.certificate, pair.key)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_unfinished_handshake_does_not_delay_the_stop() -> None:
    async with asyncio.timeout(PATIENCE), served(ScriptedReviewer(), Setup(limits=PATIENT)) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        _, late = await asyncio.open_connection("127.0.0.1", server.port)
    for one in (writer, late):
        one.transport.abort()


async def refuse_any(_request: aiohttp.web.BaseRequest) -> aiohttp.web.Response:
    raise AssertionError("no client can ask")


async def test_listener_without_a_certificate_can_be_closed() -> None:
    sock = on_port("127.0.0.1", 0, "--webhook-port")
    async with listening(sock, refuse_any):
        pass
    assert sock.fileno() == -1


async def test_leaving_listener_answers_and_closes_each_connection() -> None:
    async with served(ScriptedReviewer()) as server, asyncio.timeout(PATIENCE), connected(server) as (reader, writer):
        server.listener.leave()
        async with connected(server) as (fresh_reader, fresh):
            for answers, asks in ((reader, writer), (fresh_reader, fresh)):
                asks.write(WHOLE)
                assert b"Connection: close" in await head(answers)
                assert await answers.read() == b""


def still(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    """A client that has said hello and then neither reads nor writes."""
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost")


async def test_stop_closes_the_sockets_of_clients_that_stay() -> None:
    before = descriptors()
    limits = replace(PATIENT, parting=0.05)  # shorter than `farewell`, within which TLS would end by itself
    async with asyncio.timeout(PATIENCE), served(ScriptedReviewer(), Setup(limits=limits)) as server:
        client = await asyncio.to_thread(still, server.port, server.ca.client_context())
    with closing(client):
        assert descriptors() <= before + 1
