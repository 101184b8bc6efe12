"""Golden mode: what a hook does becomes what its test file expects. Everything else in the file stays, comments too."""

import re
from collections.abc import Iterable

import orjson

from hookrunner.model.resources import JSON
from hookrunner.testing.bench import Result
from hookrunner.testing.cases.expect import Difference, Objects, actual
from hookrunner.testing.cases.places import Place, Places
from hookrunner.testing.diffs import as_yaml

_FIRST = ("patches", "metrics", "verdict", "values", "configValues")
"""What a case is given that expects nothing yet, where there is something of it."""


def expectation(expect: JSON, wrong: Iterable[Difference], result: Result, objects: Objects) -> JSON:
    """What the case should expect: its own words where they were right, else what happened."""
    if not result.ran:
        return {"run": False, "reason": result.reason}
    keys = {difference.key for difference in wrong} - {"run"}
    kept = {key: value for key, value in expect.items() if key not in ("run", "reason")}
    found = {key: actual(key, result, objects) for key in keys if key != "failure"}
    if result.failure and result.exit_code == 0:
        found["failure"] = result.failure
    if not kept:
        found |= {key: value for key in _FIRST if (value := actual(key, result, objects))} or {"patches": []}
    return kept | found


def rewritten(text: str, places: Places, updates: dict[str, JSON]) -> str:
    """The text of a test file with other expectations, by the paths of their cases (`[0]`)."""
    lines = text.split("\n")
    for path in sorted(updates, key=lambda path: places[path].start, reverse=True):
        _rewrite(lines, places[path], places.get(f"{path}.expect"), updates[path])
    return "\n".join(lines)


def _rewrite(lines: list[str], case: Place, old: Place | None, expect: JSON) -> None:
    """From the bottom up, so that the places above stay true."""
    if case.flow or (old and old.key and old.start[0] == old.key[0] and not _ends_its_line(lines, old)):
        _replace(
            lines, old.start if old else _inner_end(case), old.end if old else _inner_end(case), expect, old is None
        )
    elif old and old.key:
        first, last = old.key[0], old.end[0]
        while not lines[last].strip():  # behind a block of text
            last -= 1
        comment = lines[last][old.end[1] :] if first == last else ""
        lines[first : last + 1] = _block(lines[first][: old.key[1]], old.key[1], expect, comment)
    else:
        indent = case.start[1]
        lines[case.end[0] + 1 : case.end[0] + 1] = _block(" " * indent, indent, expect, "")


def _block(before_key: str, indent: int, expect: JSON, comment: str) -> list[str]:
    body = [" " * (indent + 2) + line if line else "" for line in as_yaml(expect).splitlines()]
    return [f"{before_key}expect:{comment}", *body]


def _ends_its_line(lines: list[str], place: Place) -> bool:
    """Whether nothing but a comment follows a value."""
    return re.fullmatch(r"\s*(#.*)?", lines[place.end[0]][place.end[1] :]) is not None


def _inner_end(case: Place) -> tuple[int, int]:
    """Before the closing brace."""
    return case.end[0], case.end[1] - 1


def _replace(lines: list[str], start: tuple[int, int], end: tuple[int, int], expect: JSON, new: bool) -> None:
    """Inside braces, as JSON, which is YAML too."""
    value = orjson.dumps(expect).decode()
    shown = f", expect: {value}" if new else value
    head, tail = lines[start[0]][: start[1]], lines[end[0]][end[1] :]
    lines[start[0] : end[0] + 1] = [head + shown + tail]
