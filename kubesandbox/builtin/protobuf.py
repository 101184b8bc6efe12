"""Reading objects in Kubernetes' protobuf form: kubectl sends what it has made itself so (`kubectl create namespace`).

Only reading, and only built-in kinds: answers are JSON, which every client takes too. The numbers of fields come with
the Go types. https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding and, for the wire format,
https://protobuf.dev/programming-guides/encoding/
"""

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

from kubesandbox.builtin.types import Type, type_of
from kubesandbox.status import bad_request
from kubetypes import json_values

MAGIC = b"k8s\0"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
RAW = 1
"""The one field of the messages that carry JSON, or a quantity's text, inside."""
INT, TEXT = 2, 3
"""The fields of an `IntOrString`; its field 1 says which of them counts."""

Raw = int | bytes
Read = Callable[[Raw], Any]


class MalformedProtobuf(ValueError):
    """The bytes are no message of the type."""


def decoded(text: bytes) -> dict[str, Any]:
    """The object in the envelope that the API wraps around protobuf, as it would be in JSON. Raises Refused 400."""
    try:
        envelope = dict(_fields(text.removeprefix(MAGIC)))
        about = dict(_fields(_bytes(envelope.get(1, b""))))
        api_version, kind = _text(about.get(1, b"")), _text(about.get(2, b""))
        type_ = type_of(api_version, kind)
        if type_ is None or not text.startswith(MAGIC):
            raise MalformedProtobuf(f"no type {api_version} {kind} is known in this form")
        return {"kind": kind, "apiVersion": api_version} | _message(type_)(_bytes(envelope.get(2, b"")))
    except (MalformedProtobuf, ValueError, struct.error, OverflowError, RecursionError) as error:
        raise bad_request(f"the body cannot be read as protobuf: {error}") from None


# ── the wire ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _fields(data: bytes) -> Iterator[tuple[int, Raw]]:
    """Numbers and values of a message, as they come."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        length, at = _varint(data, at) if wire == BYTES else ({FIXED64: 8, FIXED32: 4}.get(wire, 0), at)
        if (not length and wire != BYTES) or at + length > len(data):
            raise MalformedProtobuf("it ends in the middle, or has an unknown wire type")
        yield number, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        result |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80 and result < 2**64:
            return result, at
    raise MalformedProtobuf("a number has no end, or more than 64 bits")


def _bytes(raw: Raw) -> bytes:
    if isinstance(raw, int):
        raise MalformedProtobuf("a number stands where a text or a message is expected")
    return raw


def _text(raw: Raw) -> str:
    return _bytes(raw).decode()


def _integer(raw: Raw) -> int:
    if isinstance(raw, bytes):
        raise MalformedProtobuf("a text stands where a number is expected")
    return raw - 2**64 if raw >= 2**63 else raw


# ── values ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _time(raw: Raw) -> str | None:
    return _moment(raw, "%Y-%m-%dT%H:%M:%SZ")


def _micro_time(raw: Raw) -> str | None:
    return _moment(raw, "%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(raw: Raw, form: str) -> str | None:
    said = dict(_fields(_bytes(raw)))
    if not said:
        return None
    seconds, nanos = _integer(said.get(1, 0)), _integer(said.get(2, 0))
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=nanos // 1000).strftime(form)


def _int_or_string(raw: Raw) -> int | str:
    said = dict(_fields(_bytes(raw)))
    return _text(said.get(TEXT, b"")) if said.get(1, 0) else _integer(said.get(INT, 0))


def _json(raw: Raw) -> Any:
    """What is JSON inside; the few schema types of definitions that are not are left to JSON clients."""
    return json_values.loads(_bytes(dict(_fields(_bytes(raw))).get(RAW, b"null")) or b"null")


PLAIN: dict[str, Read] = {
    "string": _text,
    "bool": lambda raw: bool(_integer(raw)),
    "int32": _integer,
    "int64": _integer,
    "float64": lambda raw: struct.unpack("<d", _bytes(raw))[0],
    "bytes": lambda raw: base64.b64encode(_bytes(raw)).decode(),
    "quantity": lambda raw: _text(dict(_fields(_bytes(raw))).get(RAW, b"")),
    "time": _time,
    "microtime": _micro_time,
    "intorstring": _int_or_string,
    "any": _json,
}


def _value(type_: Type) -> Read:
    """How a value that is no list and no map is read."""
    if type_.kind == "pointer":
        return _value(type_.inner)
    return PLAIN[type_.kind] if type_.kind in PLAIN else lambda raw: _message(type_)(_bytes(raw))


@cache
def _message(type_: Type) -> Callable[[bytes], dict[str, Any]]:
    """How a message of a Go type is read. A map or a list inside another is wrapped in a message with one field."""
    places = {field.numbers: (name, field.type) for name, field in type_.fields.items() if field.numbers}
    wrapped = {numbers[0] for numbers in places if len(numbers) > 1}

    def read(data: bytes, way: tuple[int, ...] = ()) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for number, raw in _fields(data):
            here = (*way, number)
            if here in places:
                name, of = places[here]
                _add(result, name, of, raw)
            elif not way and number in wrapped:
                result |= read(_bytes(raw), here)
        return result

    return read


def _add(result: dict[str, Any], name: str, type_: Type, raw: Raw) -> None:
    if type_.kind == "map":
        entry = dict(_fields(_bytes(raw)))
        result.setdefault(name, {})[_text(entry.get(1, b""))] = _entry(type_.inner, entry.get(2, b""))
    elif type_.kind == "slice":
        result.setdefault(name, []).append(_value(type_.inner)(raw))
    else:
        result[name] = _value(type_)(raw)


def _entry(type_: Type, raw: Raw) -> Any:
    if type_.kind == "slice":
        return [_value(type_.inner)(item) for number, item in _fields(_bytes(raw)) if number == RAW]
    return _value(type_)(raw)
