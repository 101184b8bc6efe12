"""The text fields of a section's schemas: where someone who sets values, or a hook, can put a text of their choice.

Nested properties, items of lists and values of maps are fields, and so are keys of maps. The schemas decide which texts
a field takes; they are asked by the code that checks values.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from hookrunner.values.schemas.node import Node, filled
from hookrunner.values.schemas.schema import CheckMode, problems
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_ITEM, _ANY_KEY, _KEY = "[]", "*", "<key>"
_FREE_KEY = "lint"
"""A key of a map for the values that are tried in it."""
_DEPTH = 12
WORD = "lint"
"""A harmless text."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A key on the way to a field, or one of the marks above. `sample` is what stands there if nothing else does."""

    key: str
    sample: JSON = None


@dataclass(frozen=True, slots=True)
class TextField:
    """A field. `place` is where its schema is written; `nodes` are the schemas of its text, none for keys."""

    steps: tuple[_Step, ...]
    place: str
    nodes: tuple[Node, ...] = ()

    @property
    def is_key(self) -> bool:
        return self.steps[-1].key == _KEY

    def __str__(self) -> str:
        """`settings.hosts[]`, `nodeSelector.*`, `nodeSelector`."""
        return "".join(f".{step.key}" if step.key != _ITEM else _ITEM for step in self.steps if step.key != _KEY)[1:]

    def accepts(self, text: str) -> bool:
        """Do the schemas of the text itself take it?"""
        mode = CheckMode(closed=False)
        return all(next(problems(node, text, "", mode), None) is None for node in self.nodes)

    def with_text(self, section: JSON, text: str) -> JSON:
        """The section with this text in the field, in a new item if it is in a list."""
        return _with_text(section, self.steps, text)


@dataclass(frozen=True, slots=True)
class SectionRules:
    """Rules for a section: `problems` lists what is wrong with one, `section` is one without anything hostile, `root`
    its schema."""

    root: Node
    problems: Callable[[JSON], Iterable[str]]
    section: JSON

    def accept(self, field: TextField, text: str) -> bool:
        """Is the section as valid with this text in the field as without? Fields of other layers are not judged."""
        if field.steps[0].key not in self.root.properties and not self.root.additional:
            return True
        return not set(self.problems(field.with_text(self.section, text))) - set(self.problems(self.section))


def text_fields(*roots: Node) -> list[TextField]:
    """The fields of the schemas of one section, each once."""
    found: dict[tuple[str, ...], TextField] = {}
    for root in roots:
        for one in _fields(root, ()):
            path = tuple(step.key for step in one.steps)
            known = found.get(path, one)
            found[path] = replace(known, nodes=tuple({id(node): node for node in (*known.nodes, *one.nodes)}.values()))
    return list(found.values())


def toggled(node: Node, section: JSON) -> JSON:
    """The section with each of its switches turned: what is off by default hides fields."""
    if not isinstance(section, dict):
        return section
    turned = {key: toggled(inner, section[key]) for key, inner in node.properties.items() if key in section}
    switches = {key: not section.get(key) for key, inner in node.properties.items() if inner.types == ("boolean",)}
    return {**section, **turned, **switches}


def _fields(node: Node, steps: tuple[_Step, ...]) -> Iterator[TextField]:
    if len(steps) > _DEPTH:
        return
    has_parts = node.properties or node.items or node.additional
    if steps and ("string" in node.types or not (node.types or has_parts)):
        yield TextField(steps, node.place, (node,))
    for key, inner in node.properties.items():
        yield from _fields(inner, (*steps, _Step(key, filled(inner, {}) if inner.properties else None)))
    if node.additional:
        inner = node.additional if isinstance(node.additional, Node) else Node(node.place)
        yield TextField((*steps, _Step(_KEY, _sample(inner))), node.place)
        yield from _fields(inner, (*steps, _Step(_ANY_KEY, _sample(inner))))
    if isinstance(node.items, Node):
        yield from _fields(node.items, (*steps, _Step(_ITEM, _sample(node.items))))


def _sample(node: Node) -> JSON:
    """A value that the schema is likely to take; whether it does is asked later."""
    match node.types[:1]:
        case ("object",):
            required = {key: _sample(node.properties[key]) for key in node.required if key in node.properties}
            return filled(node, required)
        case ("array",):
            return []
        case ("integer",) | ("number",):
            return 1
        case ("boolean",):
            return True
    return WORD


def _with_text(value: JSON, steps: tuple[_Step, ...], text: str) -> JSON:
    if not steps:
        return text
    step, rest = steps[0], steps[1:]
    if step.key == _ITEM:
        return [*(value if isinstance(value, list) else ()), _with_text(step.sample, rest, text)]
    mapping = value if isinstance(value, dict) else {}
    if step.key == _KEY:
        return {**mapping, text: step.sample}
    key = _FREE_KEY if step.key == _ANY_KEY else step.key
    return {**mapping, key: _with_text(mapping.get(key, step.sample), rest, text)}
