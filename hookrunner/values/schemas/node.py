"""A schema as it is used: every part of it read once, with references followed, and its defaults.

Nodes may form cycles: a schema may refer to itself, as a tree of folders does. Each step must then need a part of the
value; a schema whose defaults bring themselves, or that applies itself to the same value, never ends and is refused.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, TypeAlias

from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.patterns import Pattern

KINDS: Mapping[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
"""The types of JSON values, as schemas name them."""


class Test(NamedTuple):
    """One keyword on one value: `complaint` says what is wrong with it, "" if it is valid."""

    keyword: str
    complaint: Callable[[JSON], str]


class ValidationRule(NamedTuple):
    """One of `x-deckhouse-validations`: an expression in CEL, and the message if it is false."""

    expression: str
    message: str


@dataclass(slots=True, eq=False)
class Node:
    """One schema. `place` is where it is written: `openapi/values.yaml#/properties/a`.

    `additional` and `more_items` are None if the keyword is absent, as is `default`. `tests` are by the type of the
    value, only for types that can fail.
    """

    place: str
    types: tuple[str, ...] = ()
    nullable: bool = False
    tests: Mapping[type, tuple[Test, ...]] = field(default_factory=dict)
    default: JSON = None
    properties: Mapping[str, "Node"] = field(default_factory=dict)
    patterns: Mapping[Pattern, "Node"] = field(default_factory=dict)
    additional: "Allowed" = None
    required: tuple[str, ...] = ()
    required_for_helm: tuple[str, ...] = ()
    dependencies: Mapping[str, "Node | tuple[str, ...]"] = field(default_factory=dict)
    items: "Node | tuple[Node, ...] | None" = None
    more_items: "Allowed" = None
    all_of: tuple["Node", ...] = ()
    any_of: tuple["Node", ...] = ()
    one_of: tuple["Node", ...] = ()
    refused: "Node | None" = None
    rules: tuple[ValidationRule, ...] = ()

    @property
    def at(self) -> str:
        """The place in its file."""
        return self.place[self.place.index("#") :]

    def beside(self) -> Iterator["Node"]:
        """Schemas that apply to the same value as this one."""
        yield from (*self.all_of, *self.any_of, *self.one_of)
        yield from (child for child in (self.refused, *self.dependencies.values()) if isinstance(child, Node))


Allowed: TypeAlias = Node | bool | None


_Steps = Callable[[Node], Iterator[Node]]


def cycles(nodes: Sequence[Node]) -> list[str]:
    """Cycles among all nodes of a schema, one line each."""
    kinds = (
        (Node.beside, "applies itself (allOf, anyOf, oneOf, not) without end"),
        (_defaulted, "is filled with defaults without end"),
    )
    return [f"{place} {text}" for steps, text in kinds for place in _in_cycle(nodes, steps)]


def _in_cycle(nodes: Sequence[Node], steps: _Steps) -> Iterator[str]:
    """The first place from which these steps lead back to it."""
    ahead = {id(node): {id(child) for child in steps(node)} for node in nodes}
    left = len(ahead) + 1
    while len(ahead) < left:
        left = len(ahead)
        entered = set().union(*ahead.values())
        ahead = {
            node: onward & ahead.keys() for node, onward in ahead.items() if node in entered and onward & ahead.keys()
        }
    yield from [node.at for node in nodes if id(node) in ahead][:1]


def _defaulted(node: Node) -> Iterator[Node]:
    """Schemas whose defaults apply although the value has nothing there."""
    yield from (inner for inner in node.properties.values() if isinstance(inner.default, dict | list))
    if node.default and isinstance(node.default, list) and isinstance(node.items, Node):
        yield node.items


def filled(node: Node, value: JSON) -> JSON:
    """The value with the defaults of absent keys, or the value itself if no default applies.

    Objects are filled through `properties`, lists through `items` of one schema; an absent object gets its parts only
    if it has a default of its own. `allOf` and its like fill in nothing. New parts share nothing with the schema.
    """
    if isinstance(value, dict) and node.properties:
        return _object(node, value)
    if isinstance(value, list) and isinstance(node.items, Node):
        inner = [filled(node.items, child) for child in value]
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
        return {key: _copied(child) for key, child in value.items()}
    return [_copied(child) for child in value] if isinstance(value, list) else value
