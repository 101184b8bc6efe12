"""The fields in which two versions of an object differ: what patches have done to it, not how they are written.

    list(map(str, field_changes({"spec": {"replicas": 1}}, {"spec": {"replicas": 2}})))  # ["spec.replicas"]

Maps are compared by key and down to their last values, also where one side has no map at all. Elements of two lists are
the same one if they have the same `name`, else if they have the same place in lists of one length. An element that only
one side has is a change of its own, and so is the order of elements. No change is left out: a version and the changes
lead to the other one. Time and memory grow with the size of the object, not with its depth.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hookrunner import redaction
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

ABSENT: Final = object()
"""Stands for the value of a key or an element that one side does not have."""

_UNORDERED = frozenset({"containers", "volumes"})
"""Lists whose order means nothing: a strategic merge patch may change it in passing. Init containers run in theirs, and
variables refer to earlier ones."""
_PLAIN = re.compile(r"[\w-]{1,100}", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """An element of a list, as a step to a place. `label` names it: `name=web`, its position, or `*`."""

    label: str
    before: JSON
    after: JSON

    def is_selected(self, key: str, value: str) -> bool:
        """Does each side that has the element have this value, as a text, in this field? Without a key it is."""
        sides = [side for side in (self.before, self.after) if side is not ABSENT]
        return not key or all(isinstance(side, dict) and _text(side.get(key)) == value for side in sides)


@dataclass(frozen=True, slots=True, eq=False)
class FieldPlace:
    """Where in an object something is: below the last step, which is a key of a map or an element of a list, from
    another place. The object itself has the step "" and nothing above. Links in place of whole paths: copies of these
    would take the depth times the size."""

    step: str | Element = ""
    above: "FieldPlace | None" = None

    def __str__(self) -> str:
        """`spec.containers[name=web].image`, for messages; no key is shown that is more than a name."""
        steps: list[str] = []
        place: FieldPlace | None = self
        while place and place.above:
            steps.append(_step_text(place.step))
            place = place.above
        return "".join(reversed(steps)).removeprefix(".")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A value that differs, or an element that one side does not have. `reordered`: of a list only the order
    differs. `within` marks what an element that one side does not have consists of, which follows it."""

    place: FieldPlace
    reordered: bool = False
    within: bool = False

    def __str__(self) -> str:
        return f"the order of {self.place}" if self.reordered else str(self.place)


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Both versions of what is at a place, to be compared."""

    before: JSON
    after: JSON
    place: FieldPlace
    within: bool = False


def field_changes(before: JSON, after: JSON) -> Iterator[FieldChange]:
    """All changes, in the order of the keys of `before`."""
    pending: list[FieldChange | _Pair] = [_Pair(before, after, FieldPlace())]
    while pending:  # no recursion: each level would pass on the changes of all levels below
        found = pending.pop()
        if isinstance(found, FieldChange):
            yield found
        else:
            pending += reversed(list(_compare(found)))


def _step_text(step: str | Element) -> str:
    if isinstance(step, Element):
        return f"[{step.label}]"
    return f".{step}" if _PLAIN.fullmatch(step) else f"[{redaction.key(step)}]"


def _text(value: JSON) -> str | None:
    return None if isinstance(value, bool | dict | list | None) else str(value)


def _compare(pair: _Pair) -> Iterator[FieldChange | _Pair]:
    """What differs in a pair at its own place, and the pairs in it, for the next comparison."""
    before, after, place, within = pair.before, pair.after, pair.place, pair.within
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (*before, *(key for key in after if key not in before)):
            yield _Pair(before.get(key, ABSENT), after.get(key, ABSENT), FieldPlace(key, place), within)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(before, after, place, within=within)
    elif before is ABSENT and _has_parts(after):
        yield _Pair(type(after)(), after, place, within)
    elif after is ABSENT and _has_parts(before):
        yield _Pair(before, type(before)(), place, within)
    elif not _is_same(before, after):
        yield FieldChange(place, within=within)
        if _has_parts(before):
            yield _Pair(before, ABSENT, place, within=True)
        if _has_parts(after):
            yield _Pair(ABSENT, after, place, within=True)


def _has_parts(value: JSON) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _is_same(before: JSON, after: JSON) -> bool:
    """Are they the same value? For Python `true` equals 1."""
    return before is after or (type(before) is type(after) and bool(before == after))


def _compare_lists(
    before: list[JSON], after: list[JSON], place: FieldPlace, *, within: bool
) -> Iterator[FieldChange | _Pair]:
    named_before, named_after = _by_name(before), _by_name(after)
    if named_before is not None and named_after is not None:
        yield from _compare_named(named_before, named_after, place, within=within)
    elif len(before) == len(after):
        for index, sides in enumerate(zip(before, after, strict=True)):
            yield _Pair(*sides, FieldPlace(Element(str(index), *sides), place), within)
    else:
        yield FieldChange(place, within=within)
        for removed in _only_in(before, after):
            yield _Pair(removed, ABSENT, FieldPlace(Element("*", removed, ABSENT), place), within=True)
        for added in _only_in(after, before):
            yield _Pair(ABSENT, added, FieldPlace(Element("*", ABSENT, added), place), within=True)


def _compare_named(
    before: Mapping[str, JSON], after: Mapping[str, JSON], place: FieldPlace, *, within: bool
) -> Iterator[FieldChange | _Pair]:
    for name in (*before, *(name for name in after if name not in before)):
        sides = before.get(name, ABSENT), after.get(name, ABSENT)
        element = FieldPlace(Element(f"name={redaction.key(name)}", *sides), place)
        is_new = ABSENT in sides
        if is_new and not within:
            yield FieldChange(element)
        yield _Pair(*sides, element, within or is_new)
    kept = [name for name in before if name in after]
    is_ordered = isinstance(place.step, Element) or place.step not in _UNORDERED
    if is_ordered and kept != [name for name in after if name in before]:
        yield FieldChange(place, reordered=True, within=within)


def _by_name(items: list[JSON]) -> dict[str, JSON] | None:
    """The elements by their names; None if not each has one of its own."""
    named = {item["name"]: item for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)}
    return named if len(named) == len(items) else None


def _only_in(items: Sequence[JSON], others: Sequence[JSON]) -> Iterator[JSON]:
    """The elements without those that the others have as well."""
    if not others:  # texts of elements in elements would take the depth times the size
        yield from items
        return
    left = Counter(map(repr, others))
    for item in items:
        if left[text := repr(item)] > 0:
            left[text] -= 1
        else:
            yield item
