"""Reads golden files: what goes in and what must come out, case by case, as a person can read and review it.

=== name of the case
the text that goes in
--- gives                    (or: --- refused)
JSON without default values  (or: one problem a line)
"""

import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

_CASE = re.compile(r"^=== (.+)\n((?:.*\n)*?)--- (gives|refused)\n((?:.*\n)*?)(?=\n*(?:^=== |\Z))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """`given` is what goes in; `refused` says whether `expected` is a list of problems."""

    name: str
    given: bytes
    refused: bool
    expected: str


def cases(name: str) -> list[Case]:
    """The cases of a file beside this one. Raises ValueError if a part of it cannot be read as a case."""
    text = (Path(__file__).parent / name).read_text()
    found = list(_CASE.finditer(text))
    if len(found) != len(re.findall(r"^=== ", text, re.MULTILINE)):
        raise ValueError(f"{name}: a case lacks its `--- gives` or `--- refused`")
    return [Case(m[1], m[2].encode(), m[3] == "refused", m[4].strip()) for m in found]


def plain(value: Any) -> Any:
    """Any of our values as JSON, fields that have their default left out."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(item) for name, item in _said(value)}
    if isinstance(value, frozenset):
        return sorted(map(plain, value))
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def _said(value: Any) -> Iterator[tuple[str, Any]]:
    for each in fields(value):
        item = getattr(value, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if item != default:
            yield each.name, item
