"""What hooks export: actions, groups, refusals, names, and that no batch can break the scrape. Level: pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from hookrunner.metrics.hooks import HookMetrics, sanitized
from hookrunner.model.operations import MetricAction, MetricOperation
from tests.metrics.prometheus import assert_prometheus_reads
from tests.tables import each


@pytest.fixture
def metrics() -> HookMetrics:
    return HookMetrics()


def op(action: str, name: str = "m", value: float = 1.0, **rest: Any) -> MetricOperation:
    """An operation; labels as a mapping."""
    labels: Mapping[str, str] = rest.pop("labels", {})
    return MetricOperation(MetricAction(action), name, value, labels=tuple(labels.items()), **rest)


def lines(metrics: HookMetrics) -> list[str]:
    """The samples, without comments."""
    return [line for line in metrics.exposition().decode().split("\n")[:-1] if not line.startswith("#")]


def test_a_counter_adds_a_gauge_is_set_and_a_histogram_observes(metrics: HookMetrics) -> None:
    batch = [op("add", "c", 0.5), op("add", "c", 1), op("set", "g", 3), op("set", "g", -2.5)]
    assert metrics.apply("h", [*batch, op("observe", "o", 4, buckets=(5.0, 1.0)), op("observe", "o", 0.5)]) == ()
    assert lines(metrics) == [
        'c{hook="h"} 1.5',
        'g{hook="h"} -2.5',
        'o_bucket{hook="h",le="1"} 1',
        'o_bucket{hook="h",le="5"} 2',
        'o_bucket{hook="h",le="+Inf"} 2',
        'o_sum{hook="h"} 4.5',
        'o_count{hook="h"} 2',
    ]


def test_help_is_the_name_and_a_counter_keeps_it(metrics: HookMetrics) -> None:
    metrics.apply("h", [op("add", "jobs")])
    assert metrics.exposition() == b'# HELP jobs jobs\n# TYPE jobs counter\njobs{hook="h"} 1\n'


def test_ungrouped_metrics_outlive_later_runs_and_add_up(metrics: HookMetrics) -> None:
    metrics.apply("h", [op("add", "c"), op("set", "g", 7)])
    metrics.apply("h", [op("add", "c")])
    metrics.apply("h", [])
    assert lines(metrics) == ['c{hook="h"} 2', 'g{hook="h"} 7']


def test_an_ungrouped_expire_drops_the_ungrouped_metrics_of_that_hook_only(metrics: HookMetrics) -> None:
    for hook in ("a", "b"):
        metrics.apply(hook, [op("set", "g"), op("set", "in_group", group="of " + hook)])
    metrics.apply("a", [op("expire", "")])
    assert lines(metrics) == ['g{hook="b"} 1', 'in_group{hook="a"} 1', 'in_group{hook="b"} 1']


def test_each_batch_replaces_the_series_of_its_groups(metrics: HookMetrics) -> None:
    metrics.apply("h", [op("add", "c", 5, group="g", labels={"l": str(n)}) for n in range(3)])
    metrics.apply("h", [op("set", "other", group="another")])
    metrics.apply("h", [op("add", "c", 2, group="g", labels={"l": "1"})])
    assert lines(metrics) == ['c{hook="h",l="1"} 2', 'other{hook="h"} 1']


def test_a_group_is_shared_by_all_hooks(metrics: HookMetrics) -> None:
    metrics.apply("a", [op("set", group="g")])
    metrics.apply("b", [op("set", group="g")])
    assert lines(metrics) == ['m{hook="b"} 1']


def test_expire_drops_what_its_batch_wrote_before_it(metrics: HookMetrics) -> None:
    metrics.apply("h", [op("set", "a", group="g"), op("expire", "", group="g"), op("set", "b", group="g")])
    assert lines(metrics) == ['b{hook="h"} 1']


def test_label_sets_grow_and_the_operators_label_wins(metrics: HookMetrics) -> None:
    metrics.apply("h", [op("set", labels={"x": "1", "hook": "mine"})])
    metrics.apply("h", [op("set", labels={"y": "2"})])
    assert lines(metrics) == ['m{hook="h",x="1",y=""} 1', 'm{hook="h",x="",y="2"} 1']


def test_an_empty_label_is_no_label(metrics: HookMetrics) -> None:
    metrics.apply("h", [op("add", labels={"x": ""}), op("add")])
    assert lines(metrics) == ['m{hook="h"} 2']


@each(
    ("name", "shown"),
    [("m-13 x", "m_13_x"), ("{PREFIX}m22", "_PREFIX_m22"), ("9lives", "_lives"), ("ns:x", "ns:x"), ("ä", "_")],
)
def test_bad_characters_of_a_name_become_underscores(name: str, shown: str) -> None:
    assert sanitized(name) == shown


def test_labels_are_sanitised_too(metrics: HookMetrics) -> None:
    metrics.apply("h", [op("set", "m-1", labels={"a-b": "1", "c:d": "2"})])
    assert lines(metrics) == ['m_1{a_b="1",c_d="2",hook="h"} 1']


def test_buckets_are_those_of_the_first_operation_and_default_to_prometheus(metrics: HookMetrics) -> None:
    metrics.apply("h", [op("observe", "o", buckets=(2.0,)), op("observe", "o", buckets=(1.0, 3.0)), op("observe", "d")])
    bounds = [line.split('le="')[1].split('"')[0] for line in lines(metrics) if "_bucket" in line]
    assert " ".join(bounds) == "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf 2 +Inf"


@each(
    ("operation", "reason"),
    [
        (op("set", "c"), "c is a counter until a restart"),
        (op("add", "c", group="g"), "already belongs to no group"),
        (op("add", "grouped"), "already belongs to group 'first'"),
        (op("add", "c", -1), "a counter only grows"),
        (op("set", "o_sum"), "o_sum already belongs to o;"),
        (op("observe", "x"), "x_count already belongs to x_count;"),
        (op("set", labels={"a-b": "1", "a_b": "2"}), "two of its labels are called 'a_b'"),
        (op("set", labels={"__name__": "up"}), "the label '__name__' is Prometheus's own"),
        (op("observe", "o", labels={"le": "1"}), "the label 'le' is Prometheus's own"),
    ],
)
def test_a_conflict_is_refused_and_named_and_the_rest_is_applied(operation: MetricOperation, reason: str) -> None:
    metrics = HookMetrics()
    metrics.apply("h", [op("add", "c"), op("observe", "o"), op("set", "x_count"), op("add", "grouped", group="first")])
    before = lines(metrics)
    (refusal,) = metrics.apply("h", [operation, op("set", "zz")])
    assert refusal.startswith(f"metric '{operation.name}' ({operation.action}) refused: ")
    assert reason in refusal
    assert lines(metrics) == [*before, 'zz{hook="h"} 1']


def test_a_series_may_move_to_another_group_once_its_group_is_written_anew(metrics: HookMetrics) -> None:
    metrics.apply("h", [op("set", group="old")])
    assert metrics.apply("h", [op("expire", "", group="old"), op("set", value=2, group="new")]) == ()
    assert lines(metrics) == ['m{hook="h"} 2']


HOSTILE = (
    "module",
    "quantile",
    "a\0",
    "a\ufffd",
    "\ud800",
    "\ud801",
    '"} 1\r\nup 1\n',
    "a\\",
    "\u2028\x85",
    "}" * 1999,
)
WORDS = st.sampled_from(
    ["m", "m_sum", "m_count", "m-sum", "x", "hook", "le", "__x", "", "a b", "9", "ü\n", 'q"\\', *HOSTILE]
)
OPERATIONS = st.builds(
    MetricOperation,
    st.sampled_from(MetricAction),
    WORDS,
    st.floats(),
    st.lists(st.floats(allow_nan=False), max_size=3).map(tuple),
    st.dictionaries(WORDS, WORDS, max_size=3).map(lambda labels: tuple(labels.items())),
    st.sampled_from(["", "g", "g2"]),
)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(["a.sh", "b.sh"]), st.lists(OPERATIONS, max_size=6)), max_size=6))
def test_scrape_always_parses_without_duplicate_series(
    batches: list[tuple[str, list[MetricOperation]]],
) -> None:
    metrics = HookMetrics()
    for hook, operations in batches:
        metrics.apply(hook, operations)
    shown = samples(metrics)
    assert len(shown) == len({sample[:2] for sample in shown}) == len(lines(metrics))
    assert all(dict(labels)["hook"] in ("a.sh", "b.sh") for _, labels, _ in shown)
    assert_prometheus_reads(metrics.exposition().decode())


Samples = list[tuple[str, tuple[tuple[str, str], ...], str]]


def samples(metrics: HookMetrics) -> Samples:
    """Name, labels and value of each; an empty label is no label."""
    families = text_string_to_metric_families(metrics.exposition().decode())
    return [
        (s.name, tuple(sorted((k, v) for k, v in s.labels.items() if v)), str(s.value))
        for family in families
        for s in family.samples
    ]


def own(metrics: HookMetrics, hook: str) -> Samples:
    return [sample for sample in samples(metrics) if ("hook", hook) in sample[1]]


@pytest.mark.slow
@given(st.lists(OPERATIONS, max_size=6), st.lists(OPERATIONS, max_size=6), st.sampled_from(["", "m"]))
def test_no_hook_changes_series_of_another_but_by_a_common_group(
    ours: list[MetricOperation], theirs: list[MetricOperation], module: str
) -> None:
    metrics = HookMetrics()
    metrics.apply("a.sh", ours)
    before = own(metrics, "a.sh")
    metrics.apply("b.sh", [replace(operation, group="") for operation in theirs], module)
    metrics.forget_module(module or "m")
    assert own(metrics, "a.sh") == before


@given(st.lists(OPERATIONS, max_size=8))
def test_expiring_every_group_leaves_nothing(operations: list[MetricOperation]) -> None:
    metrics = HookMetrics()
    metrics.apply("h", operations)
    metrics.apply("h", [op("expire", group=group) for group in ("", "g", "g2")])
    assert metrics.exposition() == b""


def test_other_hooks_keep_series_with_the_label_of_a_forgotten_module(metrics: HookMetrics) -> None:
    """Global hooks export metrics about modules."""
    metrics.apply("g", [op("set", labels={"module": "a"}), op("set", group="x", labels={"module": "a"}, name="n")])
    metrics.apply("h", [op("set")], "a")
    metrics.forget_module("a")
    assert {*lines(metrics)} == {'m{hook="g",module="a"} 1', 'n{hook="g",module="a"} 1'}


def test_values_that_are_shown_alike_are_one_series(metrics: HookMetrics) -> None:
    """Prometheus' lexer ends at NUL: one such value would hide the metrics of all hooks."""
    metrics.apply("h", [op("add", labels={"l": value}) for value in ("a\0b", "a\ufffdb", "\ud800", "\ud801")])
    assert lines(metrics) == ['m{hook="h",l="?"} 2', 'm{hook="h",l="a\ufffdb"} 2']
    assert_prometheus_reads(metrics.exposition().decode())


def test_forgotten_module_takes_its_series_with_it_also_those_in_groups(metrics: HookMetrics) -> None:
    for module in ("a", "b"):
        metrics.apply("h", [op("set", "free"), op("set", "in_group", group=module), op("add", "free", -1)], module)
    metrics.forget_module("a")
    assert {*lines(metrics)} == {'free{hook="h",module="b"} 1', 'in_group{hook="h",module="b"} 1'}
    assert ([*metrics.refused], metrics.samples) == ([("h", "b")], 4)
    metrics.forget_module("b")
    assert (lines(metrics), metrics.samples) == ([], 2)


@pytest.mark.slow
def test_many_operations_are_applied_in_steps_with_the_same_result() -> None:
    operations = [op("add", labels={"n": str(number % 100)}) for number in range(10_000)] + [op("add", value=-1)]
    whole, stepped = HookMetrics(), HookMetrics()
    refusals = whole.apply("a.sh", operations)
    *pauses, last = stepped.apply_in_steps("a.sh", operations)
    assert (len(pauses) > 2, last, lines(stepped)) == (True, refusals, lines(whole))
