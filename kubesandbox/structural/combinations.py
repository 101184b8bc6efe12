"""Rules on whole values: enumerations, and alternatives (`anyOf`, `oneOf`, `allOf`, `not`).

Of several alternatives that all fail the API server shows the complaints of the one that matched most.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import orjson

from kubesandbox.status import shown
from kubesandbox.structural.complaints import Complaint, not_one_of, remark
from kubetypes.json_values import JSON

Step: TypeAlias = Callable[[JSON, JSON, str, list[Complaint]], int]
"""Value, old value, path, where to put complaints → how many rules matched."""


def written(value: JSON) -> bytes:
    """A value to be compared as JSON: true is not 1, 1 is not 1.0."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


class Enumeration:
    """`enum`. A null is never one of those allowed, even if it is listed: so the API server sees it."""

    def __init__(self, allowed: Sequence[JSON]) -> None:
        self._allowed = allowed
        self._known = {written(one) for one in allowed if one is not None}

    def check(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        if written(value) not in self._known and not self._as_number(value):
            found.append(not_one_of(path, value, self._allowed))
        return 0

    def _as_number(self, value: JSON) -> bool:
        """Whether a number is one of those allowed once it has their type: Go makes 1 of 1.5 where 1 is allowed."""
        if type(value) not in (int, float):
            return False
        return any(type(one)(value) == one for one in self._allowed if type(one) in (int, float))


def any_of(branches: Sequence[Step], value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
    """At least one alternative holds."""
    best, most = [], -1
    for branch in branches:
        inner: list[Complaint] = []
        count = branch(value, old, path, inner)
        if not inner:
            return count
        if count > most:
            best, most = inner, count
    found.append(remark(f"{shown(path)} must validate at least one schema (anyOf)"))
    found.extend(best)
    return most


def one_of(branches: Sequence[Step], value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
    """Exactly one alternative holds."""
    best, most, matched = [], -1, []
    for branch in branches:
        inner: list[Complaint] = []
        count = branch(value, old, path, inner)
        if not inner:
            matched.append(count)
        elif not matched and count > most:
            best, most = inner, count
    if len(matched) == 1:
        return matched[0]
    said = f"Found {len(matched)} valid alternatives" if matched else "Found none valid"
    found.append(remark(f"{shown(path)} must validate one and only one schema (oneOf). {said}"))
    if matched:
        return 0
    found.extend(best)
    return most


def all_of(branches: Sequence[Step], value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
    """All hold."""
    count, matched = 0, 0
    for branch in branches:
        before = len(found)
        count += branch(value, old, path, found)
        matched += len(found) == before
    if matched < len(branches):
        found.append(
            remark(f"{shown(path)} must validate all the schemas (allOf){'' if matched else '. None validated'}")
        )
    return count


def negated(branch: Step, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
    """The schema does not hold."""
    inner: list[Complaint] = []
    branch(value, old, path, inner)
    if not inner:
        found.append(remark(f"{shown(path)} must not validate the schema (not)"))
    return 0
