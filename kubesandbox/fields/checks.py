"""Whether a configuration can be applied: the right kind, no managed fields, fields and types that the schema knows.

The messages are the API server's, with Go's way of showing values, since kubectl prints them.
"""

from collections.abc import Iterator
from http import HTTPStatus

import orjson

from kubesandbox.fields.elements import NoElement, element, shown, written
from kubesandbox.fields.shapes import Shape, shape_of
from kubesandbox.kinds import Kind
from kubesandbox.status import Refused, bad_request
from kubetypes.json_values import JSON

DUPLICATE = "duplicate entries for key"


def check(config: JSON, kind: Kind) -> None:
    """Raises `Refused`: 400 for the wrong kind, 500 without a reason for anything that the schema does not allow."""
    sent = _kind(config.get("apiVersion", ""), config.get("kind", ""))
    if sent != _kind(kind.api_version, kind.kind):
        raise bad_request(f"invalid object type: {sent}")
    metadata = config.get("metadata") or {}
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    _refuse("patch", config, kind, problems(config, kind))


def check_live(live: JSON, kind: Kind) -> None:
    """Raises `Refused` 500 if a custom object no longer fits a schema that was changed. Duplicates may stay."""
    found = problems(live, kind) if kind.custom else ()
    _refuse("live", live, kind, [one for one in found if DUPLICATE not in one])


def problems(obj: JSON, kind: Kind) -> list[str]:
    """What the schema of the kind does not allow."""
    return list(_problems(obj, shape_of(kind), ""))


def _refuse(which: str, obj: JSON, kind: Kind, found: list[str]) -> None:
    if not found:
        return
    metadata = obj["metadata"] if isinstance(obj.get("metadata"), dict) else {}
    place = "/".join(one if isinstance(one := metadata.get(key), str) else "" for key in ("namespace", "name"))
    said = found[0] if len(found) == 1 else "\n".join(["errors:", *(f"  {one}" for one in found)])
    about = f"{place}; {_kind(kind.api_version, kind.kind)}"
    raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "", f"failed to create typed {which} object ({about}): {said}")


def _kind(api_version: str, kind: str) -> str:
    return f"{api_version if '/' in api_version else f'/{api_version}'}, Kind={kind}"


def _problems(value: JSON, shape: Shape, path: str) -> Iterator[str]:
    """What does not fit, as `path: what`."""
    if value is None:
        return
    if isinstance(value, dict) and "map" in shape.types:
        yield from _in_map(value, shape, path)
    elif isinstance(value, list) and "list" in shape.types:
        yield from _in_list(value, shape, path)
    elif said := _misfit(value, shape):
        yield f"{path}: {said}" if path else said


def _in_map(value: dict[str, JSON], shape: Shape, path: str) -> Iterator[str]:
    for name, one in value.items():
        below = shape.at(name)
        if below is None:
            yield f"{path}.{name}: field not declared in schema"
            return
        yield from _problems(one, below, f"{path}.{name}")


def _in_list(value: list[JSON], shape: Shape, path: str) -> Iterator[str]:
    seen = set()
    for index, one in enumerate(value):
        try:
            key = element(one, shape) if shape.associative else f"i:{index}"
        except NoElement as problem:
            yield f"{path}: element {index}: {problem}"
            return
        if key in seen:
            yield f"{path}: {DUPLICATE} {shown(key)}"
        seen.add(key)
        yield from _problems(one, shape.item, f"{path}{shown(key)}")


def _misfit(value: JSON, shape: Shape) -> str:
    if "scalar" in shape.types and not isinstance(value, dict | list):
        return _not_scalar(value, shape.scalar)
    if "map" in shape.types:
        return f"expected map, got &{{{_plainly(value)}}}"
    if "scalar" in shape.types:
        return _not_scalar(value, shape.scalar)
    return f"expected list, got &{{{_plainly(value)}}}"


def _not_scalar(value: JSON, scalar: str) -> str:
    if scalar == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{_syntax(value)}}}"
    if scalar == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{_plainly(value)}}}"
    if scalar == "numeric" and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"expected numeric (int or float), got {GO_TYPES[type(value)]}"
    return f"expected any scalar, got &{{{_plainly(value)}}}" if isinstance(value, dict | list) else ""


GO_TYPES = {str: "string", bool: "bool", list: "[]interface {}", dict: "map[string]interface {}"}


def _plainly(value: JSON) -> str:
    """A value as Go's `%v` shows it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_plainly(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_plainly, value))}]"
    return "<nil>" if value is None else value if isinstance(value, str) else written(value)


def _syntax(value: JSON) -> str:
    """A value as Go's `%#v` shows it."""
    if isinstance(value, dict):
        parts = [f"{_syntax(key)}:{_syntax(value[key])}" for key in sorted(value)]
    elif isinstance(value, list):
        parts = list(map(_syntax, value))
    else:
        return "interface {}(nil)" if value is None else orjson.dumps(value).decode()
    return f"{GO_TYPES[type(value)]}{{{', '.join(parts)}}}"
