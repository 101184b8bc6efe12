"""The test files of modules: their format, a list of cases, each with `name`, `given` and `expect`; finding and reading
them.

`cases.schema.json` is what is accepted, and what editors use.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from hookrunner.file_schemas import FileSchema
from hookrunner.manifests.yaml_positions import Positions, line_of
from hookrunner.shapes import Problem
from hookrunner.testing.cases.case_files import CaseSheet, WrittenCase, loaded, read_each
from hookrunner.testing.cases.case_format import SUFFIX, CaseFormat
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

TESTS = "tests"
"""The directory in a module for its test files."""


@dataclass(frozen=True, slots=True)
class ModuleGiven:
    """What a case begins with. `config` is the ConfigMap's content, `values` are those that hooks have set: both by
    section. `upgrade` is what templates see: an upgrade or a first install."""

    config: Mapping[str, JSON] = field(default_factory=dict)
    values: Mapping[str, JSON] = field(default_factory=dict)
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()
    namespace: str = ""
    upgrade: bool = False


@dataclass(frozen=True, slots=True)
class ModuleCase(WrittenCase):
    """The case as one about a module."""

    given: ModuleGiven


@dataclass(frozen=True, slots=True)
class ModuleFile(CaseSheet):
    """The file as one about the module in a directory, its `subject`."""

    subject: Path
    cases: tuple[ModuleCase, ...]


def test_files(module: Path) -> list[Path]:
    """Its own, beside `module.yaml` or in `tests/`; those of hooks are positions elsewhere."""
    beside = sorted(module.glob(f"*{SUFFIX}"))
    return [*beside, *sorted((module / TESTS).rglob(f"*{SUFFIX}"))]


def read(path: Path, module: Path) -> ModuleFile:
    """The cases of a file. Raises BadInput with a line for every problem in it."""
    text, raw, positions = loaded(path, MODULE_CASES)
    return ModuleFile(path, text, positions, module, tuple(_cases(raw, positions)))


def read_all(modules: Iterable[Path]) -> list[ModuleFile]:
    """The test files of these modules. Raises BadInput with the problems of all."""
    return read_each(read, ((path, module) for module in modules for path in test_files(module)))


def _cases(raw: JSON, positions: Positions) -> Iterator[ModuleCase]:
    for number, case in enumerate(raw):
        yaml_path = f"[{number}]"
        line, given = line_of(yaml_path, positions), _given(case.get("given") or {})
        yield ModuleCase(case["name"], yaml_path, line, case.get("expect") or {}, given)


def _given(raw: JSON) -> ModuleGiven:
    return ModuleGiven(
        config=raw.get("configValues", {}),
        values=raw.get("values", {}),
        kube_version=raw.get("kubeVersion", ""),
        api_versions=tuple(raw.get("apiVersions", ())),
        namespace=raw.get("namespace", ""),
        upgrade=raw.get("upgrade", False),
    )


def _contradictions(expect: JSON, path: str) -> Iterator[Problem]:
    if "failure" in expect and (others := expect.keys() - {"failure", "values"}):
        yield Problem(path, f"a case that fails makes no {', '.join(sorted(others))}; drop one")


MODULE_CASES = CaseFormat(
    FileSchema.load("hookrunner.testing.modules", "cases.schema.json"), "given and expect", _contradictions
)
