"""How much hooks may export, and how the rest is refused. Level: pure."""

from typing import Any

import pytest

from hookrunner.metrics.hooks import HookMetrics, SampleBounds
from tests.metrics.test_hooks import lines, op
from tests.tables import each


def numbered(count: int, action: str = "set", **rest: Any) -> list[Any]:
    """Operations on so many series of one metric."""
    return [op(action, labels={"n": str(number)}, **rest) for number in range(count)]


def test_samples_beyond_the_bound_of_a_metric_are_refused_at_once() -> None:
    metrics = HookMetrics(SampleBounds(metric=3))
    (refusal_text,) = metrics.apply("h", numbered(10))
    assert "m has the most samples that --hook-metric-samples allows (3)" in refusal_text
    assert refusal_text.endswith(" (7 times)")
    assert (len(lines(metrics)), metrics.refused["h", ""]) == (3, 7)


def test_existing_series_keep_counting_at_the_bound() -> None:
    metrics = HookMetrics(SampleBounds(metric=3))
    metrics.apply("h", numbered(3, "add"))
    assert metrics.apply("h", numbered(3, "add")) == ()
    assert lines(metrics)[0] == 'm{hook="h",n="0"} 2'


def test_histogram_counts_each_of_its_lines() -> None:
    metrics = HookMetrics(SampleBounds(metric=10))
    metrics.apply("h", numbered(3, "observe", buckets=(1.0, 2.0)))
    assert len(lines(metrics)) == 10
    (refusal_text,) = metrics.apply("h", [op("observe", "many", buckets=tuple(map(float, range(1000))))])
    assert "many has the most samples" in refusal_text


def test_samples_of_all_metrics_have_a_common_bound() -> None:
    metrics = HookMetrics(SampleBounds(all=4))
    refused = metrics.apply("h", [op("set", f"m{number}") for number in range(5)])
    assert (len(lines(metrics)), metrics.samples, len(refused)) == (2, 4, 3)
    assert "--hook-metrics-samples allows (4)" in refused[0]


@each("rest", [{"group": "g"}, {}])
def test_expired_series_make_room(rest: dict[str, Any]) -> None:
    metrics = HookMetrics(SampleBounds(metric=3, all=4))
    for _ in range(3):
        assert metrics.apply("h", numbered(3, **rest)) == ()
        metrics.apply("h", [op("expire", "", **rest)])
    assert (lines(metrics), metrics.samples) == ([], 1)


def test_name_of_a_refused_metric_stays_free() -> None:
    metrics = HookMetrics(SampleBounds(metric=3))
    metrics.apply("h", [op("observe")])
    assert metrics.apply("h", [op("set"), op("set", "m_sum")]) == ()


def test_long_labels_count_for_more() -> None:
    metrics = HookMetrics(SampleBounds(metric=4))
    metrics.apply("h", [*numbered(3, group="x" * 10), op("set", labels={"n": "x" * 1100})])
    assert len(lines(metrics)) == 3


@each(
    ("name", "labels", "refusal_text"),
    [
        ("m" * 201, {}, "a name may have 200 characters, this one has 201"),
        ("m", {"l" * 201: "x"}, "a name may have 200 characters"),
        ("m", {"l": "x" * 2001}, "a label's value may have 2000 characters, that of 'l' has 2001"),
        ("m", {f"l{number}": "x" for number in range(64)}, "m would have more than 64 labels"),
    ],
)
def test_names_and_labels_have_a_length(name: str, labels: dict[str, str], refusal_text: str) -> None:
    metrics = HookMetrics()
    (refusal,) = metrics.apply("h", [op("set", name, labels=labels)])
    assert refusal_text in refusal
    assert len(refusal) < 500
    assert metrics.exposition() == b""


def test_many_labels_of_an_operation_are_refused_at_once() -> None:
    """By their number, before anything looks at each: 30,000 held the event loop for half a minute."""
    operation = op("set", labels={f"l{number}": "x" for number in range(100_000)})
    (refused,) = HookMetrics().apply("h", [operation])
    assert "m would have more than 64 labels" in refused


def test_many_buckets_are_refused_before_they_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookrunner.metrics.hooks.Buckets", None)
    (refused,) = HookMetrics().apply("h", [op("observe", buckets=(1.0,) * 10_001)])
    assert "--hook-metric-samples allows (10000)" in refused


def test_label_names_of_a_metric_are_bounded_over_all_series() -> None:
    """Each series shows all labels of its metric."""
    metrics = HookMetrics()
    refused = metrics.apply("h", [op("set", labels={f"l{number}": "x"}) for number in range(100)])
    assert (len(lines(metrics)), sum("more than 64 labels" in refusal_text for refusal_text in refused)) == (63, 1)
