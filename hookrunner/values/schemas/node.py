"""A schema as it is used: every part of it read once, with references followed.

Nodes may stand in circles where a schema refers to itself.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from hookrunner.model.resources import JSON
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
    """One keyword on one value: `complaint` says what is wrong with it, "" if nothing is."""

    keyword: str
    complaint: Callable[[JSON], str]


class Rule(NamedTuple):
    """One of `x-deckhouse-validations`: an expression in CEL, and what to say where it is false."""

    expression: str
    message: str


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """One schema. `place` is where it is written: `openapi/values.yaml#/properties/a`.

    `additional` and `more_items` are None where nothing is said, `default` is None where there is none. `tests` are by
    the type of the value, only for those that can fail.
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
    rules: tuple[Rule, ...] = ()

    @property
    def at(self) -> str:
        """The place in its file."""
        return self.place[self.place.index("#") :]

    def beside(self) -> Iterator["Node"]:
        """Schemas that look at the very value that this one looks at."""
        yield from (*self.all_of, *self.any_of, *self.one_of)
        yield from (one for one in (self.refused, *self.dependencies.values()) if isinstance(one, Node))


Allowed: TypeAlias = Node | bool | None
