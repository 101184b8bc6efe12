"""Outages, pauses between attempts, and rate limits: in virtual time, without a server. Level: pure."""

import asyncio
import io
import json
import sys
import time
from contextlib import aclosing
from itertools import pairwise

import pytest

from hookrunner import log
from hookrunner.errors import ApiError, KubeError, NotFound, Unreachable
from hookrunner.kube.back_off import BackOff, Outage, TokenBucket, retry_forever
from tests.tables import each

pytestmark = pytest.mark.looptime


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_sleepers_wake_at_the_end_of_an_outage() -> None:
    outage = Outage()
    sleeping = asyncio.create_task(outage.sleep(100))
    await asyncio.sleep(1)
    outage.note_answer(200)  # there was none
    outage.note_failure()
    await asyncio.sleep(1)
    outage.note_answer(200)
    await sleeping
    assert now() < 3


async def test_without_an_outage_pauses_are_kept() -> None:
    outage = Outage()
    await outage.turn(7)
    assert now() == pytest.approx(7, abs=0.01)


async def test_failures_are_counted_by_kind_and_forgotten_with_time() -> None:
    back_off, internal = BackOff(), ApiError(500, "InternalError", "")
    others = [(ApiError(503, "", ""), False), (NotFound(500, "", ""), False), (internal, True)]
    for _ in range(3):
        back_off.pause(internal, False)
    counts = [back_off.failures(error, accepted) for error, accepted in [(internal, False), *others]]
    assert counts == [3, 0, 0, 0]
    await asyncio.sleep(31)
    assert back_off.failures(internal, False) == 0


async def test_watches_return_together_at_a_limited_rate_after_an_outage() -> None:
    """200 a second."""
    outage = Outage()
    outage.note_failure()
    waiting = [asyncio.create_task(outage.turn(20)) for _ in range(200)]
    await asyncio.sleep(10)
    outage.note_answer(200)
    before = now()
    await asyncio.gather(*waiting)
    assert 0.5 <= now() - before <= 1


@each("status", [401, 403, 429, 500, 503])
async def test_answers_of_a_starting_server_end_no_outage_and_hasten_the_next_probe(status: int) -> None:
    outage = Outage()
    outage.note_failure()
    for _ in range(8):
        await outage.turn(0)
    outage.note_answer(status)
    before = now()
    await outage.turn(0)
    assert outage.is_under_way
    assert now() - before <= 0.2


@each("status", [200, 404, 410])
async def test_a_useful_answer_ends_an_outage(status: int) -> None:
    outage = Outage()
    outage.note_failure()
    outage.note_answer(status)
    assert not outage.is_under_way


async def test_probes_become_rarer_down_to_one_a_second() -> None:
    outage = Outage()
    outage.note_failure()
    looks = []
    for _ in range(10):
        await outage.turn(0)
        looks.append(now())
    gaps = [later - earlier for earlier, later in pairwise(looks)]
    assert gaps == sorted(gaps)
    assert gaps[-1] == pytest.approx(1, abs=0.01)


@pytest.mark.slow
async def test_a_watch_that_alone_cannot_connect_keeps_its_pauses() -> None:
    """Others are answered all the time: each answer ends what its failure has begun."""
    outage = Outage()

    async def answer() -> None:
        while True:
            await asyncio.sleep(0.01)
            outage.note_answer(200)

    answering = asyncio.create_task(answer())
    for _ in range(10):
        outage.note_failure()
        await outage.turn(2)
    assert now() == pytest.approx(20, abs=1)
    answering.cancel()


async def test_ends_yields_the_length_of_each_outage() -> None:
    outage = Outage()
    async with aclosing(outage.ends()) as ends:
        for seconds in (3, 5):
            coming = asyncio.ensure_future(anext(ends))
            await asyncio.sleep(1)
            outage.note_failure()
            await asyncio.sleep(seconds)
            outage.note_answer(200)
            assert await coming == pytest.approx(seconds, abs=0.01)


def test_without_an_interval_nothing_waits() -> None:
    bucket = TokenBucket(0, 1)
    assert [bucket.take(0.0) for _ in range(5)] == [0.0] * 5


@each(
    ("burst", "waits"),
    [(1, [0, 10, 10]), (2, [0, 0, 10]), (3, [0, 0, 0]), (0, [0, 10, 10]), (-5, [0, 10, 10])],
)
def test_burst_passes_at_once_and_the_next_waits(burst: int, waits: list[float]) -> None:
    bucket = TokenBucket(10, burst)
    assert [bucket.take(100.0) for _ in range(3)] == waits


