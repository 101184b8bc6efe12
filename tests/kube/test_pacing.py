"""Pauses between attempts, and rate limits."""

import asyncio

import pytest

from hookrunner.kube.back_off import TokenBucket, exponential
from tests.tables import each


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


def test_pauses_double_up_to_the_longest() -> None:
    assert [exponential(0.5, 5.0, failures) for failures in range(5)] == [0.5, 1.0, 2.0, 4.0, 5.0]
    assert exponential(0.1, 1e9, 10_000) == 1e9


def test_pauses_grow_by_another_factor() -> None:
    assert [exponential(1.0, 3.0, failures, 1.5) for failures in range(4)] == [1.0, 1.5, 2.25, 3.0]
