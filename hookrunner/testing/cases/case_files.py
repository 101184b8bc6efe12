"""Reads test files of hooks: their cases, with the objects that they name, and what is wrong with them."""

import shutil
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TypeVar, TypeVarTuple

from hookrunner import safe_files
from hookrunner.errors import BadInput
from hookrunner.manifests.yaml_positions import Positions, find_positions, line_of
from hookrunner.testing import manifests
from hookrunner.testing.cases.case_format import HOOK_CASES, SUFFIX, CaseFormat, spelled_out
from hookrunner.testing.happenings import Given, HappeningOptions
from kubetypes import yaml_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import BadDocument

_Read = TypeVar("_Read")
_Names = TypeVarTuple("_Names")


@dataclass(frozen=True, slots=True)
class WrittenCase:
    """One case. `path` is where it stands in the file (`[2]`), `line` the line; `expect` is as written."""

    name: str
    path: str
    line: int
    expect: JSON

    @property
    def expects(self) -> bool:
        """Does it expect anything yet?"""
        return bool(self.expect)


@dataclass(frozen=True, slots=True)
class Case(WrittenCase):
    """The case as one about a hook; `happenings` come all in one run."""

    given: Given
    happenings: tuple[HappeningOptions, ...]


@dataclass(frozen=True, slots=True)
class CaseSheet:
    """A file of cases: its text, and the position of each value."""

    path: Path
    text: str
    positions: Positions


@dataclass(frozen=True, slots=True)
class CaseFile(CaseSheet):
    """The file as one about a hook."""

    cases: tuple[Case, ...]

    @property
    def subject(self) -> Path:
        """The hook: `copy.sh.test.yaml` is about `copy.sh` beside it."""
        return self.path.with_name(self.path.name.removesuffix(SUFFIX))


def overwrite(path: Path, text: str) -> None:
    """Give a file another text, with the line ends and the byte order mark that it has: all of it or, if that fails,
    nothing.

    Raises BadInput."""
    path = path.resolve()
    draft = path.with_name(f".{path.name}.draft")
    try:
        old = path.read_bytes()
        encoding = "utf-8-sig" if old.startswith(BOM_UTF8) else "utf-8"
        draft.write_text(text, encoding, newline="\r\n" if b"\r\n" in old else "\n")
        shutil.copymode(path, draft)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise BadInput(f"cannot write: {error.strerror}") from None


def read(path: Path) -> CaseFile:
    """The cases of a file. Raises BadInput with a line for every problem in it."""
    text, raw, positions = loaded(path, HOOK_CASES)
    reader = _Reader(path, positions)
    cases = tuple(reader.case(document, f"[{number}]") for number, document in enumerate(raw))
    if reader.problems:
        raise BadInput("\n".join(reader.problems))
    return CaseFile(path, text, positions, cases)


def read_each(read: Callable[[*_Names], _Read], files: Iterable[tuple[*_Names]]) -> list[_Read]:
    """What `read` returns for each of these. Raises BadInput with the problems of all."""
    contents, wrong = list[_Read](), list[str]()
    for names in files:
        try:
            contents.append(read(*names))
        except BadInput as error:
            wrong.append(str(error))
    if wrong:
        raise BadInput("\n".join(wrong))
    return contents


def loaded(path: Path, case_format: CaseFormat) -> tuple[str, JSON, Positions]:
    """The text of a test file, its value, and the position of each value.

    Raises BadInput with a line for every problem."""
    try:
        text = safe_files.read_text(path, "utf-8-sig")
        raw = value_of(text)
        positions = find_positions(text)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None
    except BadDocument as error:
        raise BadInput(f"{path}: {error}") from None
    problems = case_format.problems(raw, positions)
    if lines := [f"{path}:{line_of(problem.path, positions)}: {problem}" for problem in problems]:
        raise BadInput("\n".join(lines))
    return text, raw, positions


def value_of(text: str) -> JSON:
    """The value of a test file. Raises BadDocument."""
    first, *others = [*yaml_values.documents(text.encode(), yaml_values.YAML_1_2), None]
    if any(other is not None for other in others):
        raise BadDocument(2, "a second document begins after `---`; a test file is one list of cases")
    return first


@dataclass(frozen=True, slots=True)
class _Reader:
    """Makes cases of values that are in order, and collects the problems of the objects in them."""

    path: Path
    positions: Positions
    problems: list[str] = field(default_factory=list)

    def case(self, raw: JSON, yaml_path: str) -> Case:
        case = spelled_out(raw)
        given = self._given(case.get("given", {}), f"{yaml_path}.given")
        several = isinstance(raw["when"], list)
        happenings = tuple(
            self._happening(happening, f"{yaml_path}.when[{number}]" if several else f"{yaml_path}.when")
            for number, happening in enumerate(case["when"])
        )
        line = line_of(yaml_path, self.positions)
        return Case(raw["name"], yaml_path, line, raw.get("expect") or {}, given, happenings)

    def _given(self, raw: JSON, yaml_path: str) -> Given:
        short = f"{yaml_path}.objects" not in self.positions
        return Given(
            self._objects(raw.get("objects", []), yaml_path if short else f"{yaml_path}.objects"),
            {
                name: self._objects(items, f"{yaml_path}.snapshots.{name}")
                for name, items in raw.get("snapshots", {}).items()
            },
            raw.get("values"),
            raw.get("configValues"),
            self._one(raw["instance"], f"{yaml_path}.instance") if "instance" in raw else None,
        )

    def _happening(self, raw: JSON, yaml_path: str) -> HappeningOptions:
        own = self._loaded(raw["object"], f"{yaml_path}.object") if "object" in raw else []
        old = self._one(raw["oldObject"], f"{yaml_path}.oldObject") if "oldObject" in raw else None
        return HappeningOptions(
            event=raw.get("event", ""),
            binding=raw.get("binding", ""),
            group=raw.get("group", ""),
            objects=(*own, *self._objects(raw.get("objects", []), f"{yaml_path}.objects")),
            old=old,
            operation=raw.get("operation", ""),
            to=raw.get("to", ""),
            dry_run=raw.get("dryRun", False),
            part=raw.get("subresource", ""),
        )

    def _objects(self, items: JSON, yaml_path: str) -> tuple[JSON, ...]:
        per_item = (
            self._loaded(item, f"{yaml_path}[{number}]")
            for number, item in enumerate(items if isinstance(items, list) else [items])
        )
        return tuple(obj for objects in per_item for obj in objects)

    def _one(self, item: JSON, yaml_path: str) -> JSON:
        objects = self._loaded(item, yaml_path)
        if len(objects) != 1:
            self._bad(yaml_path, f"one object is wanted here, not {len(objects)}")
        return next(iter(objects), None)

    def _loaded(self, item: JSON, yaml_path: str) -> list[JSON]:
        """An object as it stands there; a text is a file or a glob beside the test file."""
        if isinstance(item, str):
            try:
                return list(manifests.load([item], self.path.parent))
            except BadInput as error:
                self._bad(yaml_path, str(error))
        elif problem := manifests.complaint(item):
            self._bad(yaml_path, problem)
        return [item]

    def _bad(self, yaml_path: str, text: str) -> None:
        self.problems.append(f"{self.path}:{line_of(yaml_path, self.positions)}: {yaml_path} {text}")