def test_a_refusal_takes_no_token() -> None:
    bucket = TokenBucket(10, 1)
    bucket.take(0.0)
    assert [bucket.take(now) for now in (1.0, 2.0, 9.0, 10.0, 10.0)] == [9.0, 8.0, 1.0, 0.0, 10.0]


def test_tokens_accumulate_up_to_the_burst_only() -> None:
    bucket = TokenBucket(10, 2)
    assert [bucket.take(1000.0) for _ in range(3)] == [0.0, 0.0, 10.0]


@pytest.mark.looptime
async def test_turns_are_given_in_the_order_of_the_calls() -> None:
    bucket, loop = TokenBucket.per_second(5, 2), asyncio.get_running_loop()
    began, turns = loop.time(), list[tuple[int, float]]()

    async def call(number: int) -> None:
        await bucket.turn()
        turns.append((number, round(loop.time() - began, 3)))

    await asyncio.gather(*map(call, range(4)))
    assert turns == [(0, 0.0), (1, 0.0), (2, 0.2), (3, 0.4)]


async def test_an_attempt_is_repeated_with_growing_pauses_until_one_is_done() -> None:
    times, reported = list[float](), list[Exception]()

    async def attempt() -> None:
        times.append(now())
        if len(times) < 9:
            raise KubeError(f"attempt {len(times)}")

    await retry_forever(attempt, (KubeError,), reported.append)
    assert times == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    assert [str(error) for error in reported] == [f"attempt {number}" for number in range(1, 9)]


async def test_the_end_of_an_outage_ends_the_pause_between_attempts() -> None:
    """Definitions of addons waited up to a minute more, and with them all instances."""
    outage, times = Outage(), list[float]()

    async def attempt() -> None:
        times.append(now())
        if outage.is_under_way:
            raise Unreachable("connection refused")

    outage.note_failure()
    asyncio.get_running_loop().call_later(40, outage.note_answer, 200)
    await retry_forever(attempt, (KubeError,), lambda error: None, outage.rest)
    assert times == [0, 1, 3, 7, 15, 31, 40]


async def test_answers_to_others_shorten_no_pause_of_a_request_that_always_fails() -> None:
    outage, times = Outage(), list[float]()

    async def attempt() -> None:
        times.append(now())
        if len(times) < 5:
            outage.note_failure()
            asyncio.get_running_loop().call_later(0.1, outage.note_answer, 200)
            raise Unreachable("connection reset")

    await retry_forever(attempt, (KubeError,), lambda error: None, outage.rest)
    assert times == [0, 1, 3, 7, 15]


async def test_an_outage_is_logged_once_and_so_is_its_end() -> None:
    outage = Outage()
    log.configure("json", "info", logged := io.StringIO())
    for _ in range(5):
        outage.note_failure(Unreachable("connection refused"))
        await asyncio.sleep(2)
    outage.note_answer(503)
    outage.note_answer(200)
    outage.note_failure(Unreachable("one bad connection"))
    outage.note_answer(200)
    log.configure("text", "info", sys.__stderr__ or sys.stderr)
    records = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert [(record["level"], record["msg"]) for record in records] == [
        ("warn", "API server is unavailable"),
        ("info", "API server is available again, retrying what has failed"),
    ]
    assert (records[0]["error"], records[1]["seconds"]) == ("connection refused", 10.0)


async def test_an_error_that_is_not_named_ends_the_attempts() -> None:
    async def attempt() -> None:
        raise ValueError("a mistake in the code")

    with pytest.raises(ValueError, match="a mistake"):
        await retry_forever(attempt, (KubeError,), lambda error: None)


async def test_nothing_is_heard_since_an_outage_began_once_it_is_no_single_bad_connection() -> None:
    outage, began = Outage(), time.time()
    assert outage.since == 0.0
    outage.note_failure()
    assert outage.since == 0.0
    await asyncio.sleep(5)
    assert began <= outage.since <= time.time()
    outage.note_answer(503)
    assert outage.since
    outage.note_answer(200)
    assert outage.since == 0.0


async def test_a_watch_that_hears_something_shows_that_only_new_connections_fail() -> None:
    outage = Outage()
    await asyncio.sleep(1)
    outage.note_failure()
    await asyncio.sleep(5)
    outage.note_sign()
    assert (outage.is_under_way, outage.since) == (True, 0.0)
