"""Defaulting: what a schema says stands where nothing stands.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable
"""

from copy import deepcopy

from kubetypes.json_values import JSON
from kubetypes.openapi.schemas import Schema


def defaulted(obj: JSON, schema: Schema) -> JSON:
    """A new object in which missing fields that have a default have it; a null where none may be counts as missing.

    Fields inside an object are defaulted only where that object is. Undeclared parts are shared with `obj`.
    """
    if isinstance(obj, dict):
        return _object(obj, schema)
    if isinstance(obj, list) and schema.items is not None:
        return [_filled(value, schema.items) for value in obj]
    return obj


def _object(obj: dict[str, JSON], schema: Schema) -> dict[str, JSON]:
    properties, additional = schema.properties, schema.additional
    result = {}
    for key, value in obj.items():
        place = properties.get(key) or additional
        result[key] = value if place is None else _filled(value, place)
    for key, place in properties.items():
        if key not in obj and place.raw.get("default") is not None:
            result[key] = _default(place)
    return result


def _filled(value: JSON, schema: Schema) -> JSON:
    """A value, or its default where a null may not be."""
    return _default(schema) if value is None and not schema.nullable else defaulted(value, schema)


def _default(schema: Schema) -> JSON:
    """The default of a place, itself defaulted; None if it has none."""
    return defaulted(deepcopy(schema.raw.get("default")), schema)
