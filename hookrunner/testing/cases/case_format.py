"""The format of `<hook>.test.yaml`: a list of cases, each with `name`, `given`, `when` and `expect`.

`cases.schema.json` is what is accepted, and what editors use. Objects in the cases are read by `case_files.py`.
"""

import re
from collections.abc import Callable, Iterator

from hookrunner.file_schemas import FileSchema
from hookrunner.manifests.yaml_positions import Positions
from hookrunner.shapes import Problem
from hookrunner.testing.cases.expectations import pattern
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

SUFFIX = ".test.yaml"


@dataclass(frozen=True, slots=True)
class CaseFormat:
    """What a test file may have. `keys` are those of a case, for people; `contradictions` is what is wrong with what a
    case expects, at a path, though it is in order by the schema."""

    schema: FileSchema
    keys: str
    contradictions: Callable[[JSON, str], Iterator[Problem]]

    def problems(self, raw: JSON, positions: Positions) -> Iterator[Problem]:
        """Everything that is wrong with the value of a test file, but for the objects in it."""
        if not isinstance(raw, list):
            yield Problem("", f"a test file is a list of cases: `- name: …`, each with {self.keys}")
            return
        yield from _duplicate_keys(positions)
        wrong = list(self.schema.problems([_without_nulls(case) for case in raw]))
        yield from wrong
        if not wrong:
            yield from _twice_named(raw)
            for position, case in enumerate(raw):
                yield from self.contradictions(case.get("expect") or {}, f"[{position}].expect")


def _without_nulls(case: JSON) -> JSON:
    return {key: value for key, value in case.items() if value is not None} if isinstance(case, dict) else case


def _duplicate_keys(positions: Positions) -> Iterator[Problem]:
    """Keys that are given twice in one map, of which YAML keeps the later."""
    for path, position in positions.items():
        if position.again:
            yield Problem(path, "is given twice; drop one of them")


def spelled_out(case: JSON) -> JSON:
    """A case that is in order, with lists in `when` and objects in `given` as the long forms."""
    case = _without_nulls(case)
    if not isinstance(case["when"], list):
        case["when"] = [case["when"]]
    if isinstance(case.get("given"), list):
        case["given"] = {"objects": case["given"]}
    return case


def _twice_named(raw: list[JSON]) -> Iterator[Problem]:
    """Cases with the name of an earlier one."""
    names = [case["name"] for case in raw]
    for position, name in enumerate(names):
        if name in names[:position]:
            yield Problem(f"[{position}].name", f"'{name}' is the name of an earlier case")


def _contradictions(expect: JSON, path: str) -> Iterator[Problem]:
    if expect.get("run") is False and (others := expect.keys() - {"run", "reason"}):
        yield Problem(path, f"a hook that does not run cannot do what {', '.join(sorted(others))} expects; drop one")
    for number, wanted in enumerate(expect.get("logs", [])):
        try:
            pattern(wanted)
        except re.error as error:
            yield Problem(f"{path}.logs[{number}]", f"'{wanted}' is no regular expression: {error}; fix it, or add .*")


HOOK_CASES = CaseFormat(
    FileSchema.load("hookrunner.testing.cases", "cases.schema.json"), "given, when and expect", _contradictions
)
