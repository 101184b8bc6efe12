"""Golden mode: what comes of a case is what its test file expects. All else in the file stays, comments too."""

import re
from collections.abc import Iterable
from pathlib import Path

import orjson

from hookrunner.errors import BadInput
from hookrunner.manifests.yaml_positions import Position, Positions
from hookrunner.testing.cases.case_files import CaseSheet, overwrite, value_of
from hookrunner.testing.cases.expectations import Difference, actual
from hookrunner.testing.display import as_yaml
from hookrunner.testing.results import Effects, Result
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

_FIRST = ("patches", "metrics", "conditions", "runAgainAfterSeconds", "verdict", "values", "configValues")
"""Keys that a case without expectations gets, where the result has them."""


_TAKEN = re.compile(r"(?<=timed out) after [\d.]+s", re.DOTALL)
"""Differs from run to run."""


def expectation(expect: JSON, wrong: Iterable[Difference], result: Result, effects: Effects) -> JSON:
    """What the case should expect: its own words where they were right, else what happened."""
    if not result.ran:
        return {"run": False, "reason": result.reason}
    keys = dict.fromkeys(difference.key for difference in wrong if difference.key != "run")
    kept = {key: value for key, value in expect.items() if key not in ("run", "reason")}
    expected = {key: actual(key, result, effects) for key in keys if key != "failure"}
    if result.failure and not result.exit_code:
        expected["failure"] = _TAKEN.split(result.failure)[0]
    if not kept:
        expected |= {key: value for key in _FIRST if (value := actual(key, result, effects))} or {"patches": []}
    return {key: value for key, value in (kept | expected).items() if value not in (None, "") or key in _FIRST}


def rewrite_all(updates: Iterable[tuple[CaseSheet, str, JSON]]) -> None:
    """Give cases other expectations, each by its file and its path in it (`[0]`). Raises BadInput."""
    sheets, changes = dict[Path, CaseSheet](), dict[Path, dict[str, JSON]]()
    for sheet, path, expectation in updates:
        sheets[sheet.path] = sheet
        changes.setdefault(sheet.path, {})[path] = expectation
    for file, sheet in sheets.items():
        rewrite(sheet, changes[file])


def rewrite(file: CaseSheet, updates: dict[str, JSON]) -> None:
    """Give cases of a file other expectations. Raises BadInput, and has changed nothing then."""
    try:
        overwrite(file.path, rewritten(file.text, file.positions, updates))
    except BadInput as error:
        raise BadInput(f"{file.path} cannot be updated: {error}") from None


def rewritten(text: str, positions: Positions, updates: dict[str, JSON]) -> str:
    """The text of a test file with other expectations, by the paths of their cases (`[0]`).

    Raises BadInput if that cannot be done without changing what else the file says.
    """
    lines = text.split("\n")
    for path in sorted(updates, key=lambda path: positions[path].start, reverse=True):
        _rewrite(lines, positions[path], positions.get(f"{path}.expect"), updates[path])
    new = "\n".join(lines)
    wanted = [_with(case, updates.get(f"[{number}]")) for number, case in enumerate(value_of(text))]
    try:
        same = value_of(new) == wanted
    except BadDocument:
        same = False
    if not same:
        raise BadInput("an anchor (&…) within `expect` is used elsewhere, and would be lost; write it out there")
    return new


def _with(case: JSON, expect: JSON) -> JSON:
    return case if expect is None else {**case, "expect": expect}


def _rewrite(lines: list[str], case: Position, old: Position | None, expect: JSON) -> None:
    """From the bottom up, so that the positions above stay true."""
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


def _ends_its_line(lines: list[str], position: Position) -> bool:
    """Whether nothing but a comment follows a value."""
    return re.fullmatch(r"\s*(#.*)?", lines[position.end[0]][position.end[1] :]) is not None


def _inner_end(case: Position) -> tuple[int, int]:
    """Before the closing brace."""
    return case.end[0], case.end[1] - 1


def _replace(lines: list[str], start: tuple[int, int], end: tuple[int, int], expect: JSON, new: bool) -> None:
    """Inside braces, as JSON, which is YAML too."""
    value = orjson.dumps(expect).decode()
    shown = f", expect: {value}" if new else value
    head, tail = lines[start[0]][: start[1]], lines[end[0]][end[1] :]
    lines[start[0] : end[0] + 1] = [head + shown + tail]
