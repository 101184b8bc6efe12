"""A compiled program (`Filter`) and what a simple one does to each object: its steps, and jq's order of values. Steps
are pure functions that fail where libjq fails; `compiler.py` composes them.

The order is null < false < true < numbers < strings < arrays < objects. Python's own comparison would be wrong: there
`True == 1`, and a float beyond 2^53 is not the number that its digits say.

Source: https://jqlang.org/manual/#sort-sort_by
"""

from collections.abc import Callable, Iterable
from dataclasses import field
from decimal import Decimal
from typing import Any

import orjson

from hookrunner.errors import FilterFailed
from kubetypes.json_values import JSON, written
from kubetypes.light_dataclasses import dataclass

One = Callable[[JSON], JSON]
Many = Callable[[JSON], Iterable[JSON]]


@dataclass(frozen=True, slots=True)
class Filter:
    """A program that compiles. `Jq.compile` makes it."""

    program: str
    _outputs: Many | None = field(default=None, repr=False, compare=False)

    @property
    def simple(self) -> bool:
        """Whether it runs in this process."""
        return self._outputs is not None

    def apply_now(self, obj: JSON) -> bytes:
        """The result for one object: `null` for no output, the output if it is one, else the array of all.

        Raises `FilterFailed`; ValueError if the program is not simple.
        """
        outputs = self.outputs_now(obj)
        return _written(outputs[0] if len(outputs) == 1 else outputs or None)

    def outputs_now(self, obj: JSON) -> list[JSON]:
        """The outputs, which share parts with `obj`. Raises as `apply_now`."""
        if self._outputs is None:
            raise ValueError(f"not a simple program: {self.program}")
        try:
            return list(self._outputs(obj))
        except RecursionError:
            raise FilterFailed("the object is nested too deeply") from None


def _written(value: JSON) -> bytes:
    try:
        text = written(value, orjson.OPT_SORT_KEYS)
        # Two spellings, as orjson's versions have it.
        if b"e+16" in text or b"e16" in text:
            text = written(_spelled(value), orjson.OPT_SORT_KEYS)
        return text
    except orjson.JSONEncodeError as error:
        raise FilterFailed(f"the result cannot be written as JSON: {error}") from None


def _spelled(value: JSON) -> JSON:
    """libjq writes a float of 17 digits before the point, such as 1.2345678901234568e16, as an integer."""
    if isinstance(value, dict):
        return {key: _spelled(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_spelled(part) for part in value]
    if isinstance(value, float) and Decimal(repr(value)).as_tuple().exponent == 0:
        return int(Decimal(repr(value)))
    return value


NAMES = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """A compiled part of a program.

    `many` yields the outputs for one input; `one` is set where there is exactly one. `copies` bounds how often a piece
    of the input can be in the outputs. `builds`: an object may be constructed; `visits`: an object's order may be seen;
    `fixed`: a constant.
    """

    many: Many
    one: One | None = None
    copies: int = 1
    builds: bool = False
    visits: bool = False
    fixed: bool = False


def single(one: One, *parts: CompiledStep) -> CompiledStep:
    """A step with exactly one output, made of `parts`."""
    return joined(lambda value: (one(value),), parts, one)


def joined(many: Many, parts: Iterable[CompiledStep], one: One | None = None) -> CompiledStep:
    parts = tuple(parts)
    copies = max(1, sum(part.copies for part in parts))
    return CompiledStep(many, one, copies, any(part.builds for part in parts), any(part.visits for part in parts))


def truth(value: JSON) -> bool:
    return value is not None and value is not False


def index(key: str | int) -> One:
    return _field(key) if isinstance(key, str) else _element(key)


def _field(key: str) -> One:
    def field(value: JSON) -> JSON:
        if type(value) is dict:
            return value.get(key)
        if value is None:
            return None
        raise FilterFailed(f"Cannot index {NAMES[type(value)]} with {_quoted(key)}")

    return field


def _element(position: int) -> One:
    def element(value: JSON) -> JSON:
        if type(value) is list:
            return value[position] if -len(value) <= position < len(value) else None
        if value is None:
            return None
        raise FilterFailed(f"Cannot index {NAMES[type(value)]} with {_quoted(position)}")

    return element


def _quoted(key: str | int) -> str:
    return f'string ("{key}")' if isinstance(key, str) else f"number ({key})"


def path(keys: tuple[str, ...]) -> One:
    """`.a.b.c` in one loop: what most filters are made of."""
    steps = tuple((key, _field(key)) for key in keys)

    def walk(value: JSON) -> JSON:
        for key, read in steps:
            value = value.get(key) if type(value) is dict else read(value)
        return value

    return walk


def section(start: int | None, stop: int | None) -> One:
    def part(value: JSON) -> JSON:
        if type(value) in (list, str):
            return value[start:stop]
        if value is None:
            return None
        raise FilterFailed(f"Cannot index {NAMES[type(value)]} with object")

    return part


def members(value: JSON) -> Iterable[JSON]:
    if type(value) is list:
        return value
    if type(value) is dict:
        return [value[key] for key in sorted(value)]
    raise FilterFailed(f"Cannot iterate over {NAMES[type(value)]}")


def has(key: str | int) -> One:
    kind = dict if isinstance(key, str) else list

    def has(value: JSON) -> JSON:
        if type(value) is kind:
            return key in value if isinstance(key, str) else key < len(value)
        if value is None:
            return False
        raise FilterFailed(f"Cannot check whether {NAMES[type(value)]} has {_quoted(key)}")

    return has


def _keys(value: JSON) -> JSON:
    if type(value) is dict:
        return sorted(value)
    if type(value) is list:
        return list(range(len(value)))
    raise FilterFailed(f"{NAMES[type(value)]} has no keys")


def _length(value: JSON) -> JSON:
    if type(value) in (dict, list, str):
        return len(value)
    if type(value) in (int, float):
        return abs(value)
    if value is None:
        return 0
    raise FilterFailed(f"{NAMES[type(value)]} has no length")


PLAIN_CALLS: dict[str, One] = {
    "keys": _keys,
    "length": _length,
    "not": lambda value: not truth(value),
    "type": lambda value: NAMES[type(value)],
}


RANK: dict[type, int] = {type(None): 0, int: 3, float: 3, str: 4, list: 5, dict: 6}
EXACT = 2**53


def rank(value: Any) -> int:
    """The rank of a value's kind in the order. `value` is what `orjson.loads` returns."""
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
    for item, other in zip(left, right, strict=False):
        if order := compare(item, other):
            return order
    return len(left) - len(right)


def _objects(left: dict[str, Any], right: dict[str, Any]) -> int:
    keys = sorted(left)
    if order := _arrays(keys, sorted(right)):
        return order
    return next((order for key in keys if (order := compare(left[key], right[key]))), 0)
