"""JSON text from outside as values, within the bounds of `bounds.py`.

The parser (`orjson`) is C and takes the memory before it can be asked, so values are counted in the text: a comma or an
opening bracket stands before each. That counts some too many, those in texts; only if they are too many is the text
looked at again without its strings. Depth is judged afterwards, since `orjson` itself stops at 1,024 and at numbers
that no float holds.
"""

import re

import orjson

from hookrunner.bounds import DEPTH, DOCUMENT, TOO_DEEP, Bounds, Tally, TooLarge
from hookrunner.model.resources import JSON

_OPENING, _CLOSING, _COMMA = b"[{", b"]}", b","
_NO_SHAPE = bytes(set(range(256)) - set(_OPENING + _CLOSING + _COMMA))
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)


def check(text: bytes | bytearray, bounds: Bounds = DOCUMENT) -> None:
    """Refuse a text of one or more values that is too large. Raises TooLarge."""
    _checked_shape(text, bounds)


def loads(text: bytes | bytearray | str, bounds: Bounds = DOCUMENT) -> JSON:
    """The value of a JSON text. Raises TooLarge, orjson.JSONDecodeError; both are ValueErrors."""
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    shape = _checked_shape(raw, bounds)
    value = orjson.loads(raw)
    if len(shape) > DEPTH and _is_deep(shape) and _is_deep(_STRING.sub(b"", raw).translate(None, _NO_SHAPE)):
        raise TooLarge(TOO_DEEP)
    return value


def _checked_shape(text: bytes | bytearray, bounds: Bounds) -> bytes:
    """The brackets and commas of a text, those in strings perhaps included. Raises TooLarge."""
    Tally(bounds).add(len(text), 0)
    shape = bytes(text.translate(None, _NO_SHAPE))
    if len(shape) > bounds.values:
        shape = _STRING.sub(b"", text).translate(None, _NO_SHAPE)
        Tally(bounds).add(0, 1 + len(shape) - shape.count(b"]") - shape.count(b"}"))
    return shape


def _is_deep(shape: bytes) -> bool:
    """Whether brackets remain when the innermost pairs have been taken away as often as values may be nested."""
    brackets = shape.translate(None, _COMMA)
    for _ in range(DEPTH):
        before = len(brackets)
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(brackets) == before:  # nothing is left, or what strings brought
            break
    return bool(brackets)
