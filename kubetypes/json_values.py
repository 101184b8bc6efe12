"""JSON text from outside as values, within the bounds of `bounds.py`.

The parser (`orjson`) is C and takes the memory before it can be asked, so values are counted in the text: a comma or an
opening bracket stands before each. That counts some too many, those in texts; only if they are too many is the text
looked at again without its strings. Depth is judged afterwards, since `orjson` itself stops at 1,024 and at numbers
that no float holds.
"""

import re
from itertools import accumulate
from typing import Any, TypeAlias

import orjson

from kubetypes.bounds import DEPTH, DOCUMENT, TOO_DEEP, DocumentBounds, Tally, TooLarge

JSON: TypeAlias = Any
"""A value as `orjson.loads` gives it. `Any` is allowed only under this name."""

_OPENING, _CLOSING, _COMMA = b"[{", b"]}", b","
_NO_SHAPE = bytes(set(range(256)) - set(_OPENING + _CLOSING + _COMMA))
_ONE_KIND = bytes.maketrans(_OPENING + _CLOSING, b"[[]]")
_LEVEL = {ord("["): 1, ord("]"): -1}
_USUAL_DEPTH = 8
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)


def check(text: bytes | bytearray, bounds: DocumentBounds = DOCUMENT) -> None:
    """Refuse a text of one or more values that is too large. Raises TooLarge."""
    _checked_shape(text, bounds)


def loads(text: bytes | bytearray | str, bounds: DocumentBounds = DOCUMENT) -> JSON:
    """The value of a JSON text. Raises TooLarge, orjson.JSONDecodeError; both are ValueErrors."""
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    shape = _checked_shape(raw, bounds)
    value = orjson.loads(raw)
    if len(shape) > DEPTH and _is_deep(shape) and _is_deep(_STRING.sub(b"", raw).translate(None, _NO_SHAPE)):
        raise TooLarge(TOO_DEEP)
    return value


def written(value: JSON, option: int = 0) -> bytes:
    """Compact JSON to keep: `orjson.dumps`, in no more memory than it needs.

    orjson never shrinks the buffer that it has written into (https://github.com/home-assistant/core/pull/181245): with
    3.13 an object of 1 KB would hold 8 to 16 KB for as long as it lives. Raises `orjson.JSONEncodeError`.
    """
    return bytes(memoryview(orjson.dumps(value, option=option)))


def equal(one: JSON, other: JSON) -> bool:
    """Are they one JSON value? To Python `1` and `true` are equal."""
    return one is other or canonical(one) == canonical(other)


def canonical(value: JSON) -> bytes:
    """A text that is the same for equal JSON values, in whatever order their keys are."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def equal_in_value(one: JSON, other: JSON) -> bool:
    """As `equal`, but `1` is also `1.0`: as JSON Schema and people compare."""
    if one != other:
        return False
    if isinstance(one, dict):
        return all(equal_in_value(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return all(map(equal_in_value, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def with_integers(value: JSON, below: float = 2.0**63) -> JSON:
    """A value with `1.0` and `1e6` as integers, up to a bound."""
    if isinstance(value, dict):
        return {key: with_integers(item, below) for key, item in value.items()}
    if isinstance(value, list):
        return [with_integers(item, below) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < below else value


def _checked_shape(text: bytes | bytearray, bounds: DocumentBounds) -> bytes:
    """The brackets and commas of a text, those in strings perhaps included. Raises TooLarge."""
    Tally(bounds).add(len(text), 0)
    shape = bytes(text.translate(None, _NO_SHAPE))
    if _values_in(shape) > bounds.values:
        shape = _STRING.sub(b"", text).translate(None, _NO_SHAPE)
        Tally(bounds).add(0, _values_in(shape))
    return shape


def _values_in(shape: bytes) -> int:
    return 1 + shape.count(b",") + shape.count(b"[") + shape.count(b"{")


def _is_deep(shape: bytes) -> bool:
    """Whether values are nested deeper than `DEPTH`, or perhaps: if brackets have no partner, strings brought them.

    Most texts are flat: of these nothing is left when the innermost pairs have been taken away some times, which costs
    less than to count levels, and takes away one level each time. To do only that would cost a deep text its size times
    its depth."""
    brackets = shape.translate(_ONE_KIND, _COMMA)
    for _ in range(_USUAL_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    if not brackets:
        return False
    levels = [*accumulate(map(_LEVEL.__getitem__, brackets))]
    return max(levels) > DEPTH - _USUAL_DEPTH or min(levels) < 0 or levels[-1] != 0
