"""Finds and reads the test files of modules."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hookrunner.errors import BadInput
from hookrunner.model.resources import JSON
from hookrunner.testing.cases.format import SUFFIX
from hookrunner.testing.cases.places import Places, line_of
from hookrunner.testing.cases.reading import Sheet, loaded
from hookrunner.testing.modules.format import problems

TESTS = "tests"
"""The directory in a module for its test files."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a case begins with. `config` is what the ConfigMap says, `values` what hooks have put over it: both by
    section. Templates are told that it is an upgrade, or a first install."""

    config: Mapping[str, JSON] = field(default_factory=dict)
    values: Mapping[str, JSON] = field(default_factory=dict)
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()
    namespace: str = ""
    upgrade: bool = False


@dataclass(frozen=True, slots=True)
class ModuleCase:
    """One case. `path` is where it stands in the file (`[2]`), `line` the line; `expect` is as written."""

    name: str
    path: str
    line: int
    given: Given
    expect: JSON


@dataclass(frozen=True, slots=True)
class ModuleFile(Sheet):
    """One about the module in a directory."""

    module: Path
    cases: tuple[ModuleCase, ...]


def test_files(module: Path) -> list[Path]:
    """Its own, beside `module.yaml` or in `tests/`; those of hooks are found elsewhere."""
    beside = sorted(module.glob(f"*{SUFFIX}"))
    return [*beside, *sorted((module / TESTS).rglob(f"*{SUFFIX}"))]


def read(path: Path, module: Path) -> ModuleFile:
    """The cases of a file. Raises BadInput with a line for every problem in it."""
    text, raw, found = loaded(path, problems)
    return ModuleFile(path, text, found, module, tuple(_cases(raw, found)))


def read_all(modules: Iterable[Path]) -> list[ModuleFile]:
    """The test files of these modules. Raises BadInput with the problems of all."""
    files, wrong = list[ModuleFile](), list[str]()
    for module in modules:
        for path in test_files(module):
            try:
                files.append(read(path, module))
            except BadInput as error:
                wrong.append(str(error))
    if wrong:
        raise BadInput("\n".join(wrong))
    return files


def _cases(raw: JSON, found: Places) -> Iterator[ModuleCase]:
    for number, one in enumerate(raw):
        place = f"[{number}]"
        yield ModuleCase(
            one["name"], place, line_of(place, found), _given(one.get("given") or {}), one.get("expect") or {}
        )


def _given(raw: JSON) -> Given:
    return Given(
        config=raw.get("configValues", {}),
        values=raw.get("values", {}),
        kube_version=raw.get("kubeVersion", ""),
        api_versions=tuple(raw.get("apiVersions", ())),
        namespace=raw.get("namespace", ""),
        upgrade=raw.get("upgrade", False),
    )
