"""The format of `<hook>.test.yaml`: a list of cases, each with `name`, `given`, `when` and `expect`.

The tables are what is accepted; `cases.schema.json` says the same to editors, and a test compares the two.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hookrunner import yaml_values
from hookrunner.errors import BadInput
from hookrunner.hooks.shapes import ANYTHING, FLAG, INTEGER, TEXT, Many, Problem, Table, Text, check
from hookrunner.model.resources import JSON
from hookrunner.testing import manifests
from hookrunner.testing.asking import EVENTS, Words
from hookrunner.testing.cases.places import Places, line_of, places
from hookrunner.testing.happenings import Given
from hookrunner.testing.reviews import OPERATIONS
from hookrunner.yaml_values import BadDocument

SUFFIX = ".test.yaml"

_MAPPING = Table({}, open=True)
GIVEN = Table(
    {"objects": Many(ANYTHING, at_least=0), "snapshots": _MAPPING, "values": _MAPPING, "configValues": _MAPPING}
)
WHEN = Table(
    {
        "event": Text(EVENTS),
        "binding": TEXT,
        "group": TEXT,
        "object": ANYTHING,
        "oldObject": ANYTHING,
        "objects": Many(ANYTHING),
        "operation": Text(OPERATIONS),
        "dryRun": FLAG,
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
        "logs": Many(TEXT, at_least=0),
        "contexts": LISTING,
        "patches": LISTING,
        "metrics": LISTING,
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


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `path` is where it stands in the file (`[2]`), `line` the line; `words` say what happens, all in one
    run; `expect` is as written."""

    name: str
    path: str
    line: int
    given: Given
    words: tuple[Words, ...]
    expect: JSON


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of cases: which hook it is about, its text, and where everything stands in it."""

    path: Path
    text: str
    places: Places
    cases: tuple[Case, ...]

    @property
    def hook(self) -> Path:
        """`copy.sh.test.yaml` is about `copy.sh` beside it."""
        return self.path.with_name(self.path.name.removesuffix(SUFFIX))


def read(path: Path) -> CaseFile:
    """The cases of a file. Raises BadInput with a line for every problem in it."""
    try:
        text = path.read_text()
        raw: JSON = next(yaml_values.documents(text.encode(), yaml_values.YAML_1_2), None)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None
    except BadDocument as error:
        raise BadInput(f"{path}: {error}") from None
    found = places(text)
    problems = [Problem(_as_written(problem.path, found), problem.text) for problem in _problems(raw)]
    lines = [f"{path}:{line_of(problem.path, found)}: {problem}" for problem in problems]
    if lines:
        raise BadInput("\n".join(lines))
    cases = (_case(path, f"[{number}]", line_of(f"[{number}]", found), one) for number, one in enumerate(raw))
    return CaseFile(path, text, found, tuple(cases))


def _problems(raw: JSON) -> Iterator[Problem]:
    if not isinstance(raw, list):
        yield Problem("", "a test file is a list of cases: `- name: …`, each with given, when and expect")
        return
    problems = list(check([_spelled_out(case) for case in raw], _CASES))
    yield from problems
    if not problems:
        names = [case["name"] for case in raw]
        twice = (place for place, name in enumerate(names) if name in names[:place])
        yield from (Problem(f"[{place}].name", f"'{names[place]}' is the name of an earlier case") for place in twice)


def _spelled_out(case: JSON) -> JSON:
    """A case with its short forms as the long ones that the tables describe."""
    if not isinstance(case, dict):
        return case
    case = dict(case)
    if isinstance(case.get("when"), dict):
        case["when"] = [case["when"]]
    if isinstance(case.get("given"), list):
        case["given"] = {"objects": case["given"]}
    if isinstance(expect := case.get("expect"), dict):
        lists = ("contexts", "patches", "metrics", "objects")
        case["expect"] = {k: {"contain": v} if k in lists and isinstance(v, list) else v for k, v in expect.items()}
    return {key: value for key, value in case.items() if value is not None}


def _as_written(path: str, found: Places) -> str:
    """The path in the short form, if that is how it was written."""
    for long, short in ((".when[0]", ".when"), (".objects", ""), (".contain", "")):
        around, sign, rest = path.partition(long)
        if sign and around + sign not in found:
            return around + short + rest
    return path


def _case(path: Path, place: str, line: int, raw: JSON) -> Case:
    """Raises BadInput for an object that is none, or in no file."""
    try:
        case = _spelled_out(raw)
        words = tuple(_words(one, path) for one in case["when"])
        return Case(raw["name"], place, line, _given(case.get("given", {}), path), words, raw.get("expect") or {})
    except BadInput as error:
        raise BadInput(f"{path}:{line}: case '{raw['name']}': {error}") from None


def _given(raw: JSON, path: Path) -> Given:
    return Given(
        _objects(raw.get("objects", []), path),
        {name: _objects(items, path) for name, items in raw.get("snapshots", {}).items()},
        raw.get("values"),
        raw.get("configValues"),
    )


def _words(raw: JSON, path: Path) -> Words:
    own = [raw["object"]] if "object" in raw else []
    old = _objects([raw["oldObject"]], path) if "oldObject" in raw else (None,)
    if len(old) != 1:
        raise BadInput(f"oldObject: one object is wanted here, not {len(old)}")
    return Words(
        event=raw.get("event", ""),
        binding=raw.get("binding", ""),
        group=raw.get("group", ""),
        objects=_objects([*own, *raw.get("objects", [])], path),
        old=old[0],
        operation=raw.get("operation", ""),
        to=raw.get("to", ""),
        dry_run=raw.get("dryRun", False),
    )


def _objects(items: JSON, path: Path) -> tuple[JSON, ...]:
    """Objects as they stand there; a text is a file or a glob beside the test file."""
    found: list[JSON] = []
    for item in items if isinstance(items, list) else [items]:
        if isinstance(item, str):
            found += manifests.load([item], path.parent)
        elif problem := manifests.complaint(item):
            raise BadInput(problem)
        else:
            found.append(item)
    return tuple(found)
