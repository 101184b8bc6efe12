"""How deep an object may be nested. A real API server takes 10,000 levels; here many functions call themselves for each
level, and the JSON encoder ends at 254.

What a client sends is checked once, when it is read, and once more after a patch, since operations can put a value into
itself. Managed fields have a few levels more than the fields that they name.
"""

from typing import Any

from kubetypes.bounds import DEPTH
from kubetypes.json_values import JSON

MOST = DEPTH
"""Levels of an object without its metadata."""
MOST_IN_METADATA = MOST + 20
WHY = f"exceeded max depth of {MOST} levels in the sandbox"


def is_too_deep(body: JSON) -> bool:
    """Has an object, or a patch, more levels than are taken?"""
    if not isinstance(body, dict):
        return _exceeds([body], MOST)
    rest = [value for key, value in body.items() if key != "metadata"]
    return _exceeds(rest, MOST) or _exceeds([body.get("metadata")], MOST_IN_METADATA)


def _exceeds(values: list[Any], limit: int) -> bool:
    """Goes down level by level, all values of one level at once: no call for each level, and a few for each object."""
    for _ in range(limit):
        values = [inner for value in values if isinstance(value, dict | list) for inner in _inside(value)]
        if not values:
            return False
    return any(isinstance(value, dict | list) for value in values)


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value
