"""A hook's rate limit (shell-operator.md §6.7)."""

import pytest

from hookrunner.engine.rates import Bucket


def test_without_an_interval_nothing_waits() -> None:
    bucket = Bucket(0, 1)
    assert [bucket.take(0.0) for _ in range(5)] == [0.0] * 5


@pytest.mark.parametrize(
    ("burst", "waits"),
    [(1, [0, 10, 10]), (2, [0, 0, 10]), (3, [0, 0, 0]), (0, [0, 10, 10]), (-5, [0, 10, 10])],
)
def test_a_burst_goes_at_once_and_the_next_waits(burst: int, waits: list[float]) -> None:
    bucket = Bucket(10, burst)
    assert [bucket.take(100.0) for _ in range(3)] == waits


def test_a_refusal_takes_no_token() -> None:
    bucket = Bucket(10, 1)
    bucket.take(0.0)
    assert [bucket.take(now) for now in (1.0, 2.0, 9.0, 10.0, 10.0)] == [9.0, 8.0, 1.0, 0.0, 10.0]


def test_tokens_do_not_pile_up_beyond_the_burst() -> None:
    bucket = Bucket(10, 2)
    assert [bucket.take(1000.0) for _ in range(3)] == [0.0, 0.0, 10.0]
