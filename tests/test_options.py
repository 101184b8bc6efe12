"""How the text of a flag or variable becomes a value. Level: pure."""

import pytest

from hookrunner.options import (
    COUNT,
    COUNT_FROM_1,
    DURATION,
    ENDPOINT,
    MAYBE_PORT,
    NUMBER,
    PATH,
    PATHS,
    PORT,
    YES_NO,
    OptionType,
    duration,
    one_of,
)
from tests.tables import each


@each(
    ("text", "seconds"),
    [
        ("0", 0),
        ("30s", 30),
        ("1m30s", 90),
        ("300ms", 0.3),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("2us", 2e-6),
        ("2µs", 2e-6),
        ("-1s", -1),
        ("+1s", 1),
    ],
)
def test_go_durations_are_read_as_seconds(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@each("text", ["", "5", "1d", "s", "1 s", "1s ", "--1s", "1.2.3s", "1s2"])
def test_what_go_refuses_as_a_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        duration(text)


@each(
    ("kind", "text"),
    [
        (PORT, "65536"),
        (PORT, "-1"),
        (PORT, "http"),
        (PORT, ""),
        (NUMBER, "nan"),
        (NUMBER, "inf"),
        (NUMBER, "-0.1"),
        (COUNT, "1.5"),
        (COUNT, "-1"),
        (COUNT_FROM_1, "0"),
        (MAYBE_PORT, "65536"),
        (DURATION, "-1s"),
        (ENDPOINT, "127.0.0.1"),
        (PATH, ""),
        (YES_NO, "yes"),
        (one_of("a", "b"), "c"),
    ],
)
def test_values_out_of_range_are_refused(kind: OptionType, text: str) -> None:
    with pytest.raises(ValueError):
        kind.parse(text)


@each(
    ("text", "endpoint"),
    [("127.0.0.1:9652", ("127.0.0.1", 9652)), (":9652", ("", 9652)), ("[::1]:80", ("::1", 80)), ("", None)],
)
def test_endpoints_are_split_into_host_and_port(text: str, endpoint: object) -> None:
    assert ENDPOINT.parse(text) == endpoint


def test_words_are_taken_in_any_case() -> None:
    assert one_of("info", "warn").parse("WARN") == "warn"


def test_paths_become_absolute_so_that_a_change_of_directory_moves_nothing() -> None:
    assert PATH.parse("hooks").is_absolute()
    assert [path.name for path in PATHS.parse("a.crt,/b.crt,")] == ["a.crt", "b.crt"]
