"""The format of a module's test files: a list of cases, each with `name`, `given` and `expect`.

The tables are what is accepted; `cases.schema.json` says the same to editors, and a test compares the two.
"""

from collections.abc import Iterator

from hookrunner.hooks.shapes import FLAG, TEXT, Integer, Many, Problem, Table, check
from hookrunner.model.resources import JSON
from hookrunner.testing.cases.format import OBJECTS, as_written, twice_named
from hookrunner.testing.cases.places import Places

_MAPPING = Table({}, open=True)
GIVEN = Table(
    {
        "configValues": _MAPPING,
        "values": _MAPPING,
        "kubeVersion": TEXT,
        "apiVersions": Many(TEXT, at_least=0),
        "namespace": TEXT,
        "upgrade": FLAG,
    }
)
EXPECT = Table(
    {
        "objects": OBJECTS,
        "hooks": OBJECTS,
        "count": Integer(0, 100_000),
        "values": _MAPPING,
        "notes": TEXT,
        "golden": TEXT,
        "failure": TEXT,
    }
)
CASE = Table(
    {"name": TEXT, "given": GIVEN, "expect": EXPECT},
    required={"name": "two replicas bring a PodDisruptionBudget"},
)
_CASES = Many(CASE)
_LISTS = ("objects", "hooks")
_SHORT = ((".contain", ""),)


def problems(raw: JSON, found: Places) -> Iterator[Problem]:
    """Everything that is wrong with the value of a test file; paths as they are written."""
    if not isinstance(raw, list):
        yield Problem("", "a test file is a list of cases: `- name: …`, each with given and expect")
        return
    yield from (Problem(path, "is given twice; drop one of them") for path, place in found.items() if place.again)
    wrong = list(check([spelled_out(case) for case in raw], _CASES))
    yield from (Problem(as_written(problem.path, found, _SHORT), problem.text) for problem in wrong)
    if not wrong:
        yield from twice_named(raw)
        yield from _contradictions(raw)


def spelled_out(case: JSON) -> JSON:
    """A case with its short forms as the long ones that the tables describe."""
    if not isinstance(case, dict):
        return case
    case = {key: value for key, value in case.items() if value is not None}
    if isinstance(expect := case.get("expect"), dict):
        case["expect"] = {
            key: {"contain": value} if key in _LISTS and not isinstance(value, dict) else value
            for key, value in expect.items()
        }
    return case


def _contradictions(raw: list[JSON]) -> Iterator[Problem]:
    for place, case in enumerate(raw):
        expect = case.get("expect") or {}
        if "failure" in expect and (others := expect.keys() - {"failure", "values"}):
            text = f"a case that fails makes no {', '.join(sorted(others))}; drop one"
            yield Problem(f"[{place}].expect", text)
