"""What comes of the cases of modules, which are rendered in one worker.

`differences` compares a rendered module with what its case expects; `updated` returns what the case should expect
instead.
"""

import asyncio
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from hookrunner import safe_files
from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadInput
from hookrunner.settings import ModulesSettings
from hookrunner.testing.cases.case_runner import CaseOutcome
from hookrunner.testing.cases.expectations import Difference, nearest, of_objects, of_parts, of_text, projected
from hookrunner.testing.modules.module_bench import ModuleUnderTest, RenderedModule, load_module
from hookrunner.testing.modules.module_case_files import ModuleCase, ModuleFile
from kubetypes.json_values import JSON

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
        yield from _rendered(expect, made)
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
    return {key: _current_value(key, value, made) for key, value in expect.items()}


def _failure(expect: JSON, failure: str) -> Iterator[Difference]:
    if "failure" not in expect:
        yield Difference("failure", tuple(failure.splitlines()))
    elif not failure:
        yield Difference("failure", (f"expected to contain: {expect['failure']}", "nothing failed"))
    else:
        yield from of_text("failure", expect["failure"], failure)


def _rendered(expect: JSON, made: RenderedModule) -> Iterator[Difference]:
    rendered = made.rendered
    if "objects" in expect:
        yield from of_objects("objects", expect["objects"], rendered.objects)
    if "hooks" in expect:
        yield from of_objects("hooks", expect["hooks"], [hook.obj for hook in rendered.hooks])
    if "notes" in expect:
        yield from of_text("notes", expect["notes"], rendered.notes)
    if expect.get("count", len(rendered.objects)) != len(rendered.objects):
        kinds = ", ".join(f"{obj['kind']}/{obj['metadata'].get('name', '')}" for obj in rendered.objects)
        yield Difference("count", (f"expected {expect['count']}, there are {len(rendered.objects)}: {kinds or '-'}",))


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
        case "objects":
            return _objects(expected, list(rendered.objects))
        case "hooks":
            return _objects(expected, [hook.obj for hook in rendered.hooks])
        case "count":
            return len(rendered.objects)
        case "notes":
            return expected if expected in rendered.notes else rendered.notes
        case "values":
            return projected(made.values, expected)
    return expected


def _objects(expected: JSON, actual: list[JSON]) -> JSON:
    """For each expected object the same keys of the most similar actual one. An expected absence is not removed: that
    is for a person to decide."""
    if isinstance(expected, list):
        return [now for item in expected if (now := nearest(item, actual)) is not None]
    some = {"contain": _objects(expected["contain"], actual)} if "contain" in expected else {}
    return expected | some | ({"exactly": actual} if "exactly" in expected else {})


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
