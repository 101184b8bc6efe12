"""Schemas that never come to an end: defaults that bring themselves, a schema that holds where it holds itself.

A schema may well refer to itself, as a tree of folders does; each step must then need a part of the value.
"""

from collections.abc import Callable, Iterator, Sequence

from hookrunner.values.schemas.node import Node

_Steps = Callable[[Node], Iterator[Node]]


def endless(nodes: Sequence[Node]) -> list[str]:
    """What is wrong with these, which are all that there are; one line each."""
    kinds = (
        (Node.beside, "applies itself (allOf, anyOf, oneOf, not) without end"),
        (_by_default, "is filled with defaults without end"),
    )
    return [f"{place} {text}" for steps, text in kinds for place in _in_circle(nodes, steps)]


def _in_circle(nodes: Sequence[Node], steps: _Steps) -> Iterator[str]:
    """The first place from which these steps lead back to it."""
    ahead = {id(node): {id(one) for one in steps(node)} for node in nodes}
    left = len(ahead) + 1
    while len(ahead) < left:
        left = len(ahead)
        entered = set().union(*ahead.values())
        ahead = {
            node: onward & ahead.keys() for node, onward in ahead.items() if node in entered and onward & ahead.keys()
        }
    yield from [node.at for node in nodes if id(node) in ahead][:1]


def _by_default(node: Node) -> Iterator[Node]:
    """What is reached without anything being there."""
    yield from (inner for inner in node.properties.values() if isinstance(inner.default, dict | list))
    if node.default and isinstance(node.default, list) and isinstance(node.items, Node):
        yield node.items
