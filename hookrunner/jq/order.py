"""jq's order of JSON values: null < false < true < numbers < strings < arrays < objects. Pure.

Python's own comparison will not do: there `True == 1`, and a float beyond 2^53 is not the number that its digits say.

Source: https://jqlang.org/manual/#sort-sort_by
"""

from decimal import Decimal
from typing import Any

RANK: dict[type, int] = {type(None): 0, int: 3, float: 3, str: 4, list: 5, dict: 6}
EXACT = 2**53


def rank(value: Any) -> int:
    """The place of a value's kind in the order. `value` is what `orjson.loads` returns."""
    if value is True:
        return 2
    return 1 if value is False else RANK[type(value)]


def compare(left: Any, right: Any) -> int:
    """Negative, zero or positive, as `left` is before, equal to or after `right`."""
    kind, other = rank(left), rank(right)
    if kind != other:
        return kind - other
    if kind == 3:
        return _numbers(left, right)
    if kind == 4:
        return _either(left, right)
    if kind == 5:
        return _arrays(left, right)
    return _objects(left, right) if kind == 6 else 0


def _either(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _numbers(left: int | float, right: int | float) -> int:
    """libjq compares numbers that it only read by their digits."""
    if type(left) is type(right) or (abs(left) < EXACT and abs(right) < EXACT):
        return _either(left, right)
    return _either(Decimal(repr(left)), Decimal(repr(right)))


def _arrays(left: list[Any], right: list[Any]) -> int:
    for one, two in zip(left, right, strict=False):
        if order := compare(one, two):
            return order
    return len(left) - len(right)


def _objects(left: dict[str, Any], right: dict[str, Any]) -> int:
    keys = sorted(left)
    if order := _arrays(keys, sorted(right)):
        return order
    return next((order for key in keys if (order := compare(left[key], right[key]))), 0)
