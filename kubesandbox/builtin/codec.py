"""Decoders made of Go types: JSON in, the JSON that Go would write out.

A decoder per type is made once, when the first object needs it.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from kubesandbox.builtin import primitives
from kubesandbox.builtin.primitives import RESOURCES, SIZES, Decoder, Mismatch, Unknown
from kubesandbox.builtin.types import Field, Type


@cache
def decoder(type_: Type) -> Decoder:
    """The decoder of a type."""
    if type_.kind in SIZES:
        return primitives.integer(type_)
    return _MAKERS[type_.kind](type_)


def zero(type_: Type) -> Any:
    """What Go writes for a value that was not set."""
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
    inner = primitives.quantity(type_) if type_.go == RESOURCES else decoder(type_.inner)

    def decode(value: Any, unknown: Unknown) -> Any:
        if type(value) is not dict:
            raise Mismatch(value, type_.go)
        return {key: zero(type_.inner) if item is None else inner(item, unknown) for key, item in value.items()}

    return decode


def _pointer(type_: Type) -> Decoder:
    return decoder(type_.inner)


_MAKERS: dict[str, Callable[[Type], Decoder]] = {
    "struct": _struct,
    "slice": _slice,
    "map": _map,
    "pointer": _pointer,
    "string": primitives.exactly(str),
    "bool": primitives.exactly(bool),
    "float64": primitives.number,
    "intorstring": primitives.int_or_string,
    "quantity": primitives.quantity,
    "time": primitives.read(primitives.time),
    "microtime": primitives.read(primitives.micro_time),
    "bytes": primitives.read(primitives.base64_text),
    "any": primitives.any_,
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
