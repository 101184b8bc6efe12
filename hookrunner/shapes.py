"""Checks a JSON value against a table of what it may be, and collects every problem instead of stopping at the first.

The tables are where the values are read: `hooks/config/schema.py`, `hooks/patches.py`, `modules/traits.py` and others.
Paths carry indices (`kubernetes[0].kind`). The words that shell-operator's own tests look for are kept (`must be of
type X: "Y"`, `is a forbidden property`, `is required`, `should be one of [A B]`); what to do about it follows. A value
is never quoted: it may be a password that stands in the wrong place.

Own code because importing `jsonschema` alone takes 90 ms of a start whose budget for 200 hooks is 500 ms.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches
from itertools import islice
from typing import TypeAlias

from hookrunner import redaction
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """A text, one of `choices` if there are any."""

    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number, also written as `1.0` or `1e3`, within both bounds."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """Any number."""


@dataclass(frozen=True, slots=True)
class Many:
    """A list of `item`. With `at_most`, a longer list is one problem: its items are not looked at."""

    item: "Shape"
    at_least: int = 1
    at_most: int | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """A mapping of any keys to texts."""


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping of known keys. `required` names keys with an example each; `open` lets unknown keys pass. `elsewhere`
    has keys that are known in other places, and where."""

    keys: Mapping[str, "Shape"]
    required: Mapping[str, str] = field(default_factory=dict)
    at_least: int = 0
    open: bool = False
    elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnyValue:
    """Any value: what it may be is known elsewhere."""


MOST_PROBLEMS = 100
"""A message names no more: what comes from outside may have a hundred thousand."""

Shape: TypeAlias = Text | Flag | Integer | Number | Many | Texts | Table | AnyValue

TEXT, FLAG, INTEGER, NUMBER, TEXTS, ANY_VALUE = Text(), Flag(), Integer(), Number(), Texts(), AnyValue()

_TYPES: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_EXPECTED: dict[type, tuple[str, str]] = {
    Text: ("string", "write a text, in quotes if it looks like something else"),
    Flag: ("boolean", "write true or false without quotes"),
    Integer: ("integer", "write a whole number without quotes"),
    Number: ("number", "write a number without quotes"),
    Many: ("array", "write a list: [a, b]"),
    Texts: ("object", "write keys with texts: {key: text}"),
    Table: ("object", "write keys with values: {key: value}"),
}
"""The type of each shape, and what to write."""
_VALUES: dict[type, type] = {Text: str, Flag: bool, Many: list, Texts: dict, Table: dict, AnyValue: object}
"""What a value of each shape is, but for numbers."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at a path. `str` is the line for the user, without the value: that is for a tool which shows an
    author their own file."""

    path: str
    text: str
    value: JSON = None

    def __str__(self) -> str:
        return f"{self.path} {self.text}".strip()


def lenient(value: JSON, shape: Shape) -> JSON:
    """The value as a decoder without a schema reads it: nulls are left out, numbers and booleans become texts
    where texts are expected. Other values stay as they are, for `check` to report."""
    match shape, value:
        case Text(), bool() | int() | float():
            return str(value).lower() if isinstance(value, bool) else str(value)
        case Texts(), dict():
            return {key: lenient(item, TEXT) for key, item in value.items() if item is not None}
        case Table(keys), dict():
            return {k: lenient(item, keys[k]) if k in keys else item for k, item in value.items() if item is not None}
        case Many(item=inner), list():
            return [lenient(item, inner) for item in value if item is not None]
    return value


def check(value: JSON, shape: Shape, path: str = "") -> Iterator[Problem]:
    """Every way in which the value is not what the shape says; of very many the first ones, and that there are more."""
    found = _check(value, shape, path)
    yield from islice(found, MOST_PROBLEMS)
    if next(found, None) is not None:
        yield Problem("", "has more problems than these; correct these first")


