"""Test files of hooks: which paths mean, and what comes of their cases."""

from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from hookrunner.errors import BadInput
from hookrunner.model.bindings import Hook
from hookrunner.testing.bench import Bench
from hookrunner.testing.cases.case_files import Case, CaseFile, read, read_each
from hookrunner.testing.cases.case_format import SUFFIX
from hookrunner.testing.cases.case_runner import CaseOutcome
from hookrunner.testing.cases.expectations import Difference, differences
from hookrunner.testing.happenings import parse_happening
from hookrunner.testing.results import NO_EFFECTS, Effects, Result, as_json
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RanCase:
    """What has come of a run: what the hook did, and the objects afterwards."""

    result: Result
    effects: Effects = NO_EFFECTS

    @property
    def logs(self) -> Sequence[str]:
        """What the hook printed."""
        return self.result.logs

    @property
    def notes(self) -> Sequence[str]:
        """Worth knowing also if all is well."""
        return self.result.notes

    def as_json(self) -> JSON:
        """What the hook has asked for, for programs."""
        return as_json(self.result)


HookOutcome: TypeAlias = CaseOutcome[CaseFile, Case, RanCase]


@dataclass(frozen=True, slots=True)
class HookCases:
    """Cases of hooks, which run on a bench (a `CaseKind`)."""

    tools: Bench
    hooks: dict[Path, Hook] = field(default_factory=dict)

    async def load(self, subject: Path) -> None:
        """Ask a hook for its configuration. Raises BadInput, BadHookConfig."""
        if not subject.exists():
            text = f"there is no hook {subject}: the test file of a hook is called as the hook with {SUFFIX} after it"
            raise BadInput(text)
        self.hooks[subject] = await self.tools.load(subject)

    def nothing(self, case: Case) -> RanCase:
        """The result of no run."""
        return RanCase(Result())

    async def run(self, file: CaseFile, case: Case) -> tuple[RanCase, Iterable[Difference]]:
        """Run the hook of the file. Raises BadInput."""
        hook = self.hooks[file.subject]
        wanted = [parse_happening(hook, options) for options in case.happenings]
        result = await self.tools.run(hook, case.given, *wanted)
        ran = RanCase(result, await self._effects(case, result))
        return ran, differences(case.expect, result, ran.effects)

    async def _effects(self, case: Case, result: Result) -> Effects:
        """The effects on objects. Not computed without operations, unless the case expects objects."""
        if not result.carried_out and not ("objects" in case.expect and result.ran):
            return NO_EFFECTS
        return await self.tools.effects(result)


def find(paths: Iterable[Path]) -> list[Path]:
    """The test files that these paths mean: a test file, a hook that has one, or a directory with any below it.

    Raises BadInput if a path means none.
    """
    return list(dict.fromkeys(file for path in paths for file in _found(path)))


def _found(path: Path) -> Sequence[Path]:
    if not path.exists():
        raise BadInput(f"{path}: no such file or directory; name a hook, a test file or a directory of hooks")
    if path.is_dir():
        files = below(path)
        hint = f"no *{SUFFIX} below it; `hookrunner new hook NAME` makes a hook with one"
    else:
        files = [
            file for file in (path, path.with_name(path.name + SUFFIX)) if file.name.endswith(SUFFIX) and file.exists()
        ]
        hint = f"there is no {path.name}{SUFFIX} beside it"
    if not files:
        raise BadInput(f"{path}: no test cases: {hint}")
    return files


def below(directory: Path) -> list[Path]:
    """The test files of a directory. Hidden directories have no hooks, and may have whole environments."""
    files = ((file, file.relative_to(directory).parts) for file in directory.rglob(f"*{SUFFIX}"))
    return sorted(file for file, parts in files if not any(part.startswith(".") for part in parts))


def load(paths: Iterable[Path]) -> list[CaseFile]:
    """All test files. Raises BadInput with the problems of all."""
    return read_each(read, ((path,) for path in paths))
