"""Finds test files of hooks, runs their cases side by side, and yields the outcomes in the order of the files.

A `CaseReport` says how one case went, of a hook or a module: for output, counting, and JUnit XML, which every CI reads
(https://github.com/testmoapp/junitxml describes the format).
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree as Xml

from hookrunner.errors import BadHookConfig, BadInput
from hookrunner.model.bindings import Hook
from hookrunner.testing.bench import Bench
from hookrunner.testing.cases.case_files import Case, CaseFile, read
from hookrunner.testing.cases.case_format import SUFFIX
from hookrunner.testing.cases.expectations import Difference, differences
from hookrunner.testing.happenings import parse_happening
from hookrunner.testing.results import NO_EFFECTS, Effects, Result, as_json
from kubetypes.json_values import JSON


@dataclass(frozen=True, slots=True)
class CaseReport:
    """`subject` is what was tested, `expects` whether anything was expected of it. `problem` is why it could not be run
    at all; else `wrong` is what is not as expected. `logs` is what was printed meanwhile, `notes` are worth knowing
    also if all is well."""

    path: Path
    subject: str
    line: int
    name: str
    expects: bool
    seconds: float = 0.0
    problem: str = ""
    wrong: Sequence[Difference] = ()
    logs: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        """Is the result as expected?"""
        return not (self.problem or self.wrong)

    @property
    def stale(self) -> bool:
        """Not as expected, or nothing is expected yet: what `--update` rewrites."""
        return bool(self.wrong) or not (self.problem or self.expects)

    @property
    def lines(self) -> list[str]:
        """Lines about a case that did not pass; the output of the hook comes last."""
        if self.problem:
            return self.problem.splitlines()
        lines = [
            line
            for difference in self.wrong
            for line in (f"{difference.key}:", *(f"  {line}" for line in difference.lines))
        ]
        if self.wrong and self.logs and not any(difference.key == "logs" for difference in self.wrong):
            lines += ["the hook printed:", *(f"  | {line}" for line in self.logs)]
        return lines


_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot carry, escaped or not: https://www.w3.org/TR/xml/#charsets"""


def to_junit(outcomes: Sequence[CaseReport], seconds: float) -> bytes:
    """One suite for each test file."""
    root = Xml.Element("testsuites", {"name": "hookrunner"} | _counts(outcomes, seconds))
    for path in dict.fromkeys(outcome.path for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.path == path]
        counts = _counts(own, sum(one.seconds for one in own))
        suite = Xml.SubElement(root, "testsuite", {"name": str(path)} | counts)
        for outcome in own:
            _add_case(suite, outcome)
    Xml.indent(root)
    text: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _counts(outcomes: Sequence[CaseReport], seconds: float) -> dict[str, str]:
    failures = sum(bool(outcome.wrong) for outcome in outcomes)
    errors = sum(bool(outcome.problem) for outcome in outcomes)
    return {"tests": str(len(outcomes)), "failures": str(failures), "errors": str(errors), "time": f"{seconds:.3f}"}


def _add_case(suite: Xml.Element, outcome: CaseReport) -> None:
    attributes = {
        "classname": outcome.subject,
        "name": _clean(outcome.name),
        "file": str(outcome.path),
        "line": str(outcome.line),
        "time": f"{outcome.seconds:.3f}",
    }
    case = Xml.SubElement(suite, "testcase", attributes)
    if not outcome.passed:
        first = outcome.problem.partition("\n")[0] or "not as expected: " + ", ".join(
            difference.key for difference in outcome.wrong
        )
        kind = "error" if outcome.problem else "failure"
        Xml.SubElement(case, kind, message=_clean(first)).text = _clean("\n".join(outcome.lines))
    if outcome.logs:
        Xml.SubElement(case, "system-out").text = _clean("\n".join(outcome.logs))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """How one case went. `problem` is why it could not be run at all; else `wrong` is what is not as expected."""

    file: CaseFile
    case: Case
    seconds: float = 0.0
    problem: str = ""
    result: Result = field(default_factory=Result)
    effects: Effects = NO_EFFECTS
    wrong: tuple[Difference, ...] = ()

    @property
    def report(self) -> CaseReport:
        """The outcome for output."""
        file, case, result = self.file, self.case, self.result
        return CaseReport(
            file.path,
            file.hook.name,
            case.line,
            case.name,
            bool(case.expect),
            self.seconds,
            self.problem,
            self.wrong,
            result.logs,
            result.notes,
        )

    def as_json(self) -> JSON:
        """What the hook has asked for, for programs."""
        return as_json(self.result)


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
    files, problems = list[CaseFile](), list[str]()
    for path in paths:
        try:
            files.append(read(path))
        except BadInput as error:
            problems.append(str(error))
    if problems:
        raise BadInput("\n".join(problems))
    return files


@dataclass(frozen=True, slots=True)
class _Slots:
    """The bench for cases, and how many run at a time."""

    tools: Bench
    turns: asyncio.Semaphore


async def run(tools: Bench, files: Sequence[CaseFile], named: str, at_once: int) -> AsyncGenerator[CaseOutcome, None]:
    """Every case whose name contains `named`, `at_once` of them side by side, in order."""
    chosen = [(file, [case for case in file.cases if named in case.name]) for file in files]
    slots = _Slots(tools, asyncio.Semaphore(at_once))
    tasks = list[asyncio.Task[CaseOutcome]]()
    for file, cases in chosen:
        hook = asyncio.create_task(_hook(slots, file.hook)) if cases else None
        tasks += [asyncio.create_task(_case(slots, hook, file, case)) for case in cases if hook]
    async with aclosing(results_in_order(tasks)) as outcomes:
        async for outcome in outcomes:
            yield outcome


async def results_in_order(tasks: Sequence[asyncio.Task[_Outcome]]) -> AsyncGenerator[_Outcome, None]:
    """The results of tasks that run side by side, in the order given; those still running end with the generator."""
    try:
        for task in tasks:
            yield await task
    finally:  # not a TaskGroup: it makes another error of the one that closes a generator
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _hook(slots: _Slots, path: Path) -> Hook | str:
    """The hook, or why it cannot be loaded."""
    if not path.exists():
        return f"there is no hook {path}: the test file of a hook is called as the hook with {SUFFIX} after it"
    async with slots.turns:
        try:
            return await slots.tools.load(path)
        except BadHookConfig as error:
            return str(error)


async def _case(slots: _Slots, loading: "asyncio.Task[Hook | str]", file: CaseFile, case: Case) -> CaseOutcome:
    hook = await loading
    if isinstance(hook, str):
        return CaseOutcome(file, case, problem=hook)
    async with slots.turns:
        began = time.perf_counter()
        try:
            wanted = [parse_happening(hook, options) for options in case.happenings]
            result = await slots.tools.run(hook, case.given, *wanted)
            effects = await _effects(slots, case, result)
        except BadInput as error:
            return CaseOutcome(file, case, problem=f"{file.path}:{case.line}: {error}")
    wrong = differences(case.expect, result, effects)
    return CaseOutcome(file, case, time.perf_counter() - began, "", result, effects, tuple(wrong))


async def _effects(slots: _Slots, case: Case, result: Result) -> Effects:
    """The effects on objects. Not computed without operations, unless the case expects objects."""
    if not result.carried_out and not ("objects" in case.expect and result.ran):
        return NO_EFFECTS
    # The HTTP client and the sandbox take 0.3 s to import, and many hooks change no objects.
    from hookrunner.testing.effects import compute_effects

    return await compute_effects(result.objects, result.carried_out, slots.tools.jq)