def _check(value: JSON, shape: Shape, path: str) -> Iterator[Problem]:
    if not _is(value, shape):
        (wanted, advice), actual = _EXPECTED[type(shape)], _TYPES.get(type(value), "object")
        text = f'must be of type {wanted}: "{actual}"; {_type_advice(value, shape) or advice}'
        yield Problem(path, text + (", or leave the key out" if value is None else ""))
        return
    match shape:
        case Table():
            yield from _table(value, shape, path)
        case Text(choices):
            if choices and value not in choices:
                yield Problem(path, f"should be one of [{' '.join(choices)}]{suggestion(value, choices)}", value)
        case Integer(low, high):
            yield from _bounds(value, low, high, path)
        case Many():
            yield from _many(value, shape, path)
        case Texts():
            for key, item in value.items():
                yield from _check(item, TEXT, f"{path}.{redaction.key(key)}")


def unknown_keys(value: JSON, shape: Shape) -> Iterator[str]:
    """The keys that tables with known keys let pass, as paths, each with what may have been meant; of very many the
    first ones."""
    return islice(_unknown_keys(value, shape, ""), MOST_PROBLEMS)


def _unknown_keys(value: JSON, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(shape, Many) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_keys(item, shape.item, f"{path}[{index}]")
    if isinstance(shape, Table) and shape.keys and isinstance(value, dict):
        prefix = f"{path}." if path else ""
        for key in (key for key in value if key not in shape.keys):
            yield f"{prefix}{redaction.key(key)}{suggestion(key, shape.keys)}"
        for key in (key for key in value if key in shape.keys):
            yield from _unknown_keys(value[key], shape.keys[key], prefix + key)


_LONGEST_WORD = 100
"""A longer one is no name that was misspelled."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` if a known word is close, else nothing."""
    if len(word) > _LONGEST_WORD:
        return ""
    words = list(known)
    near = get_close_matches(word.lower(), [item.lower() for item in words], n=1)
    match = next((item for item in words if near and item.lower() == near[0]), None)
    return f"; did you mean '{match}'?" if match else ""


def _is(value: JSON, shape: Shape) -> bool:
    if kind := _VALUES.get(type(shape)):
        return isinstance(value, kind)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (isinstance(shape, Number) or isinstance(value, int) or value.is_integer())


def _type_advice(value: JSON, shape: Shape) -> str:
    """What to write that is better than what all shapes of this type have; empty if there is nothing better."""
    match shape:
        case Many(Text()) if isinstance(value, str):
            return "write a list of one text: [a]"
        case Table(required=required) if required:
            return f"write {{{', '.join(f'{key}: {example}' for key, example in required.items())}}}"
    return ""


def _advice(key: str, shape: Table) -> str:
    if key in shape.elsewhere:
        return shape.elsewhere[key]
    return suggestion(key, shape.keys).removeprefix("; ") or f"known are {', '.join(shape.keys)}"


def _bounds(value: JSON, low: int | None, high: int | None, path: str) -> Iterator[Problem]:
    if low is not None and value < low:
        yield Problem(path, f"must be at least {low}", value)
    if high is not None and value > high:
        yield Problem(path, f"must be at most {high}", value)


def _many(value: list[JSON], shape: Many, path: str) -> Iterator[Problem]:
    if len(value) < shape.at_least:
        yield Problem(path, f"should have at least {shape.at_least} items; add one, or leave the key out")
    if shape.at_most is not None and len(value) > shape.at_most:
        yield Problem(path, f"should have at most {shape.at_most} items, and has {len(value)}; leave some out")
        return
    for index, item in enumerate(value):
        yield from _check(item, shape.item, f"{path}[{index}]")


def _table(value: dict[str, JSON], shape: Table, path: str) -> Iterator[Problem]:
    prefix = f"{path}." if path else ""
    for key, item in value.items():
        if key in shape.keys:
            yield from _check(item, shape.keys[key], prefix + key)
        elif not shape.open:
            yield Problem(prefix + redaction.key(key), f"is a forbidden property; {_advice(key, shape)}")
    for key, example in shape.required.items():
        if key not in value:
            yield Problem(prefix + key, f"is required; add it, for example `{key}: {example}`")
    if len(value) < shape.at_least:
        text = f"should have at least {shape.at_least} properties; known are {', '.join(shape.keys)}"
        yield Problem(path or "the configuration", text)
