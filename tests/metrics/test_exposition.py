"""The text format: names as declared, escaping, numbers as Go prints them. Level: pure."""

from prometheus_client.parser import text_string_to_metric_families

from hookrunner.metrics.exposition import family, label_text, line, number, pieces
from hookrunner.metrics.names import Metrics
from tests.metrics.prometheus import assert_prometheus_reads
from tests.tables import each


@each(
    ("value", "text"),
    [
        (1.0, "1"),
        (0, "0"),
        (-7.0, "-7"),
        (999999.0, "999999"),
        (0.005, "0.005"),
        (10, "10"),
        (2.5, "2.5"),
        (1e6, "1e+06"),
        (1234567.0, "1.234567e+06"),
        (-1e6, "-1e+06"),
        (123456789012.5, "1.234567890125e+11"),
        (1e16, "1e+16"),
        (1.5e-05, "1.5e-05"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
        (-0.5, "-0.5"),
    ],
)
def test_numbers_look_as_in_go(value: float, text: str) -> None:
    assert number(value) == text


def test_a_counter_keeps_its_name() -> None:
    assert "".join(family("x", "help", "counter", [line("x", "", 1)])) == "# HELP x help\n# TYPE x counter\nx 1\n"


def test_label_values_are_escaped() -> None:
    assert line("x", label_text([("l", 'a\\b\n"c"'), ("m", "")]), 2) == 'x{l="a\\\\b\\n\\"c\\"",m=""} 2\n'


def test_names_of_hooks_queues_and_bindings_break_no_line() -> None:
    metrics = Metrics("")
    for name in ('"} 1\nup 1', "a\\", "NUL \0", "\r\u2028\x85", b"\xff.sh".decode(errors="surrogateescape"), "{}#,="):
        metrics.hook_runs.seconds.observe(1, name, name, name)
        metrics.module_hook_runs.seconds.observe(1, name, name, name, name, name)
        metrics.hook_metrics_refused.inc(name, name)
    page = metrics.exposition().decode()
    assert_prometheus_reads(page)
    found = {
        sample.labels["hook"]
        for f in text_string_to_metric_families(page)
        for sample in f.samples
        if "hook" in sample.labels
    }
    assert found == {'"} 1\nup 1', "a\\", "NUL \ufffd", "\r\u2028\x85", "?.sh", "{}#,="}


def test_help_is_escaped_but_for_quotes() -> None:
    assert "".join(family("x", 'a\\b\n"c"', "gauge", ["x 1\n"])).splitlines()[0] == '# HELP x a\\\\b\\n"c"'


def test_a_label_that_is_no_utf8_does_not_break_the_text() -> None:
    assert list(pieces(["x", b"\xff.sh".decode(errors="surrogateescape")])) == [b"x?.sh"]


def test_a_metric_without_series_is_left_out() -> None:
    assert list(family("x", "help", "gauge", [])) == []


def test_a_long_text_comes_in_pieces() -> None:
    parts = list(pieces(["x" * 10_000] * 20))
    assert (len(parts), max(map(len, parts)) < 80_000, sum(map(len, parts))) == (3, True, 200_000)
