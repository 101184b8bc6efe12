"""The format of `<hook>.test.yaml`: a list of cases, each with `name`, `given`, `when` and `expect`.

The tables are what is accepted; `cases.schema.json` says the same to editors, and a test compares the two. Objects in
the cases are read by `case_files.py`.

`find_positions` finds the place of each value in the text: for errors that name a line, and for changing one value and
nothing else. Paths are spelled as in `hooks/shapes`: `[0].when.object`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import yaml

from hookrunner.shapes import ANY_VALUE, FLAG, INTEGER, TEXT, Many, Problem, Table, Text, check
from hookrunner.testing.cases.expectations import pattern
from hookrunner.testing.happenings import EVENTS
from hookrunner.testing.reviews import OPERATIONS
from kubetypes import yaml_values
from kubetypes.json_values import JSON

SUFFIX = ".test.yaml"

_MAPPING = Table({}, open=True)
GIVEN = Table(
    {
        "objects": Many(ANY_VALUE, at_least=0),
        "snapshots": _MAPPING,
        "values": _MAPPING,
        "configValues": _MAPPING,
        "instance": ANY_VALUE,
    }
)
WHEN = Table(
    {
        "event": Text(EVENTS),
        "binding": TEXT,
        "group": TEXT,
        "object": ANY_VALUE,
        "oldObject": ANY_VALUE,
        "objects": Many(ANY_VALUE),
        "operation": Text(OPERATIONS),
        "dryRun": FLAG,
        "subresource": TEXT,
        "to": TEXT,
    },
    at_least=1,
)
_ITEMS = Many(_MAPPING, at_least=0)
LISTING = Table({"contain": _ITEMS, "exactly": _ITEMS})
OBJECTS = Table({**LISTING.keys, "absent": _ITEMS})
EXPECT = Table(
    {
        "run": FLAG,
        "reason": TEXT,
        "exit": INTEGER,
        "failure": TEXT,
        "refusal": TEXT,
        "logs": Many(TEXT, at_least=0),
        "contexts": LISTING,
        "patches": LISTING,
        "metrics": LISTING,
        "conditions": LISTING,
        "verdict": _MAPPING,
        "mutated": _MAPPING,
        "values": _MAPPING,
        "configValues": _MAPPING,
        "objects": OBJECTS,
    }
)
CASE = Table(
    {"name": TEXT, "given": GIVEN, "when": Many(WHEN), "expect": EXPECT},
    required={"name": "copies a new Secret", "when": "{event: Startup}"},
)
_CASES = Many(CASE)

_LISTS = ("contexts", "patches", "metrics", "conditions", "objects")
_SHORT = ((".when[0]", ".when"), (".objects", ""), (".contain", ""))


@dataclass(slots=True)
class Position:
    """A value, from its first character to behind its last; lines and columns count from 0. `key` is where the key
    begins whose value it is, None in a list and at the root. `flow` values stand in brackets. `again`: the mapping has
    the key twice, and this is the later one."""

    start: tuple[int, int]
    end: tuple[int, int]
    key: tuple[int, int] | None = None
    flow: bool = False
    again: bool = False


Positions = dict[str, Position]


def problems(raw: JSON, positions: Positions) -> Iterator[Problem]:
    """Everything that is wrong with the value of a test file, but for the objects in it; paths as they are written."""
    if not isinstance(raw, list):
        yield Problem("", "a test file is a list of cases: `- name: …`, each with given, when and expect")
        return
    yield from duplicate_keys(positions)
    wrong = list(check([spelled_out(case) for case in raw], _CASES))
    yield from (Problem(as_written(problem.path, positions, _SHORT), problem.text) for problem in wrong)
    if not wrong:
        yield from _contradictions(raw)


def duplicate_keys(positions: Positions) -> Iterator[Problem]:
    """Keys that are given twice in one map, of which YAML keeps the later."""
    for path, position in positions.items():
        if position.again:
            yield Problem(path, "is given twice; drop one of them")


def spelled_out(case: JSON) -> JSON:
    """A case with its short forms as the long ones that the tables describe."""
    if not isinstance(case, dict):
        return case
    case = {key: value for key, value in case.items() if value is not None}
    if not isinstance(case.get("when", []), list):
        case["when"] = [case["when"]]
    if isinstance(case.get("given"), list):
        case["given"] = {"objects": case["given"]}
    if isinstance(expect := case.get("expect"), dict):
        case["expect"] = {
            key: {"contain": value} if key in _LISTS and not isinstance(value, dict) else value
            for key, value in expect.items()
        }
    return case


def as_written(path: str, positions: Positions, short_forms: Iterable[tuple[str, str]]) -> str:
    """The path in the short form, if that is how it was written."""
    for long, short in short_forms:
        around, sign, rest = path.partition(long)
        if sign and rest[:1] in ("", ".", "[") and around + sign not in positions:
            return around + short + rest
    return path


def twice_named(raw: list[JSON]) -> Iterator[Problem]:
    """Cases with the name of an earlier one."""
    names = [case["name"] for case in raw]
    for position, name in enumerate(names):
        if name in names[:position]:
            yield Problem(f"[{position}].name", f"'{name}' is the name of an earlier case")


def _contradictions(raw: list[JSON]) -> Iterator[Problem]:
    yield from twice_named(raw)
    for position, case in enumerate(raw):
        yield from _of_expectation(case.get("expect") or {}, f"[{position}].expect")


def _of_expectation(expect: JSON, path: str) -> Iterator[Problem]:
    if expect.get("run") is False and (others := expect.keys() - {"run", "reason"}):
        yield Problem(path, f"a hook that does not run cannot do what {', '.join(sorted(others))} expects; drop one")
    for number, wanted in enumerate(expect.get("logs", [])):
        try:
            pattern(wanted)
        except re.error as error:
            yield Problem(f"{path}.logs[{number}]", f"'{wanted}' is no regular expression: {error}; mend it, or add .*")


def find_positions(text: str) -> Positions:
    """The places of all values in the first document."""
    events = (event for event in yaml_values.events(text) if isinstance(event, yaml.NodeEvent | _ENDS))
    positions: Positions = {}
    for event in events:
        _walk(event, events, "", positions)
        break
    return positions


def line_of(path: str, positions: Positions) -> int:
    """The line (from 1) of the value at a path, or of the nearest one around it that is there."""
    while path and path not in positions:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    position = positions.get(path)
    return (position.key or position.start)[0] + 1 if position else 1


_ENDS = yaml.CollectionEndEvent


def _walk(event: yaml.Event, events: Iterator[yaml.Event], path: str, positions: Positions) -> Position:
    position = Position(_mark(event.start_mark), _mark(event.end_mark))
    positions[path] = position
    if isinstance(event, yaml.CollectionStartEvent):
        position.flow = bool(event.flow_style)
        inside = _mapping if isinstance(event, yaml.MappingStartEvent) else _sequence
        last, end = inside(events, path, positions)
        # The end of a block is where the next thing begins, which may be lines below its last value.
        position.end = _mark(end.end_mark) if position.flow or last is None else last
    elif position.end[1] == 0 and position.end > position.start:
        position.end = (position.end[0] - 1, 1 << 30)  # a block scalar ends with its last line
    return position


def _mapping(
    events: Iterator[yaml.Event], path: str, positions: Positions
) -> tuple[tuple[int, int] | None, yaml.Event]:
    last, names = None, set[str]()
    while not isinstance(key := next(events), _ENDS):
        name = key.value if isinstance(key, yaml.ScalarEvent) else "?"
        position = _walk(next(events), events, f"{path}.{name}" if path else name, positions)
        position.key = _mark(key.start_mark)
        position.again = name in names and name != "<<"
        names.add(name)
        last = position.end
    return last, key


def _sequence(
    events: Iterator[yaml.Event], path: str, positions: Positions
) -> tuple[tuple[int, int] | None, yaml.Event]:
    last, number = None, 0
    while not isinstance(event := next(events), _ENDS):
        last = _walk(event, events, f"{path}[{number}]", positions).end
        number += 1
    return last, event


class _Mark(Protocol):
    line: int
    column: int


def _mark(mark: _Mark | None) -> tuple[int, int]:
    return (mark.line, mark.column) if mark else (0, 0)
