"""What comes of the cases of modules, which are rendered in one worker.

`differences` compares a rendered module with what its case expects; `updated` returns what the case should expect
instead.
"""

import asyncio
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from hookrunner import safe_files
from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadInput
from hookrunner.model.sourced_objects import HOOK
from hookrunner.settings import ModulesSettings
from hookrunner.testing.cases.case_runner import CaseOutcome
from hookrunner.testing.cases.expectations import Difference, of_parts, of_text, projected
from hookrunner.testing.cases.object_changes import expected_objects, load_rest, updated_objects
from hookrunner.testing.modules.module_bench import ModuleUnderTest, RenderedModule, load_module
from hookrunner.testing.modules.module_case_files import ModuleCase, ModuleFile
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

ModuleOutcome: TypeAlias = CaseOutcome[ModuleFile, ModuleCase, RenderedModule]


@dataclass(frozen=True, slots=True)
class ModuleCases:
    """Cases of modules, which are rendered (a `CaseKind`)."""

    settings: ModulesSettings
    renderer: Renderer
    modules: dict[Path, ModuleUnderTest] = field(default_factory=dict)

    async def load(self, subject: Path) -> None:
        """Read a module. Raises BadInput."""
        self.modules[subject] = await asyncio.to_thread(load_module, subject, self.settings)

    def nothing(self, case: ModuleCase) -> RenderedModule:
        """Nothing is rendered."""
        return RenderedModule()

    async def run(self, file: ModuleFile, case: ModuleCase) -> tuple[RenderedModule, Iterator[Difference]]:
        """Render the module with the values of the case. Raises BadInput."""
        made = await self.modules[file.subject].render(case.given, self.renderer)
        return made, differences(case, file, made)


GOLDEN = "golden"


def differences(case: ModuleCase, file: ModuleFile, made: RenderedModule) -> Iterator[Difference]:
    """All differences between a module and what its case expects."""
    expect = case.expect
    if made.failure or "failure" in expect:
        yield from _failure(expect, made.failure)
    elif not made.failure:
        yield from _rendered(expect, made, file)
        if GOLDEN in expect:
            yield from _golden(_beside(file, expect[GOLDEN]), expect[GOLDEN], made)
    if "values" in expect and made.values is not None:
        yield from of_parts("values", expect["values"], made.values)


def updated(case: ModuleCase, file: ModuleFile, made: RenderedModule) -> JSON:
    """What the case should expect. Writes its golden file, and gives it one if it expects nothing yet. Raises
    BadInput."""
    if made.failure:
        return {"failure": made.failure}
    expect = {key: value for key, value in case.expect.items() if key != "failure"} or {GOLDEN: _named(case)}
    if GOLDEN in expect:
        _write(_beside(file, expect[GOLDEN]), made.rendered.everything)
    objects = {
        key: updated_objects(expect[key], _made(key, made), _rest(key, expect, file))
        for key in ("objects", "hooks")
        if key in expect
    }
    return {key: objects.get(key, _current_value(key, value, made)) for key, value in expect.items()}


def _failure(expect: JSON, failure: str) -> Iterator[Difference]:
    if "failure" not in expect:
        yield Difference("failure", tuple(failure.splitlines()))
    elif not failure:
        yield Difference("failure", (f"expected to contain: {expect['failure']}", "nothing failed"))
    else:
        yield from of_text("failure", expect["failure"], failure)


def _rendered(expect: JSON, made: RenderedModule, file: ModuleFile) -> Iterator[Difference]:
    rendered = made.rendered
    for key in ("objects", "hooks"):
        if key in expect:
            yield from expected_objects(key, expect[key], _made(key, made), _rest(key, expect, file))
    if "notes" in expect:
        yield from of_text("notes", expect["notes"], rendered.notes)
    if expect.get("count", len(rendered.objects)) != len(rendered.objects):
        kinds = ", ".join(f"{obj['kind']}/{obj['metadata'].get('name', '')}" for obj in rendered.objects)
        yield Difference("count", (f"expected {expect['count']}, there are {len(rendered.objects)}: {kinds or '-'}",))


def _made(key: str, made: RenderedModule) -> Sequence[JSON]:
    """The objects, or the Helm hooks."""
    return [hook.obj for hook in made.rendered.hooks] if key == "hooks" else made.rendered.objects


def _golden(path: Path, shown: str, made: RenderedModule) -> Iterator[Difference]:
    try:
        expected = safe_files.read_text(path).splitlines()
    except FileNotFoundError:
        yield Difference(GOLDEN, (f"{path} is not there; --update writes it",))
        return
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None
    actual, names = made.rendered.everything.splitlines(), (f"{shown}: expected", f"{shown}: actual")
    if expected != actual:
        yield Difference(GOLDEN, tuple(difflib.unified_diff(expected, actual, *names, lineterm="")))


def _current_value(key: str, expected: JSON, made: RenderedModule) -> JSON:
    """The value that a key of `expect` should have."""
    rendered = made.rendered
    match key:
        case "count":
            return len(rendered.objects)
        case "notes":
            return expected if expected in rendered.notes else rendered.notes
        case "values":
            return projected(made.values, expected)
    return expected


def _rest(key: str, expect: JSON, file: ModuleFile) -> list[JSON]:
    """The objects, or the Helm hooks, of the file that an expectation names as `rest`. Raises BadInput."""
    objects = load_rest(expect[key], file.path.parent)
    return [obj for obj in objects if (HOOK in (obj["metadata"].get("annotations") or {})) is (key == "hooks")]


def _beside(file: ModuleFile, name: str) -> Path:
    return file.path.parent / name


def _named(case: ModuleCase) -> str:
    slug = re.sub("[^a-z0-9]+", "-", case.name.lower()).strip("-")[:60] or "case"
    return f"golden/{slug}.yaml"


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
