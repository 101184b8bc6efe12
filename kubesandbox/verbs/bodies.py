"""A request's body: bytes become JSON values, by content type. What cannot be read, or is nested too deep, is refused
as the API refuses it.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import orjson

from kubesandbox.builtin import decode, protobuf
from kubesandbox.status import Refused, bad_request, unsupported_media_type
from kubetypes import json_values, yaml_values
from kubetypes.bounds import DEPTH, OBJECT, TooLarge
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import BadDocument

LIMIT = OBJECT.size
"""Bytes that a body may have, as in a real API server."""
JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
ACCEPTED = (JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE)


def too_large() -> Refused:
    """413."""
    message = f"Request entity too large: limit is {LIMIT}"
    return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", message)


@dataclass(frozen=True, slots=True)
class Body:
    """What a body says, and the paths of the fields that it says twice (the last one counts)."""

    value: JSON
    duplicates: Sequence[str] = ()


def parsed(text: bytes, content_type: str, kind: str) -> Body:
    """The body of a request, to be an object of `kind`. Raises Refused 400, 415."""
    if content_type == PROTOBUF_TYPE:
        return Body(_from_protobuf(text, kind))
    if content_type.endswith("yaml"):
        return Body(from_yaml(text, kind))
    if content_type in ("", JSON_TYPE) or content_type.endswith("+json"):
        return Body(from_json(text, kind), decode.duplicates(text))
    raise unsupported_media_type(ACCEPTED)


def from_json(text: bytes, kind: str) -> JSON:
    """Raises Refused 400."""
    try:
        json_values.check(text, OBJECT)
        value = orjson.loads(text)
    except ValueError as error:
        raise _unrecognised(kind, f"json parse error: {error}") from None
    flat = text.count(b"{") + text.count(b"[") <= DEEPEST
    return value if flat else _checked(value, kind)


def from_yaml(text: bytes, kind: str) -> JSON:
    """One YAML document; JSON is YAML too, and faster. Raises Refused 400."""
    if text[:1] == b"{":
        try:
            json_values.check(text, OBJECT)
            return _checked(orjson.loads(text), kind)
        except orjson.JSONDecodeError:
            pass
        except TooLarge as error:
            raise _unrecognised(kind, f"json parse error: {error}") from None
    try:
        return _checked(next(yaml_values.documents(text, yaml_values.YAML_1_1, OBJECT), None), kind)
    except BadDocument as error:
        raise _unrecognised(kind, f"yaml parse error: {error}") from None


def _from_protobuf(text: bytes, kind: str) -> JSON:
    """Values are counted in what it is as JSON. Raises Refused 400."""
    value = _checked(protobuf.decoded(text), kind)
    try:
        json_values.check(orjson.dumps(value), OBJECT)
    except TooLarge as error:
        raise _unrecognised(kind, str(error)) from None
    return value


def _checked(value: JSON, kind: str) -> JSON:
    """The value. Raises Refused 400 if it is nested deeper than the sandbox goes."""
    if is_too_deep(value):
        raise _unrecognised(kind, TOO_DEEP_HERE)
    return value


def _unrecognised(kind: str, why: str) -> Refused:
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; {why}"
    )


# ── depth ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

# How deep an object may be nested. A real API server takes 10,000 levels; here many functions call themselves for each
# level, and the JSON encoder ends at 254.
#
# What a client sends is checked once, when it is read, and once more after a patch, since operations can put a value
# into itself. Managed fields have a few levels more than the fields that they name.


DEEPEST = DEPTH
"""Levels of an object without its metadata."""
DEEPEST_METADATA = DEEPEST + 20
TOO_DEEP_HERE = f"exceeded max depth of {DEEPEST} levels in the sandbox"


def is_too_deep(body: JSON) -> bool:
    """Has an object, or a patch, more levels than are taken?"""
    if not isinstance(body, dict):
        return _exceeds([body], DEEPEST)
    rest = [value for key, value in body.items() if key != "metadata"]
    return _exceeds(rest, DEEPEST) or _exceeds([body.get("metadata")], DEEPEST_METADATA)


def _exceeds(values: list[Any], limit: int) -> bool:
    """Goes down level by level, all values of one level at once: no call for each level, and a few for each object."""
    for _ in range(limit):
        values = [inner for value in values if isinstance(value, dict | list) for inner in _inside(value)]
        if not values:
            return False
    return any(isinstance(value, dict | list) for value in values)


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value
