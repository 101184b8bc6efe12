"""Sets of field paths, kept as the JSON of `fieldsV1`: nothing is parsed to compute with them.

A set is a tree of path elements, written as JSON keys: `f:<field>`, `k:{"name":"a"}` (an element of a list by its
keys), `v:<JSON>` (an element of a set), `i:<number>`. A node is a *member* when it is empty or holds `.`; what else it
holds are its children. The root is no member. No function changes a set; one that has nothing to change returns it as
it came.

https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#fieldsv1-v1-meta has the format.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

Fields: TypeAlias = dict[str, Any]
"""The JSON of `fieldsV1`."""

Path: TypeAlias = tuple[str, ...]

SELF = "."
LEAF: Fields = {}


def member(node: Fields) -> bool:
    """Whether the path that ends here is in the set, not only paths below."""
    return not node or SELF in node


def union(one: Fields, other: Fields) -> Fields:
    """Every path of either set."""
    if not other:
        return one
    if not one:
        return other
    both = dict(one)
    for key, node in other.items():
        mine = both.get(key)
        both[key] = node if mine is None else _joined(mine, node)
    return both


def _joined(one: Fields, other: Fields) -> Fields:
    if not one and not other:
        return LEAF
    both = union(one, other)
    return {SELF: LEAF, **both} if SELF not in both and (not one or not other) else both


def intersection(one: Fields, other: Fields) -> Fields:
    """Every path that both sets have."""
    if len(other) < len(one):
        one, other = other, one
    common = {}
    for key, node in one.items():
        theirs = other.get(key)
        if key != SELF and theirs is not None and (shared := _shared(node, theirs)) is not None:
            common[key] = shared
    return common


def _shared(one: Fields, other: Fields) -> Fields | None:
    return node_of(member(one) and member(other), intersection(one, other))


def difference(one: Fields, other: Fields) -> Fields:
    """The paths of `one` that `other` does not have. A path stays when only a path above it is in `other`."""
    rest = None
    for key, node in other.items():
        mine = one.get(key)
        if key == SELF or mine is None:
            continue
        left = _left(mine, node)
        if left is not mine:
            rest = _with(one if rest is None else rest, key, left)
    return one if rest is None else rest


def _left(one: Fields, other: Fields) -> Fields | None:
    below = difference(one, other)
    if below is one and not (member(one) and member(other)):
        return one
    return node_of(member(one) and not member(other), below)


def without(one: Fields, other: Fields) -> Fields:
    """The paths of `one` that are neither in `other` nor below a path of it."""
    rest = None
    for key, node in other.items():
        mine = one.get(key)
        if mine is None:
            continue
        below = {} if member(node) else without(mine, node)
        if below is not mine:
            rest = _with(one if rest is None else rest, key, below or None)
    return one if rest is None else rest


def _with(fields: Fields, key: str, node: Fields | None) -> Fields:
    changed = dict(fields)
    if node is None:
        del changed[key]
    else:
        changed[key] = node
    return changed


def node_of(is_member: bool, children: Fields) -> Fields | None:
    """A node of its parts, None when it would hold no path."""
    below = {key: node for key, node in children.items() if key != SELF}
    if not below:
        return LEAF if is_member else None
    return {SELF: LEAF, **below} if is_member else below


def has(fields: Fields, path: Iterable[str]) -> bool:
    """Whether a path is in the set."""
    node: Fields | None = fields
    for key in path:
        node = None if node is None else node.get(key)
    return node is not None and member(node)


def of(*paths: Path) -> Fields:
    """The set of some paths."""
    fields: Fields = {}
    for path in paths:
        node: Fields = LEAF
        for key in reversed(path):
            node = {key: node}
        fields = union(fields, node)
    return fields
