"""The number of seconds after which a hook asks to be run again. Level: pure."""

import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks import repetitions
from tests.tables import each


@each(("text", "seconds"), [(b"600\n", 600.0), (b" 0.5", 0.5), (b"", None), (b"\n", None)])
def test_a_number_of_seconds_is_read(text: bytes, seconds: float | None) -> None:
    assert repetitions.parse(text) == seconds


@each("text", [b"soon", b"0", b"-1", b"nan", b"inf", b"1e9", b"10m", b"\xff"])
def test_anything_else_is_refused_with_what_to_write(text: bytes) -> None:
    with pytest.raises(BadOutput, match=r"RUN_AGAIN_PATH: .* write one such as 600"):
        repetitions.parse(text)
