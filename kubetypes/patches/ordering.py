"""The order of a merged list: what the patch says, and between that what only the live object has, where it stood.

https://github.com/kubernetes/design-proposals-archive/blob/main/cli/preserve-order-in-strategic-merge-patch.md
"""

from collections.abc import Sequence

import orjson

from kubetypes.json_values import JSON
from kubetypes.patches.printed import OBJECT, go_type, printed
from kubetypes.patches.refusals import PatchRefused, contradiction

Identity = bytes | str
"""What two elements must share to be one: the merge key's value, or the whole of a plain value; as JSON unless it is a
text."""


def not_a(wanted: str, value: JSON) -> PatchRefused:
    """An element or a directive is of the wrong type."""
    return contradiction(f"expected a {wanted}, but received a {go_type(value)}")


def identity(element: JSON, merge_key: str) -> Identity:
    """Raises `PatchRefused` if the element has no merge key. An empty `merge_key` is for lists of plain values."""
    value = element
    if merge_key:
        if not isinstance(element, dict):
            raise not_a(OBJECT, element)
        if merge_key not in element:
            raise contradiction(f"map: {printed(element)} does not contain declared merge key: {merge_key}")
        value = element[merge_key]
    return value if isinstance(value, str) else orjson.dumps(value)


def in_order(merged: Sequence[JSON], wanted: Sequence[JSON], live: Sequence[JSON], merge_key: str) -> list[JSON]:
    """`merged`, ordered: elements named in `wanted` as there, the others as in `live`, both woven by `live`."""
    by_patch = first_places(wanted, merge_key)
    by_live = first_places(live, merge_key)
    named = [(identity(one, merge_key), one) for one in merged]
    patched = sorted((pair for pair in named if pair[0] in by_patch), key=lambda pair: by_patch[pair[0]])
    others = sorted(
        (pair for pair in named if pair[0] not in by_patch), key=lambda pair: by_live.get(pair[0], len(by_live))
    )
    return [element for _, element in _woven(others, patched, by_live)]


def _woven(
    others: list[tuple[Identity, JSON]], patched: list[tuple[Identity, JSON]], by_live: dict[Identity, int]
) -> list[tuple[Identity, JSON]]:
    """Both lists, each in its order; an item only of the live object comes before a patched one that it preceded."""
    woven, begin = [], 0
    for pair in patched:
        while begin < len(others) and pair[0] in by_live and by_live.get(others[begin][0], -1) < by_live[pair[0]]:
            woven.append(others[begin])
            begin += 1
        woven.append(pair)
    return woven + others[begin:]


def first_places(elements: Sequence[JSON], merge_key: str) -> dict[Identity, int]:
    """Where each stands first."""
    places: dict[Identity, int] = {}
    for place, element in enumerate(elements):
        places.setdefault(identity(element, merge_key), place)
    return places
