"""Keywords of a schema that look at one value alone: bounds, lengths, patterns, formats, enumerations.

Complaints show the schema and never the value, which may be a password: they are written to logs and Events.

Source: https://json-schema.org/draft-04/draft-fge-json-schema-validation-00,
OpenAPI 3.0 for `nullable` and formats.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

import orjson

from hookrunner.shapes import suggestion
from hookrunner.values.schemas.node import KINDS, Test
from kubetypes import patterns
from kubetypes.formats import FORMATS, Format
from kubetypes.json_values import JSON, canonical, with_integers

_NOT_TESTED = frozenset(("type", "default", "description", "properties", "additionalProperties", "items", "required"))
_SINGLE = 3.4028234663852886e38
_INTEGERS: Mapping[str, tuple[int, int]] = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
"""Smallest and largest integer of a format, both included."""
_ADDRESSES = frozenset(("ipv4", "cidr"))
_TEXT_FORMATS = _ADDRESSES | {
    *("byte", "date", "datetime", "duration", "email", "hexcolor", "hostname", "ipv6", "mac"),
    *("uri", "uuid", "uuid3", "uuid4", "uuid5"),
}
"""Formats of texts that are checked; others only inform people, as in other implementations."""
_LEADING_ZERO = re.compile(r"(?:\A|\.)0\d")


def tests(raw: Mapping[str, JSON]) -> dict[type, tuple[Test, ...]]:
    """The tests of a schema for values of each type. Its keywords have been checked."""
    if raw.keys() <= _NOT_TESTED:
        return {}
    every = list(_enumeration(raw))
    made_by_type = {kind: [*every, *make(raw)] for kind, make in _MAKERS.items()}
    return {kind: tuple(made) for kind, made in made_by_type.items() if made}


def same(value: JSON) -> bytes:
    """A text that is equal for equal values: 1 equals 1.0 and not true, the order of keys does not count."""
    return canonical(with_integers(value))


def text_format(name: str) -> Format | None:
    """A check whether a text has the format; None for a format that is not checked. Dashes do not count (`date-time`).

    As addon-operator checks, by Go's `strfmt`: an IPv4 address with leading zeros does not, though Kubernetes takes it.
    Only an empty `byte` passes here.
    """
    name = name.replace("-", "").lower()
    if name not in _TEXT_FORMATS:
        return None
    has_format = FORMATS[name]
    if name in _ADDRESSES:
        return lambda text: _LEADING_ZERO.search(text) is None and has_format(text)
    return (lambda text: not text or has_format(text)) if name == "byte" else has_format


def _enumeration(raw: Mapping[str, JSON]) -> Iterator[Test]:
    if not raw.get("enum"):
        return
    known = {same(item) for item in raw["enum"]}
    words = [item if isinstance(item, str) else orjson.dumps(item).decode() for item in raw["enum"]]

    def complaint(value: JSON) -> str:
        if same(value) in known:
            return ""
        return f"must be one of {', '.join(words)}{suggestion(value, words) if isinstance(value, str) else ''}"

    yield Test("enum", complaint)


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_numbers(raw: Mapping[str, JSON]) -> Iterator[Test]:
    if "minimum" in raw:
        low, over = raw["minimum"], bool(raw.get("exclusiveMinimum"))
        least = f"must be {'more than' if over else 'at least'} {low}"
        yield Test("minimum", lambda value: least if value < low or (over and value == low) else "")
    if "maximum" in raw:
        high, under = raw["maximum"], bool(raw.get("exclusiveMaximum"))
        most = f"must be {'less than' if under else 'at most'} {high}"
        yield Test("maximum", lambda value: most if value > high or (under and value == high) else "")
    if "multipleOf" in raw:
        # By the digits that people wrote: 0.3 is a multiple of 0.1.
        step = Decimal(str(raw["multipleOf"]))
        complaint_text = f"must be a multiple of {raw['multipleOf']}"
        yield Test("multipleOf", lambda value: complaint_text if step <= 0 or _remainder(value, step) else "")
    yield from _number_format(raw.get("format", ""))


def _remainder(value: float, step: Decimal) -> bool:
    fraction = Decimal(str(value)) / step
    return fraction != fraction.to_integral_value()


def _number_format(name: str) -> Iterator[Test]:
    low, high = _INTEGERS.get(name, (-_SINGLE, _SINGLE) if name == "float" else (0, 0))
    if high:
        yield Test("format", lambda value: "" if low <= value <= high else f"does not fit into {name}")


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_texts(raw: Mapping[str, JSON]) -> Iterator[Test]:
    yield from _sizes(raw, "Length", "characters")
    if raw.get("pattern"):
        matches, pattern = _matcher(raw["pattern"]), raw["pattern"]
        yield Test("pattern", lambda value: "" if matches(value) else f"does not match the pattern {pattern}")
    name = raw.get("format", "")
    known = text_format(name)
    if known is not None:
        yield Test("format", lambda value: "" if known(value) else f"is no {name}")


def _matcher(pattern: str) -> Callable[[str], bool]:
    """A check whether a text matches: none does if Go refuses the pattern."""
    try:
        return patterns.compiled(pattern).matches
    except patterns.InvalidInGo:
        return lambda value: False


# ── lists and objects ─────────────────────────────────────────────────────────────────────────────────────────────


def _of_lists(raw: Mapping[str, JSON]) -> Iterator[Test]:
    yield from _sizes(raw, "Items", "items")
    if raw.get("uniqueItems"):
        yield Test("uniqueItems", _repeated)


def _repeated(value: list[JSON]) -> str:
    seen: dict[bytes, int] = {}
    for index, item in enumerate(value):
        first = seen.setdefault(same(item), index)
        if first != index:
            return f"must not have an item twice; [{first}] and [{index}] are equal"
    return ""


def _sizes(raw: Mapping[str, JSON], what: str, words: str) -> Iterator[Test]:
    fewest, most = raw.get(f"min{what}"), raw.get(f"max{what}")
    if fewest:
        least = f"must have at least {fewest:.0f} {words}, not"
        yield Test(f"min{what}", lambda value: f"{least} {len(value)}" if len(value) < fewest else "")
    if most is not None:
        limit = f"must have at most {most:.0f} {words}, not"
        yield Test(f"max{what}", lambda value: f"{limit} {len(value)}" if len(value) > most else "")


_MAKERS: dict[type, Callable[[Mapping[str, JSON]], Iterator[Test]]] = {
    **dict.fromkeys(KINDS, lambda raw: iter(())),
    int: _of_numbers,
    float: _of_numbers,
    str: _of_texts,
    list: _of_lists,
    dict: lambda raw: _sizes(raw, "Properties", "keys"),
}
