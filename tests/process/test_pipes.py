"""What is kept of a stream. Reading is tested with real children in test_children.py."""

import pytest

from hookrunner.process.output import KeptOutput


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_stream_within_the_limit_is_kept_whole(size: int) -> None:
    kept, text = KeptOutput(200), bytes(range(100))
    for start in range(0, len(text), size):
        kept.add(text[start : start + size])
    assert kept.bytes() == text


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_longer_stream_keeps_its_start_and_end(size: int) -> None:
    kept, text = KeptOutput(10), b"start" + b"." * 990 + b"enden"
    for start in range(0, len(text), size):
        kept.add(text[start : start + size])
    assert kept.bytes() == b"start\n... 990 bytes left out ...\nenden"


def test_a_limit_of_nothing_keeps_nothing() -> None:
    kept = KeptOutput(0)
    kept.add(b"text")
    assert kept.bytes() == b""
