"""The format of `<hook>.test.yaml`: a list of cases, each with `name`, `given`, `when` and `expect`.

The tables are what is accepted; `cases.schema.json` says the same to editors, and a test compares the two. Objects in
the cases are read by `case_files.py`.
"""

import re
from collections.abc import Iterable, Iterator

from hookrunner.manifests.yaml_positions import Positions
from hookrunner.shapes import ANY_VALUE, FLAG, INTEGER, TEXT, Many, Problem, Table, Text, check
from hookrunner.testing.cases.expectations import pattern
from hookrunner.testing.happenings import EVENTS
from hookrunner.testing.reviews import OPERATIONS
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
