"""Defaults of a schema, put where a value says nothing (addon-operator.md §2.1)."""

from hookrunner.model.resources import JSON
from hookrunner.values.schemas.node import Node


def filled(node: Node, value: JSON) -> JSON:
    """The value with the defaults of keys that are absent, or the value itself if there are none.

    Objects through `properties`, lists through `items` of one schema; an absent object gets its parts only if it has a
    default of its own. Nothing comes through `allOf` and its like. What is new shares nothing with the schema.
    """
    if isinstance(value, dict) and node.properties:
        return _object(node, value)
    if isinstance(value, list) and isinstance(node.items, Node):
        inner = [filled(node.items, one) for one in value]
        return inner if any(new is not old for new, old in zip(inner, value, strict=True)) else value
    return value


def _object(node: Node, value: dict[str, JSON]) -> dict[str, JSON]:
    changed: dict[str, JSON] = {}
    for key, inner in node.properties.items():
        if key in value:
            known = value[key]
            if (now := filled(inner, known)) is not known:
                changed[key] = now
        elif inner.default is not None:
            changed[key] = filled(inner, _copied(inner.default))
    return value | changed if changed else value


def _copied(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value
