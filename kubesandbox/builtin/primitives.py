"""Decoders of values that have no fields: texts, numbers, quantities, times, base64. `codec` puts them together."""

from collections.abc import Callable
from typing import Any

from kubesandbox.builtin.types import Type
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
    """Whatever stands there."""
    return lambda value, unknown: value
