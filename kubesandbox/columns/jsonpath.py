"""The JSON paths of `additionalPrinterColumns`, in client-go's dialect: `.spec.parts[?(@.name=="a")].size`.

Fields (with `\\.` for a dot in a name), wildcards, indexes and slices, unions, recursive descent and filters. A path is
read once and asked many times. Neither ranges nor text around the braces: a column has one expression.

https://kubernetes.io/docs/reference/kubectl/jsonpath/
"""

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

Step = Callable[[list[Any]], list[Any]]

FIELD = re.compile(r"\.((?:\\.|[^\s.,\[\]$@{}\\])*)", re.DOTALL)
ARRAY = re.compile(r"\[([^\]\n]*)\]")
FILTER = re.compile(r"\[\?\(((?:[^\"')\n]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')*)\)\]")
QUOTED = re.compile(r"\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'")
NUMBER = re.compile(r"[+-]?\d[\d.]*")
WORD = re.compile(r"[^\s.,\[\]$@{}]+")
KEY = re.compile(r"'([^']*)'")
SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


class PathError(ValueError):
    """A path cannot be read, or an object is not of the shape that it asks for."""


@dataclass(frozen=True, slots=True)
class Path:
    """A path that was read."""

    steps: tuple[Step, ...]

    def find(self, value: JSON) -> list[Any]:
        """What is at the path; empty if nothing is. Raises `PathError` where the real one gives up."""
        try:
            return self.from_each([value])
        except RecursionError:
            raise PathError("too deep") from None

    def from_each(self, values: list[Any]) -> list[Any]:
        """What is at the path in each of several values."""
        for step in self.steps:
            values = step(values)
        return values


def parse(text: str) -> Path:
    """Read a path, without braces. Raises `PathError`."""
    try:
        return Path(tuple(_steps(text)))
    except PathError:
        raise
    except (ValueError, RecursionError) as error:
        raise PathError(f"cannot read the path {text[:100]}: {error}") from None


def _steps(text: str) -> Iterator[Step]:
    rest, before = text, None
    while rest:
        if rest[0] in " @$":
            rest = rest[1:]
            continue
        step, length = _next(rest)
        if step is before is _recursive:
            raise PathError("invalid multiple recursive descent")
        yield step
        rest, before = rest[length:], step


def _next(rest: str) -> tuple[Step, int]:
    """The first step of what is left, and how long it is."""
    if rest.startswith(".."):
        # The name that follows is a step of its own; its dot is the second of the two.
        return _recursive, 1 if rest[2:3].isalnum() or rest[2:3] == "_" else 2
    for pattern, step in READ:
        if match := pattern.match(rest):
            return step(match), match.end()
    raise PathError(f"cannot read the path at {rest!r}")


def _field(match: re.Match[str]) -> Step:
    if match[1] == "*":
        return _wildcard
    key = match[1].replace("\\", "")
    return lambda values: [value[key] for value in values if isinstance(value, dict) and key in value]


def _wildcard(values: list[Any]) -> list[Any]:
    return [one for value in values for one in _inside(value)]


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _recursive(values: list[Any]) -> list[Any]:
    """Everything that has something inside, the outer before the inner."""
    found = []
    for value in values:
        if inside := _inside(value):
            found += [value, *_recursive(inside)]
    return found


def _array(match: re.Match[str]) -> Step:
    text = ":" if match[1] == "*" else match[1]
    if "," in text:
        paths = [parse(f"[{one.strip()}]") for one in text.split(",")]
        return lambda values: [found for path in paths for found in path.from_each(values)]
    if key := KEY.fullmatch(text):
        return parse(f".{key[1]}").from_each
    if bounds := SLICE.fullmatch(text):
        return _slice(*bounds.groups())
    raise PathError(f"invalid array index {text}")


def _slice(first: str, last: str | None, step: str | None) -> Step:
    """`[0]`, `[-1]`, `[1:3]`, `[::2]`; what is outside of the list is an error."""
    start = int(first) if first else 0
    end = int(last[1:]) if last and last[1:] else None if last else start + 1
    stride = int(step[1:]) if step and step[1:] else 1

    def cut(values: list[Any]) -> list[Any]:
        return [one for value in values if value is not None for one in _cut(value, start, end, stride, not last)]

    return cut


def _cut(value: Any, start: int, end: int | None, stride: int, single: bool) -> list[Any]:
    if not isinstance(value, list):
        raise PathError("not a list")
    length = len(value)
    start = start + length if start < 0 else start
    end = length if end is None else end
    end = end + length if end < 0 or (end == 0 and single) else end
    if start == end:
        return []
    if not (0 <= start < length and 0 <= end <= length and start <= end and stride > 0):
        raise PathError("index out of bounds")
    return value[start:end:stride]


def _filter(match: re.Match[str]) -> Step:
    parts = COMPARISON.fullmatch(match[1])
    if parts is None:
        wanted = parse(match[1])
        return lambda values: [one for one in _elements(values) if wanted.find(one)]
    if parts[2] not in COMPARE:
        raise PathError(f"unrecognized filter operator {parts[2]}")
    left, right, compare = parse(parts[1]), parse(parts[3]), COMPARE[parts[2]]
    return lambda values: [one for one in _elements(values) if _passes(left.find(one), right.find(one), compare)]


def _elements(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if not isinstance(value, list):
            raise PathError("only lists can be filtered")
        yield from value


def _passes(left: list[Any], right: list[Any], compare: Callable[[Any, Any], bool]) -> bool:
    if not left or not right:
        return False
    if len(left) > 1 or len(right) > 1 or type(left[0]) is not type(right[0]):
        raise PathError("incompatible values to compare")
    ordered = compare not in (operator.eq, operator.ne)
    if not isinstance(left[0], str | int | float) or (ordered and isinstance(left[0], bool)):
        raise PathError("values that cannot be compared")
    return compare(left[0], right[0])


def _quoted(match: re.Match[str]) -> Step:
    text = re.sub(r"\\(.)", r"\1", match[1] if match[1] is not None else match[2])
    return lambda _: [text]


def _number(match: re.Match[str]) -> Step:
    try:
        value = float(match[0]) if "." in match[0] else int(match[0])
    except ValueError:
        raise PathError(f"cannot parse number {match[0]}") from None
    return lambda values: [value] * len(values)


def _word(match: re.Match[str]) -> Step:
    """`true` and `false`; other words only mean something in templates."""
    if match[0] not in ("true", "false"):
        raise PathError(f"unrecognized identifier {match[0]}")
    value = match[0] == "true"
    return lambda values: [value] * len(values)


READ: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Step]], ...] = (
    (FILTER, _filter),
    (ARRAY, _array),
    (FIELD, _field),
    (QUOTED, _quoted),
    (NUMBER, _number),
    (WORD, _word),
)
