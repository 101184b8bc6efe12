"""jq's total order, pair by pair; test_compiler.py compares it with libjq. Level: pure."""

from itertools import combinations
from typing import Any

from hookrunner.jq.filters import compare
from tests.tables import each

ASCENDING: list[Any] = [
    None,
    False,
    True,
    -1,
    0,
    0.5,
    2**53,
    2**53 + 1,
    1.2345678901234568e17,
    "",
    "a",
    "ab",
    "é",
    "\U0001f600",
    [],
    [0],
    [0, None],
    [1],
    {},
    {"a": 1},
    {"a": 2},
    {"a": 1, "b": 0},
    {"b": 0},
]


@each(("smaller", "greater"), list(combinations(ASCENDING, 2)))
def test_values_are_ordered_as_jq_orders_them(smaller: Any, greater: Any) -> None:
    assert compare(smaller, greater) < 0 < compare(greater, smaller)


@each(("left", "right"), [(1, 1.0), (0, -0.0), ({"a": 1, "b": [2]}, {"b": [2], "a": 1}), (10**17, 1e17), (None, None)])
def test_equal_values_are_equal(left: Any, right: Any) -> None:
    assert compare(left, right) == 0
