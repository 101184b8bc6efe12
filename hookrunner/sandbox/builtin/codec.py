"""Decoders made of Go types: JSON in, the JSON that Go would write out.

A decoder per type is made once, when the first object needs it.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from hookrunner.sandbox.builtin import scalars
from hookrunner.sandbox.builtin.quantities import canonical, of_resource
from hookrunner.sandbox.builtin.types import Field, Type

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


@cache
def decoder(type_: Type) -> Decoder:
    """The decoder of a type."""
    if type_.kind in SIZES:
        return _integer(type_)
    return _MAKERS[type_.kind](type_)


def zero(type_: Type) -> Any:
    """What Go writes for a value that nobody set."""
    if type_.kind == "struct":
        return {name: zero(field.type) for name, field in type_.fields.items() if not _omitted(field, zero(field.type))}
    return _ZEROS.get(type_.kind)


def _omitted(field: Field, value: Any) -> bool:
    """Whether Go leaves out this value of a field."""
    kind = field.type.kind
    if field.omit == "omitzero" and kind == "struct":
        return bool(value == zero(field.type))
    if not field.omit or kind in ("struct", "quantity", "intorstring"):
        return False
    if kind in ("time", "microtime"):
        return field.omit == "omitzero" and value is None
    return value is None if kind in ("pointer", "any") else not value


def _struct(type_: Type) -> Decoder:
    name = type_.go.rpartition(".")[2]
    fields = {key: (_later(field.type), field, name) for key, field in type_.fields.items()}
    always = [(key, field.type) for key, field in type_.fields.items() if not _omitted(field, zero(field.type))]
    drops = {key for key, field in type_.fields.items() if field.omit and _droppable(field)}

    def decode(value: Any, unknown: Unknown) -> Any:
        if type(value) is not dict:
            raise Mismatch(value, type_.go)
        result = {}
        for key, item in value.items():
            known = fields.get(key)
            if known is None:
                unknown.append(key)
            elif item is not None:
                made = _of_field(known, item, unknown)
                if made or key not in drops:
                    result[key] = made
        for key, kind in always:
            if key not in result:
                result[key] = zero(kind)
        return result

    return decode


def _of_field(known: tuple[Decoder, Field, str], item: Any, unknown: Unknown) -> Any:
    before = len(unknown)
    try:
        made = known[0](item, unknown)
    except Mismatch as wrong:
        wrong.struct = wrong.struct or known[2]
        wrong.path.append(known[1].path)
        raise
    if len(unknown) > before:
        unknown[before:] = [_joined(known[1].name, path) for path in unknown[before:]]
    return made


def _droppable(field: Field) -> bool:
    """Whether an empty value, though given, is left out."""
    kind = field.type.kind
    return kind not in ("struct", "quantity", "intorstring", "time", "microtime", "pointer", "any")


def _joined(key: str, path: str) -> str:
    return f"{key}{path}" if path[:1] == "[" else f"{key}.{path}"


def _later(type_: Type) -> Decoder:
    """The decoder of a type that may contain itself: looked up at first use."""
    if type_.kind not in ("struct", "slice", "map", "pointer"):
        return decoder(type_)
    made: list[Decoder] = []

    def decode(value: Any, unknown: Unknown) -> Any:
        if not made:
            made.append(decoder(type_))
        return made[0](value, unknown)

    return decode


def _slice(type_: Type) -> Decoder:
    inner = decoder(type_.inner)

    def decode(value: Any, unknown: Unknown) -> Any:
        if type(value) is not list:
            raise Mismatch(value, type_.go)
        result = []
        for at, item in enumerate(value):
            before = len(unknown)
            result.append(zero(type_.inner) if item is None else inner(item, unknown))
            if len(unknown) > before:
                unknown[before:] = [_joined(f"[{at}]", path) for path in unknown[before:]]
        return result or None

    return decode


def _map(type_: Type) -> Decoder:
    inner = _quantity(type_) if type_.go == RESOURCES else decoder(type_.inner)

    def decode(value: Any, unknown: Unknown) -> Any:
        if type(value) is not dict:
            raise Mismatch(value, type_.go)
        return {key: zero(type_.inner) if item is None else inner(item, unknown) for key, item in value.items()}

    return decode


def _pointer(type_: Type) -> Decoder:
    return decoder(type_.inner)


def _exactly(python: type) -> Callable[[Type], Decoder]:
    def maker(type_: Type) -> Decoder:
        def decode(value: Any, unknown: Unknown) -> Any:
            if type(value) is not python:
                raise Mismatch(value, type_.go)
            return value

        return decode

    return maker


def _integer(type_: Type) -> Decoder:
    limit = SIZES[type_.kind]

    def decode(value: Any, unknown: Unknown) -> Any:
        if type(value) is not int or not -limit <= value < limit:
            raise Mismatch(value, type_.go, exact=type(value) in (int, float))
        return value

    return decode


def _number(type_: Type) -> Decoder:
    def decode(value: Any, unknown: Unknown) -> Any:
        if type(value) not in (int, float):
            raise Mismatch(value, type_.go)
        return value

    return decode


def _int_or_string(type_: Type) -> Decoder:
    number = _integer(Type("int32", "int32", ""))

    def decode(value: Any, unknown: Unknown) -> Any:
        return value if type(value) is str else number(value, unknown)

    return decode


def _quantity(type_: Type) -> Decoder:
    write = of_resource if type_.go == RESOURCES else canonical

    def decode(value: Any, unknown: Unknown) -> Any:
        return write(value.strip() if type(value) is str else _literal(value))

    return decode


def _literal(value: Any) -> str:
    """A number as it may have stood in the text."""
    return repr(value) if type(value) is float else str(value)


def _read(read: Callable[[str], str]) -> Callable[[Type], Decoder]:
    """Values that are texts in JSON and have a reader of their own."""

    def maker(type_: Type) -> Decoder:
        go = type_.go if type_.kind == "bytes" else "string"

        def decode(value: Any, unknown: Unknown) -> Any:
            if type(value) is not str:
                raise Mismatch(value, go)
            return read(value)

        return decode

    return maker


def _any(type_: Type) -> Decoder:
    return lambda value, unknown: value


_MAKERS: dict[str, Callable[[Type], Decoder]] = {
    "struct": _struct,
    "slice": _slice,
    "map": _map,
    "pointer": _pointer,
    "string": _exactly(str),
    "bool": _exactly(bool),
    "float64": _number,
    "intorstring": _int_or_string,
    "quantity": _quantity,
    "time": _read(scalars.time),
    "microtime": _read(scalars.micro_time),
    "bytes": _read(scalars.base64_text),
    "any": _any,
}
_ZEROS = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "float64": 0,
    "intorstring": 0,
    "quantity": "0",
    "bytes": "",
}
