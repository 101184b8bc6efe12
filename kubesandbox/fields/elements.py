"""Path elements: how one element of a list is distinguished from the others, how it is written, ordered and shown.

They are kept as they stand in `fieldsV1` (`f:name`, `k:{"port":80}`, `v:"a"`). JSON in them is written as Go's encoder
does it, with `<`, `>` and `&` escaped.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import orjson

from kubesandbox.fields.shapes import Shape
from kubetypes.field_sets import SELF, Fields, Path, member
from kubetypes.json_values import JSON

ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
KINDS = {"f": 0, "k": 1, "v": 2, "i": 3}


class NoElement(ValueError):
    """An element of a list cannot be identified: it has no keys, or is a value of a forbidden type."""


def element(item: JSON, shape: Shape) -> str:
    """The path element of one item of a list of type `map` or `set`. Raises `NoElement`."""
    if not shape.keys:
        return _of_set(item)
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise NoElement(f"associative list with keys may not have {what}")
    parts = []
    for key in shape.keys:
        value = item.get(key)
        if value is None and key not in item:
            value = shape.key_defaults.get(key)
            if value is None:
                continue
        parts.append(f'"{key}":{written(value)}')
    if not parts:
        names = " ".join(f'"{key}"' for key in shape.keys)
        why = "(and doesn't have default values for any key fields)"
        raise NoElement(f"associative list with keys has an element that omits all key fields [{names}] {why}")
    return f"k:{{{','.join(parts)}}}"


def _of_set(item: JSON) -> str:
    if isinstance(item, dict):
        raise NoElement("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise NoElement("not supported: associative list with lists as elements")
    if item is None:
        raise NoElement("associative list without keys has an element that's an explicit null")
    return f"v:{written(item)}"


def written(value: JSON) -> str:
    """JSON as Go writes it."""
    if isinstance(value, str):
        return _text(value)
    return _number(value) if isinstance(value, float) else _json(value)


@lru_cache(maxsize=16384)
def _text(value: str) -> str:
    """The same few names stand in all keys."""
    return _json(value)


def _json(value: JSON) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode().translate(ESCAPED)


def _number(value: float) -> str:
    """Go's shortest form: no `.0`, exponents only for the very small and the very large."""
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    if "e" not in text or abs(value) >= 1e21 or abs(value) < 1e-6:
        return text
    return f"{value:f}".rstrip("0")


def canonical(key: str) -> str | None:
    """A path element that a client wrote, as the API server writes it; None if it cannot be read."""
    kind, value = key[:2], key[2:]
    if kind == "f:" or key == ".":
        return key
    if kind == "i:":
        return key if value.lstrip("-").isdigit() else None
    try:
        parsed = orjson.loads(value)
    except ValueError:
        return None
    if kind == "v:":
        return f"v:{written(parsed)}"
    return f"k:{written(parsed)}" if kind == "k:" and isinstance(parsed, dict) else None


@lru_cache(maxsize=4096)
def order(key: str) -> tuple[Any, ...]:
    """Sorts path elements: fields, list elements by their keys, set elements, indexes."""
    kind, _, value = key.partition(":")
    if kind == "k":
        return (1, [(name, _rank(one)) for name, one in sorted(orjson.loads(value).items())])
    if kind in ("v", "i"):
        return (KINDS[kind], _rank(orjson.loads(value)))
    return (0, value) if kind == "f" else (-1,)


def _rank(value: JSON) -> tuple[int, Any]:
    """Numbers before texts before booleans, as structured-merge-diff has it."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    return (1, value) if isinstance(value, str) else (3, written(value))


@lru_cache(maxsize=4096)
def shown(key: str) -> str:
    """A path element in a message: `.name`, `[port=80,protocol="TCP"]`, `[="a"]`."""
    kind, _, value = key.partition(":")
    if kind == "f":
        return f".{value}"
    if kind == "i":
        return f"[{value}]"
    parsed = orjson.loads(value)
    if kind == "v":
        return f"[={_plain(parsed)}]"
    return f"[{','.join(f'{name}={_plain(one)}' for name, one in sorted(parsed.items()))}]"


def _plain(value: JSON) -> str:
    return orjson.dumps(value).decode() if not isinstance(value, float) else _number(value)


def paths(fields: Fields, above: Path = ()) -> Iterator[Path]:
    """Every path: at each place first the members, then what is below, both in the order of path elements."""
    keys = sorted((key for key in fields if key != SELF), key=order)
    yield from ((*above, key) for key in keys if member(fields[key]))
    for key in keys:
        yield from paths(fields[key], (*above, key))


def ordered(fields: Fields) -> Fields:
    """The same set with its keys in the order in which the API server writes them."""
    if len(fields) < 2:
        return {key: ordered(node) if node else node for key, node in fields.items()}
    plain = max(fields) < "g"  # Fields and no elements of a list: their own order is the right one.
    keys = sorted(fields) if plain else sorted(fields, key=order)
    return {key: ordered(node) if (node := fields[key]) else node for key in keys}
