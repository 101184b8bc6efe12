"""The text format: names as declared, escaping, numbers as Go prints them."""

import pytest
from prometheus_client.metrics_core import Metric

from hookrunner.metrics.exposition import number, render


def metric(kind: str, text: str = "help", labels: dict[str, str] | None = None) -> Metric:
    made = Metric("x", text, kind)
    made.add_sample("x", labels or {}, 1.0)
    return made


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (0.005, "0.005"),
        (10, "10"),
        (2.5, "2.5"),
        (1e6, "1e+06"),
        (1234567.0, "1.234567e+06"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
        (-0.5, "-0.5"),
    ],
)
def test_numbers_look_as_in_go(value: float, text: str) -> None:
    assert number(value) == text


def test_a_counter_keeps_its_name() -> None:
    assert render([metric("counter")]) == b"# HELP x help\n# TYPE x counter\nx 1\n"


def test_label_values_and_help_are_escaped() -> None:
    text = render([metric("gauge", 'a\\b\n"c"', {"l": 'a\\b\n"c"'})])
    assert text == b'# HELP x a\\\\b\\n"c"\n# TYPE x gauge\nx{l="a\\\\b\\n\\"c\\""} 1\n'


def test_a_label_that_is_no_utf8_does_not_break_the_text() -> None:
    name = b"\xff.sh".decode(errors="surrogateescape")
    assert b'x{hook="?.sh"} 1\n' in render([metric("gauge", labels={"hook": name})])


def test_a_metric_without_series_is_left_out() -> None:
    assert render([Metric("x", "help", "gauge")]) == b""
