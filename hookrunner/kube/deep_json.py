"""Parses JSON of the API server that orjson has refused because it is nested too deep.

    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = deep_json.parse(body)   # raises orjson.JSONDecodeError for what is not JSON

The API server takes objects of 10,000 levels in kinds that keep unknown fields; orjson reads 1,024, and Python compares
hardly more. One such object in a list would hide all others of its kind from hookrunner. So what lies deeper is cut
off: the object is still deeper than any document that hookrunner writes, and readers refuse that one object. The search
costs less than a second for the largest object that there can be.
"""

import re

import orjson

from kubetypes.json_values import JSON

LEVELS = 300
"""How deep a value is read that orjson does not take."""

_PARTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)
_OPENING, _CLOSING = b"[{", b"]}"


def parse(text: bytes) -> JSON:
    """The value, with `null` for maps and lists that are nested too deep. Raises orjson.JSONDecodeError."""
    return orjson.loads(_cut(text))


def _cut(text: bytes) -> bytes:
    kept: list[bytes] = []
    begin = depth = 0
    for part in _PARTS.finditer(text):
        at = part.start()
        if text[at] in _OPENING:
            depth += 1
            if depth == LEVELS + 1:
                kept += (text[begin:at], b"null")
        elif text[at] in _CLOSING:
            if depth == LEVELS + 1:
                begin = part.end()
            depth -= 1
    return b"".join((*kept, text[begin:]))
