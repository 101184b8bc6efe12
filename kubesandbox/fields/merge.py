"""What an applied configuration owns, the object that comes of it, and an object without some of its fields."""

from collections import deque
from collections.abc import Iterator

from kubesandbox.fields.compare import indexed
from kubesandbox.fields.elements import NoElement, element
from kubesandbox.fields.shapes import Shape, deduced
from kubetypes.field_sets import LEAF, SELF, Fields, member, node_of
from kubetypes.json_values import JSON


def owned(config: JSON, shape: Shape) -> Fields:
    """The paths that a configuration states: leaves, elements of lists and of maps, structs that are empty."""
    return _owned(config, shape, itself=False) or {}


def _owned(value: JSON, shape: Shape, itself: bool) -> Fields | None:
    """`itself`: the place is stated even when nothing below is, being an element of a list or of a map."""
    if isinstance(value, dict) and value and not shape.atomic:
        nodes = ((f"f:{name}", _field(name, one, shape)) for name, one in value.items())
        return node_of(itself, {key: node for key, node in nodes if node is not None})
    if isinstance(value, list) and shape.associative:
        elements = _told_apart(value, shape).items()
        nodes = ((key, _owned(same[0], shape.item, True) if len(same) == 1 else LEAF) for key, same in elements)
        return node_of(itself, {key: node for key, node in nodes if node is not None})
    return LEAF


def _told_apart(items: list[JSON], shape: Shape) -> dict[str, tuple[JSON, ...]]:
    """Only elements that still have their keys: pruning may have removed the keys of an element that stays."""
    try:
        return indexed(items, shape)
    except NoElement:
        return indexed([item for item in items if _has_keys(item, shape)], shape)


def _has_keys(item: JSON, shape: Shape) -> bool:
    try:
        return bool(element(item, shape))
    except NoElement:
        return False


def _field(name: str, value: JSON, shape: Shape) -> Fields | None:
    return _owned(value, shape.at(name) or deduced(), name not in shape.fields)


def merged(live: JSON, config: JSON, shape: Shape) -> JSON:
    """The live value with the configuration laid over it. What is taken over is shared with the inputs."""
    if isinstance(live, dict | None) and isinstance(config, dict | None):
        return _merged_maps(live or {}, config or {}, shape) if (live or config) and not shape.atomic else config
    if isinstance(live, list | None) and isinstance(config, list | None):
        return _merged_lists(live or [], config or [], shape) if (live or config) and shape.associative else config
    return config


def _merged_maps(live: dict[str, JSON], config: dict[str, JSON], shape: Shape) -> dict[str, JSON]:
    both = dict(live)
    for name, value in config.items():
        both[name] = merged(live[name], value, shape.at(name) or deduced()) if name in live else value
    return both


def _merged_lists(live: list[JSON], config: list[JSON], shape: Shape) -> list[JSON]:
    there, stated = indexed(live, shape), indexed(config, shape)
    result = []
    for key, at in _interleaved([element(item, shape) for item in live], list(stated)):
        if at is not None:
            result.append(live[at])
        elif len(there.get(key, ())) == 1:
            result.append(merged(there[key][0], stated[key][0], shape.item))
        else:
            result.append(stated[key][0])
    return result


def _interleaved(live: list[str], stated: list[str]) -> Iterator[tuple[str, int | None]]:
    """The order of a merged list: stated elements in their order, each after the live ones that stood before it.

    Elements that only the live list has come with their place in it.
    """
    there, known, placed = set(live), set(stated), set[str]()
    due = deque(key for key in stated if key in there)
    at = turn = 0
    while at < len(live) or turn < len(stated):
        key = live[at] if at < len(live) else None
        if key is not None and key not in known:
            yield key, at
            at += 1
            continue
        meets = turn < len(stated) and key == stated[turn]
        if key is not None and not meets and turn < len(stated) and due and due[0] != key:
            at += 1  # It is stated further on, and placed there.
            continue
        at += meets or key in placed
        if turn < len(stated):
            yield stated[turn], None
            placed.add(stated[turn])
            if due and due[0] == stated[turn]:
                due.popleft()
            turn += 1


def removed(value: JSON, fields: Fields, shape: Shape) -> JSON:
    """The value without some paths, None when nothing is left of a map or a list."""
    if isinstance(value, dict) and not shape.atomic:
        kept = {}
        for name, one in value.items():
            node = fields.get(f"f:{name}")
            if node is None:
                kept[name] = one
            elif not member(node):
                kept[name] = removed(one, node, shape.at(name) or deduced())
        return kept or None
    if isinstance(value, list) and shape.associative:
        nodes = [(item, fields.get(element(item, shape))) for item in value]
        left = [item if node is None else removed(item, node, shape.item) for item, node in nodes if not _whole(node)]
        return left or None
    return None if isinstance(value, dict | list) else value


def _whole(node: Fields | None) -> bool:
    return node is not None and member(node)


def named(fields: Fields, shape: Shape) -> Fields:
    """The set with every struct above one of its paths, so that a struct goes with the last of its fields."""
    result = {}
    for key, node in fields.items():
        if not node:
            result[key] = node
            continue
        name = key[2:] if key.startswith("f:") else ""
        below = named(node, (shape.at(name) or deduced()) if name else shape.item)
        result[key] = {SELF: LEAF, **below} if name in shape.fields else below
    return result
