"""One schema of a section: fills in defaults, and says everything that is wrong with a value, in lines for people.

Each line has the path, what is wrong, and where the rule is written: `nodes[0].port must be at most 65535
(openapi/config-values.yaml#/properties/nodes/items/properties/port/maximum)`. No line quotes a value.

addon-operator changes schemas after it has read them; here the same rules apply while checking. A schema reached from
the root through `properties` and `items` is *closed*: keys that it does not name are forbidden, until a property has an
`additionalProperties` of its own. *For Helm*, more keys are required.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from hookrunner import redaction
from hookrunner.shapes import suggestion
from hookrunner.values.schemas import expressions
from hookrunner.values.schemas.node import KINDS, Allowed, Node, filled
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import YAML_1_2

_MOST_COUNTED = 200
"""Lines; the others are not looked for. A section may have a hundred thousand keys that its schema forbids."""
_NOT_SCALAR = frozenset((dict, list, type(None)))
_WORDS = re.compile(r"[\w-]+")


class CheckMode(NamedTuple):
    """How a schema is applied. `helm` adds keys that are required only right before a chart is rendered."""

    closed: bool = True
    helm: bool = False


_AS_WRITTEN = CheckMode(closed=False)


def problems(node: Node, value: JSON, path: str, mode: CheckMode) -> Iterator[str]:
    """Everything that is wrong with a value, one line each, beginning with `path`; "" is the root."""
    kind = type(value)
    if not _fits(node, value):
        yield _line(
            path, f"must be of type {' or '.join(node.types)}, not {KINDS[kind]}{_hint(node, value)}", node, "type"
        )
        return
    for keyword, complaint in node.tests.get(kind, ()):
        if text := complaint(value):
            yield _line(path, text, node, keyword)
    if kind is dict:
        yield from _object(node, value, path, mode)
    elif kind is list:
        yield from _list(node, value, path, mode)
    if value is not None and (node.all_of or node.any_of or node.one_of or node.refused):
        yield from _combined(node, value, path)


def _line(path: str, text: str, node: Node, keyword: str) -> str:
    return f"{path or 'the section'} {text} ({node.place}/{keyword})"


# ── types ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fits(node: Node, value: JSON) -> bool:
    """Has the value one of the types? A whole number is an integer, however it is written."""
    if value is None:
        return node.nullable or not node.types
    kind = KINDS[type(value)]
    whole = kind == "number" and "integer" in node.types and value.is_integer()
    return not node.types or kind in node.types or whole or (kind == "integer" and "number" in node.types)


def _is_valid_scalar(node: Allowed, value: JSON) -> bool:
    """Whether a value is one of those that are found valid at once; most are, and need no path and no line."""
    kind = type(value)
    if not isinstance(node, Node) or kind in _NOT_SCALAR or node.any_of or node.one_of or node.all_of or node.refused:
        return False
    if node.types and KINDS[kind] not in node.types:
        return False
    tests = node.tests.get(kind)
    return not tests or not any(complaint(value) for _keyword, complaint in tests)


def _hint(node: Node, value: JSON) -> str:
    if not set(node.types) & set(KINDS.values()):
        return "; that is not a type: correct the schema"
    if value is None:
        return "; leave the key out, or give it a value"
    if isinstance(value, str):
        meant = YAML_1_2.fullmatch(value)
        unquoted = meant is not None and {"bool": "boolean", "int": "integer", "float": "number"}.get(
            str(meant.lastgroup)
        )
        wider = (*node.types, "integer") if "number" in node.types else node.types
        return "; write it without quotes" if unquoted and unquoted in wider else ""
    scalar = isinstance(value, bool | int | float)
    return "; put it in quotes" if scalar and "string" in node.types else ""


# ── objects ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _object(node: Node, value: Mapping[str, JSON], path: str, mode: CheckMode) -> Iterator[str]:
    for key, inner in value.items():
        property_ = node.properties.get(key)
        if not node.patterns and _is_valid_scalar(node.additional if property_ is None else property_, inner):
            continue
        below = _child_path(path, key)
        if property_ is not None:
            yield from problems(property_, inner, below, _inside(property_, mode))
        yield from _undeclared(node, key, inner, below, mode)
    for name, keyword in _required(node, mode):
        if name not in value and not (name in node.properties and node.properties[name].default is not None):
            yield _line(_child_path(path, name), "is required", node, keyword)
    for name, wanted in node.dependencies.items():
        if name in value and isinstance(wanted, Node):
            yield from problems(wanted, value, path, _AS_WRITTEN)
        elif name in value and isinstance(wanted, tuple):
            missing = (key for key in wanted if key not in value)
            yield from (
                _line(_child_path(path, key), f"is required beside {name}", node, f"dependencies/{name}")
                for key in missing
            )


def _inside(property_: Node, mode: CheckMode) -> CheckMode:
    """Below a property with its own `additionalProperties`, the schema applies as it is written."""
    return CheckMode(mode.closed and property_.additional is None, mode.helm)


def _required(node: Node, mode: CheckMode) -> Iterator[tuple[str, str]]:
    yield from ((name, "required") for name in node.required)
    if mode.helm:
        yield from ((name, "x-required-for-helm") for name in node.required_for_helm if name not in node.required)


def _undeclared(node: Node, key: str, value: JSON, path: str, mode: CheckMode) -> Iterator[str]:
    """Check a key against `patternProperties` and `additionalProperties`."""
    matching = [inner for pattern, inner in node.patterns.items() if pattern.matches(key)]
    for inner in matching:
        yield from problems(inner, value, path, _AS_WRITTEN)
    if matching or key in node.properties:
        return
    if isinstance(node.additional, Node):
        yield from problems(node.additional, value, path, _AS_WRITTEN)
    elif node.additional is False or (node.additional is None and mode.closed):
        known = list(node.properties)
        words = suggestion(key, known) or (f"; known are {', '.join(known)}" if known else "; none are known here")
        yield _line(path, f"is a forbidden property{words}", node, "additionalProperties")


def _child_path(path: str, key: str) -> str:
    if not key.isidentifier() and not _WORDS.fullmatch(key):
        return f'{path}["{redaction.key(key)}"]'
    return f"{path}.{key}" if path else key


# ── lists ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _list(node: Node, value: Sequence[JSON], path: str, mode: CheckMode) -> Iterator[str]:
    items, inside = node.items, CheckMode(mode.closed)
    first = items if isinstance(items, tuple) else (items,) * len(value) if items else ()
    for index, (inner, item) in enumerate(zip(first, value, strict=False)):
        if not _is_valid_scalar(inner, item):
            yield from problems(inner, item, f"{path}[{index}]", inside)
    if isinstance(items, tuple):
        rest = ((f"{path}[{index}]", value[index]) for index in range(len(items), len(value)))
        yield from (line for item_path, item in rest for line in _extra(node, node.more_items, item, item_path))


def _extra(node: Node, allowed: Allowed, value: JSON, path: str) -> Iterator[str]:
    if isinstance(allowed, Node):
        yield from problems(allowed, value, path, _AS_WRITTEN)
    elif allowed is False:
        yield _line(path, "is one item too many", node, "additionalItems")


# ── combinations ──────────────────────────────────────────────────────────────────────────────────────────────────


def _combined(node: Node, value: JSON, path: str) -> Iterator[str]:
    for inner in node.all_of:
        yield from problems(inner, value, path, _AS_WRITTEN)
    if node.any_of:
        yield from _chosen(node, "anyOf", node.any_of, value, path)
    if node.one_of:
        yield from _chosen(node, "oneOf", node.one_of, value, path)
    if node.refused is not None and next(problems(node.refused, value, path, _AS_WRITTEN), None) is None:
        yield _line(path, "is what it must not be", node, "not")


def _chosen(node: Node, keyword: str, ways: Sequence[Node], value: JSON, path: str) -> Iterator[str]:
    """At least one alternative must fit, with `oneOf` exactly one. If none fits, the nearest one is explained."""
    complaints = [list(islice(problems(way, value, path, _AS_WRITTEN), _MOST_COUNTED)) for way in ways]
    fitting = [str(number) for number, wrong in enumerate(complaints, 1) if not wrong]
    if not fitting:
        number, nearest = min(
            enumerate(complaints, 1), key=lambda entry: (_has_other_type(entry[1], ways[entry[0] - 1]), len(entry[1]))
        )
        yield _line(path, f"fits none of {len(ways)} ways; the nearest is number {number}", node, keyword)
        yield from nearest
    elif keyword == "oneOf" and len(fitting) > 1:
        yield _line(path, f"fits several ways, numbers {' and '.join(fitting)}, and may fit only one", node, keyword)


def _has_other_type(wrong: Sequence[str], way: Node) -> bool:
    """Has the value another type than the alternative expects?"""
    return any(line.endswith((f"({way.place}/type)", f"({way.place}/enum)")) for line in wrong)


_MOST_LINES = 20


@dataclass(frozen=True, slots=True)
class SectionSchema:
    """A schema of a section. Made by `schema_files.load`."""

    node: Node
    mode: CheckMode

    def problems(self, value: JSON, old: JSON = None) -> list[str]:
        """What is wrong with a section, one line each: path, what, and where the rule is written. At most 21 lines.

        `old` is the previous section, for rules about changes. Rules in CEL are checked only if the rest is valid.
        """
        try:
            lines = list(islice(problems(self.node, value, "", self.mode), _MOST_COUNTED))
            lines = lines or list(expressions.problems(self.node, value, old))
        except RecursionError:
            return ["the section is nested too deep"]
        at_least = "at least " * (len(lines) == _MOST_COUNTED)
        more = [f"and {at_least}{len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
        return [" ".join(line.split()) for line in lines[:_MOST_LINES]] + more

    def defaults(self, value: JSON) -> JSON:
        """The section with the defaults of absent keys; the section itself if no default applies. It is not changed."""
        try:
            return filled(self.node, value)
        except RecursionError:
            return value  # `problems` says so
