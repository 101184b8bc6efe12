"""What a write changed: the paths that were added, modified and removed between two states of an object."""

from typing import NamedTuple

from kubesandbox.fields.elements import element
from kubesandbox.fields.shapes import Shape, deduced
from kubetypes.field_sets import LEAF, SELF, Fields, union
from kubetypes.json_values import JSON, equal_in_value


class Changes(NamedTuple):
    """Sets of paths."""

    added: Fields
    modified: Fields
    removed: Fields

    @property
    def taken(self) -> Fields:
        """What the writer has set."""
        return union(self.added, self.modified)


class ComparedNode(NamedTuple):
    """What was found at one place: nodes of three sets, None where there is nothing."""

    added: Fields | None = None
    modified: Fields | None = None
    removed: Fields | None = None


SAME = ComparedNode()
MODIFIED = ComparedNode(modified=LEAF)


def changes(old: JSON, new: JSON, shape: Shape) -> Changes:
    """What is different in object `new`. Raises `NoElement`."""
    return Changes(*(node or {} for node in _compared(old, new, shape)))


def _compared(old: JSON, new: JSON, shape: Shape) -> ComparedNode:
    if old is new or (old == new and (shape.go or equal_in_value(old, new))):
        return SAME
    if isinstance(old, dict | None) and isinstance(new, dict | None):
        return _maps(old or {}, new or {}, shape) if (old or new) and not shape.atomic else _leaf(old, new)
    if isinstance(old, list | None) and isinstance(new, list | None):
        return _lists(old or [], new or [], shape) if (old or new) and shape.associative else _leaf(old, new)
    return _retyped(old, new, shape)


def _leaf(old: JSON, new: JSON) -> ComparedNode:
    return SAME if equal_in_value(old, new) else MODIFIED


def _retyped(old: JSON, new: JSON, shape: Shape) -> ComparedNode:
    """A value of another type: paths below the old one are removed, those below the new one added, its own modified."""
    gone, come = whole(old, shape), whole(new, shape)
    return ComparedNode(_below(come), LEAF if not come or not gone else None, _below(gone))


def _below(node: Fields) -> Fields | None:
    return {key: below for key, below in node.items() if key != SELF} or None


def _maps(old: dict[str, JSON], new: dict[str, JSON], shape: Shape) -> ComparedNode:
    nodes = Nodes()
    standing = shape.standing
    for name, value in new.items():
        below = shape.at(name) or deduced()
        if name in old or name in standing:
            nodes.put(f"f:{name}", _compared(old[name] if name in old else standing[name], value, below))
        else:
            nodes.added[f"f:{name}"] = whole(value, below)
    for name, value in old.items():
        if name in new:
            continue
        below = shape.at(name) or deduced()
        if name in standing:
            nodes.put(f"f:{name}", _compared(value, standing[name], below))
        else:
            nodes.removed[f"f:{name}"] = whole(value, below)
    return nodes.found()


def _lists(old: list[JSON], new: list[JSON], shape: Shape) -> ComparedNode:
    nodes = Nodes()
    before, after = indexed(old, shape), indexed(new, shape)
    for key in before.keys() | after.keys():
        were, are = before.get(key, ()), after.get(key, ())
        if len(were) == len(are) == 1:
            nodes.put(key, _compared(were[0], are[0], shape.item))
        elif len(were) > 1 and len(are) > 1:
            nodes.put(key, _leaf(were, are))
        else:
            nodes.put(key, ComparedNode(_elements(are, shape), None, _elements(were, shape)))
    return nodes.found()


def _elements(same_key: tuple[JSON, ...], shape: Shape) -> Fields | None:
    """Elements that share a key are owned as one."""
    if not same_key:
        return None
    return whole(same_key[0], shape.item) if len(same_key) == 1 else LEAF


def indexed(items: list[JSON], shape: Shape) -> dict[str, tuple[JSON, ...]]:
    """The elements of a list by their path elements, in order. Raises `NoElement`."""
    found: dict[str, list[JSON]] = {}
    for item in items:
        found.setdefault(element(item, shape), []).append(item)
    return {key: tuple(same_key) for key, same_key in found.items()}


def whole(value: JSON, shape: Shape) -> Fields:
    """The node of a value that comes or goes with all that is in it."""
    node: Fields
    if isinstance(value, dict) and value and not shape.atomic:
        node = {SELF: LEAF}
        for name, one in value.items():
            plain = isinstance(one, str | int)
            node[f"f:{name}"] = LEAF if plain else whole(one, shape.at(name) or deduced())
        return node
    if isinstance(value, list) and value and shape.associative:
        node = {SELF: LEAF}
        for key, same_key in indexed(value, shape).items():
            node[key] = whole(same_key[0], shape.item) if len(same_key) == 1 else LEAF
        return node
    return LEAF


class Nodes:
    """The three nodes of one place, as they grow."""

    def __init__(self) -> None:
        self.added: Fields = {}
        self.modified: Fields = {}
        self.removed: Fields = {}

    def put(self, key: str, found: ComparedNode) -> None:
        """What was found below."""
        added, modified, removed = found
        if added is not None:
            self.added[key] = added
        if modified is not None:
            self.modified[key] = modified
        if removed is not None:
            self.removed[key] = removed

    def found(self) -> ComparedNode:
        return ComparedNode(self.added or None, self.modified or None, self.removed or None)
