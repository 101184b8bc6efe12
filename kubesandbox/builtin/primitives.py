"""Decoders of values that have no fields: texts, numbers, quantities, times, base64. `codec` puts them together."""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from kubesandbox.builtin.types import Type
from kubesandbox.status import bad_request
from kubetypes.quantities import canonical, of_resource

Unknown = list[str]
Decoder = Callable[[Any, Unknown], Any]
"""Takes a JSON value that is not null and the list to which paths of unknown fields go."""

WORDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
RESOURCES = "v1.ResourceList"
SIZES = {"int32": 2**31, "int64": 2**63}


class Mismatch(Exception):
    """A JSON value does not fit its Go type. Structs on the way up put their field's name in front."""

    def __init__(self, value: Any, go: str, exact: bool = False) -> None:
        self.what = WORDS.get(type(value), "null") + (f" {value}" if exact else "")
        self.go = go
        self.struct = ""
        self.path: list[str] = []

    def __str__(self) -> str:
        place = f"Go struct field {self.struct}.{'.'.join(reversed(self.path))}" if self.struct else "Go value"
        return f"json: cannot unmarshal {self.what} into {place} of type {self.go}"


def exactly(python: type) -> Callable[[Type], Decoder]:
    """Makes decoders of values that are of one JSON type and stay as they are."""

    def maker(type_: Type) -> Decoder:
        def decode(value: Any, unknown: Unknown) -> Any:
            if type(value) is not python:
                raise Mismatch(value, type_.go)
            return value

        return decode

    return maker


def integer(type_: Type) -> Decoder:
    """Whole numbers, written as such, that fit."""
    limit = SIZES[type_.kind]

    def decode(value: Any, unknown: Unknown) -> Any:
        if type(value) is not int or not -limit <= value < limit:
            raise Mismatch(value, type_.go, exact=type(value) in (int, float))
        return value

    return decode


def number(type_: Type) -> Decoder:
    """Any number."""

    def decode(value: Any, unknown: Unknown) -> Any:
        if type(value) not in (int, float):
            raise Mismatch(value, type_.go)
        return value

    return decode


def int_or_string(type_: Type) -> Decoder:
    """A port or an amount: 80, `http`, `25%`."""
    number = integer(Type("int32", "int32", ""))

    def decode(value: Any, unknown: Unknown) -> Any:
        return value if type(value) is str else number(value, unknown)

    return decode


def quantity(type_: Type) -> Decoder:
    """Quantities, given as texts or numbers; in a list of resources rounded to thousandths."""
    write = of_resource if type_.go == RESOURCES else canonical

    def decode(value: Any, unknown: Unknown) -> Any:
        return write(value.strip() if type(value) is str else _literal(value))

    return decode


def _literal(value: Any) -> str:
    """A number as it may have stood in the text."""
    return repr(value) if type(value) is float else str(value)


def read(reader: Callable[[str], str]) -> Callable[[Type], Decoder]:
    """Values that are texts in JSON and have a reader of their own."""

    def maker(type_: Type) -> Decoder:
        go = type_.go if type_.kind == "bytes" else "string"

        def decode(value: Any, unknown: Unknown) -> Any:
            if type(value) is not str:
                raise Mismatch(value, go)
            return reader(value)

        return decode

    return maker


def any_(type_: Type) -> Decoder:
    """Any value, unchanged."""
    return lambda value, unknown: value


# ── times and base64 ──────────────────────────────────────────────────────────────────────────────────────────────────

# Values that write themselves to JSON in their own way: times and base64. Each is read, checked, and given back in the
# one form that the API answers with.
#
# Errors have Go's words: users search for them.


SECONDS = "2006-01-02T15:04:05Z07:00"
MICROS = "2006-01-02T15:04:05.000000Z07:00"
ZONE = r"(Z|[+-]\d\d:\d\d)"
PIECES = [("2006", r"\d{4}"), ("-", "-"), ("01", r"\d\d"), ("-", "-"), ("02", r"\d\d"), ("T", "T"), ("15", r"\d\d?")]
PIECES += [(":", ":"), ("04", r"\d\d"), (":", ":"), ("05", r"\d\d")]
RANGES = (("month", 5, 1, 12), ("day", 8, 1, 31), ("hour", 11, 0, 23), ("minute", 14, 0, 59), ("second", 17, 0, 59))
PLAIN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def time(text: str) -> str:
    """RFC 3339 in UTC, to the second. Raises `Refused` (400)."""
    moment = _moment(text, SECONDS, r"(?:[.,]\d+)?")
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def micro_time(text: str) -> str:
    """RFC 3339 in UTC, to the microsecond. Raises `Refused` (400)."""
    moment = _moment(text, MICROS, r"\.\d{6}")
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _moment(text: str, layout: str, fraction: str) -> datetime:
    rest, asked = text, [*PIECES, (".000000" if layout == MICROS else "", fraction), ("Z07:00", ZONE)]
    for name, pattern in asked:
        found = re.match(pattern, rest, re.ASCII)
        if not found:
            raise bad_request(f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{name}"')
        rest = rest[found.end() :]
    if rest:
        raise bad_request(f'parsing time "{text}": extra text: "{rest}"')
    for name, at, low, high in RANGES:
        if not low <= int(text[at : at + 2]) <= high:
            raise bad_request(f'parsing time "{text}": {name} out of range')
    try:
        return datetime.fromisoformat(text.replace(",", ".")).astimezone(UTC)
    except (ValueError, OverflowError):
        raise bad_request(f'parsing time "{text}": day out of range') from None


def base64_text(text: str) -> str:
    """The same bytes in standard base64 with padding, without line breaks. Raises `Refused` (400)."""
    clean = text.replace("\n", "").replace("\r", "")
    try:
        return base64.b64encode(base64.b64decode(clean, validate=True)).decode()
    except (binascii.Error, ValueError):
        raise bad_request(f"illegal base64 data at input byte {_bad_byte(text)}") from None


def _bad_byte(text: str) -> int:
    """Where Go's decoder stops: at a byte that has no place, or at the start of the last group if that is too short."""
    good = re.match(r"[A-Za-z0-9+/\r\n]*", text)
    at = good.end() if good else 0
    have = len(re.sub(r"[\r\n]", "", text[:at])) % 4
    if at == len(text):
        return at - have
    if text[at] != "=" or have < 2:
        return at
    rest = re.match(r"=[\r\n]*=" if have == 2 else "=", text[at:])
    if rest:
        return at + rest.end()
    return at + 1
