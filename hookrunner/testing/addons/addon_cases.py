"""Test cases of an addon: files in its `tests/`, what comes of them, how expectations are compared and rewritten.

    NAME.in.yaml         the instance
    NAME.side_in.yaml    objects that the cluster has; may be missing
    NAME.out.yaml        the objects that are expected, in any order, or
    NAME.expect.yaml     what differs from another case: `expect.objects`, as in cases of modules, or
    NAME.error           a part of the error that is expected

Upstream's golden files have the same names
(docs/packaging-addons.md).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from hookrunner.errors import BadInput, HookrunnerError
from hookrunner.file_schemas import FileSchema
from hookrunner.model.releases import Capabilities
from hookrunner.testing import manifests
from hookrunner.testing.addons.addon_bench import AddonBench
from hookrunner.testing.cases.case_files import read_each
from hookrunner.testing.cases.case_runner import CaseOutcome
from hookrunner.testing.cases.expectations import Difference, of_text
from hookrunner.testing.cases.object_changes import expected_objects, load_rest, object_differences, updated_objects
from hookrunner.testing.display import as_yaml
from hookrunner.testing.modules.module_case_files import MODULE_CASES
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

TESTS = "tests"
"""The directory in an addon for its cases."""
_IN, _SIDE, _OUT, _EXPECT, _ERROR = ".in.yaml", ".side_in.yaml", ".out.yaml", ".expect.yaml", ".error"

_NOTHING_EXPECTED = f"nothing is expected: there is neither {_OUT} nor {_ERROR} beside it; --update writes one"

_OBJECTS = MODULE_CASES.schema.document["items"]["properties"]["expect"]["properties"]["objects"]
_SCHEMA = FileSchema({"type": "object", "additionalProperties": False, "properties": {"objects": _OBJECTS}})
"""Of NAME.expect.yaml."""


@dataclass(frozen=True, slots=True)
class AddonCase:
    """One case of the addon in the directory `subject`. `expected` are all objects; or `stated` is what is expected of
    them, in the form of `expect.objects`, with the objects that it names as `rest`. Both are None if the case expects
    an error or nothing yet; `error` is a part of the expected error, empty without one."""

    subject: Path
    path: Path
    instance: JSON
    cluster: tuple[JSON, ...] = ()
    expected: tuple[JSON, ...] | None = None
    stated: JSON = None
    rest: Sequence[JSON] = ()
    error: str = ""
    line: int = 1

    @property
    def name(self) -> str:
        """The files' common name."""
        return self.path.name.removesuffix(_IN)

    @property
    def expects(self) -> bool:
        """Does it expect anything yet?"""
        return self.expected is not None or self.stated is not None or bool(self.error)

    def beside(self, suffix: str) -> Path:
        """The case's file with this ending."""
        return self.path.with_name(self.name + suffix)


def case_paths(addon: Path) -> list[Path]:
    """The files of an addon's instances, sorted."""
    return sorted((addon / TESTS).glob(f"*{_IN}"))


def read_cases(addons: Sequence[Path]) -> list[AddonCase]:
    """The cases of these addons. Raises BadInput with what is wrong with any of their files."""
    return read_each(read_case, ((addon, path) for addon in addons for path in case_paths(addon)))


def read_case(addon: Path, path: Path) -> AddonCase:
    """One case by the file of its instance. Raises BadInput."""
    case = AddonCase(addon, path, manifests.load_one(path.name, path.parent))
    side, out, expect, error = (case.beside(suffix) for suffix in (_SIDE, _OUT, _EXPECT, _ERROR))
    there = [file.name for file in (out, expect, error) if file.exists()]
    if len(there) > 1:
        raise BadInput(f"{path}: both {' and '.join(there[:2])} exist; remove one of them")
    cluster = manifests.load([side.name], side.parent) if side.exists() else ()
    expected = manifests.load([out.name], out.parent) if out.exists() else None
    case = replace(case, cluster=cluster, expected=expected, error=_read_error(error))
    return _with_stated(case, expect) if expect.exists() else case


def _with_stated(case: AddonCase, path: Path) -> AddonCase:
    """The case with what its file states of objects. Raises BadInput with every problem in it."""
    document = {"objects": []} | manifests.mapping(str(path))
    if problems := [f"{path}: {problem}" for problem in _SCHEMA.problems(document)]:
        raise BadInput("\n".join(problems))
    stated = document["objects"]
    return replace(case, stated=stated, rest=load_rest(stated, path.parent))


def _read_error(path: Path) -> str:
    """The expected part, empty without the file. Raises BadInput."""
    try:
        text = path.read_text("utf-8").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None
    if not text:
        raise BadInput(f"{path}: is empty; write a part of the expected error")
    return text


def case_differences(case: AddonCase, built: Sequence[JSON], failure: str) -> Iterator[Difference]:
    """How the objects that were built, or the error, differ from what the case expects."""
    if failure or case.error:
        if not case.error:
            yield Difference("error", tuple(failure.splitlines()))
        else:
            yield from of_text("error", case.error, failure)
    elif case.stated is not None:
        yield from expected_objects("objects", case.stated, built, case.rest)
    elif case.expected is not None:
        yield from object_differences(case.expected, built)


def update_case(case: AddonCase, built: Sequence[JSON], failure: str) -> None:
    """Make the outcome what the case expects. Raises BadInput."""
    suffix, text = _OUT, objects_as_yaml(built, is_short=True)
    if failure:
        suffix, text = _ERROR, f"{failure}\n"
    elif case.stated is not None:
        suffix, text = _EXPECT, as_yaml({"objects": updated_objects(case.stated, built, case.rest)}, is_short=True)
    try:
        case.beside(suffix).write_text(text, "utf-8")
        for other in {_OUT, _EXPECT, _ERROR} - {suffix}:
            case.beside(other).unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(f"{error.filename}: cannot be written: {error.strerror}") from None


def objects_as_yaml(objects: Sequence[JSON], *, is_short: bool = False) -> str:
    """The objects as YAML documents, as `as_yaml` writes them."""
    return "---\n".join(as_yaml(obj, is_short=is_short) for obj in objects)


@dataclass(frozen=True, slots=True)
class BuiltCase:
    """What has come of a case: the objects that were built, or the error. `build_notes` are notes of the build."""

    case: AddonCase
    objects: tuple[JSON, ...] = ()
    failure: str = ""
    build_notes: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Worth knowing also if all is well."""
        return self.build_notes if self.case.expects else (*self.build_notes, _NOTHING_EXPECTED)

    def as_json(self) -> JSON:
        """As a document, for programs."""
        return {"failure": self.failure, "objects": list(self.objects), "notes": list(self.build_notes)}


AddonOutcome: TypeAlias = CaseOutcome[AddonCase, AddonCase, BuiltCase]


@dataclass(frozen=True, slots=True)
class AddonCases:
    """Cases of addons, whose instances are built (a `CaseKind`)."""

    bench: AddonBench
    capabilities: Capabilities

    async def load(self, subject: Path) -> None:
        """The bench has all addons."""

    def nothing(self, case: AddonCase) -> BuiltCase:
        """Nothing is built."""
        return BuiltCase(case)

    async def run(self, file: AddonCase, case: AddonCase) -> tuple[BuiltCase, Iterator[Difference]]:
        """Build the case's instance; an error is what comes of it, too."""
        try:
            built = await self.bench.build(case.instance, case.cluster, self.capabilities)
            product = BuiltCase(case, built.objects, build_notes=built.notes)
        except HookrunnerError as error:
            product = BuiltCase(case, failure=str(error))
        return product, case_differences(case, product.objects, product.failure)
