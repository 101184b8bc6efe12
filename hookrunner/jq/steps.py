"""What one step of a simple program does to one value: pure functions, failing where libjq fails.

Composition and everything with more or fewer outputs than one is `paths.py`'s.
"""

from collections.abc import Callable, Iterable

from hookrunner.errors import FilterFailed
from hookrunner.model.resources import JSON

One = Callable[[JSON], JSON]

NAMES = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


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
        for key, field in steps:
            value = value.get(key) if type(value) is dict else field(value)
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
