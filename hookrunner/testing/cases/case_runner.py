"""Runs test cases side by side, of hooks, modules or addons, and yields their outcomes in the order of the files.

    async for outcome in run_cases(HookCases(tools), [(file, case) for case in file.cases], at_once=4):
        print(outcome.passed)

What is different between the three stands beside their files: how a subject is loaded, and what comes of a case
(`CaseKind`). A `CaseOutcome` is how one case went, for output, counting, and JUnit XML, which every CI reads
(https://github.com/testmoapp/junitxml describes the format).
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar
from xml.etree import ElementTree as Xml

from hookrunner.errors import BadInput, HookrunnerError
from hookrunner.testing.cases.expectations import Difference
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


class AnyFile(Protocol):
    """Where a case is written. `subject` is what it tests: a hook, or the directory of a module or an addon."""

    @property
    def path(self) -> Path: ...
    @property
    def subject(self) -> Path: ...


class AnyCase(Protocol):
    """A case. `expects`: it expects anything yet."""

    @property
    def name(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def expects(self) -> bool: ...


class AnyProduct(Protocol):
    """What has come of a case, with what was printed meanwhile, and notes for a person."""

    @property
    def logs(self) -> Sequence[str]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    def as_json(self) -> JSON: ...


FileT = TypeVar("FileT", bound=AnyFile)
CaseT = TypeVar("CaseT", bound=AnyCase)
ProductT = TypeVar("ProductT", bound=AnyProduct)
_InFile = TypeVar("_InFile", bound=AnyFile, contravariant=True)
_InCase = TypeVar("_InCase", bound=AnyCase, contravariant=True)
_OutProduct = TypeVar("_OutProduct", bound=AnyProduct, covariant=True)
_Outcome = TypeVar("_Outcome")


class CaseKind(Protocol[_InFile, _InCase, _OutProduct]):
    """What hooks, modules and addons do differently."""

    async def load(self, subject: Path) -> None:
        """Load what cases are about, once for all of them. Raises HookrunnerError."""

    def nothing(self, case: _InCase) -> _OutProduct:
        """What comes of a case that cannot be run."""

    async def run(self, file: _InFile, case: _InCase) -> tuple[_OutProduct, Iterable[Difference]]:
        """What comes of a case whose subject is loaded, and how that differs from what it expects. Raises BadInput."""


@dataclass(frozen=True, slots=True)
class CaseOutcome(Generic[FileT, CaseT, ProductT]):
    """How one case went. `problem` is why it could not be run at all; else `wrong` is what is not as expected."""

    file: FileT
    case: CaseT
    product: ProductT
    seconds: float = 0.0
    problem: str = ""
    wrong: tuple[Difference, ...] = ()

    @property
    def passed(self) -> bool:
        """Is the result as expected?"""
        return not (self.problem or self.wrong)

    @property
    def stale(self) -> bool:
        """Not as expected, or nothing is expected yet: what `--update` rewrites."""
        return bool(self.wrong) or not (self.problem or self.case.expects)

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
        if self.wrong and self.product.logs and not any(difference.key == "logs" for difference in self.wrong):
            lines += ["the hook printed:", *(f"  | {line}" for line in self.product.logs)]
        return lines


AnyOutcome: TypeAlias = CaseOutcome[Any, Any, Any]


async def run_cases(
    kind: CaseKind[FileT, CaseT, ProductT], cases: Sequence[tuple[FileT, CaseT]], at_once: int
) -> AsyncGenerator[CaseOutcome[FileT, CaseT, ProductT], None]:
    """Every case, `at_once` of them side by side, in order."""
    run = _Run(kind, asyncio.Semaphore(at_once))
    subjects = dict.fromkeys(file.subject for file, _ in cases)
    loading = {subject: asyncio.create_task(run.load(subject)) for subject in subjects}
    tasks = [asyncio.create_task(run.run(loading, file, case)) for file, case in cases]
    async with aclosing(results_in_order(tasks)) as outcomes:
        async for outcome in outcomes:
            yield outcome


@dataclass(frozen=True, slots=True)
class _Run(Generic[FileT, CaseT, ProductT]):
    """Cases of a kind, of which so many run at a time."""

    kind: CaseKind[FileT, CaseT, ProductT]
    turns: asyncio.Semaphore

    async def load(self, subject: Path) -> str:
        """Why a subject cannot be loaded, "" if it is."""
        async with self.turns:
            try:
                await self.kind.load(subject)
            except HookrunnerError as error:
                return str(error)
        return ""

    async def run(
        self, loading: Mapping[Path, asyncio.Task[str]], file: FileT, case: CaseT
    ) -> CaseOutcome[FileT, CaseT, ProductT]:
        """Run a case when its subject is loaded."""
        if problem := await loading[file.subject]:
            return CaseOutcome(file, case, self.kind.nothing(case), problem=problem)
        async with self.turns:
            began = time.perf_counter()
            try:
                product, wrong = await self.kind.run(file, case)
                differences = tuple(wrong)
            except BadInput as error:
                problem = f"{file.path}:{case.line}: {error}"
                return CaseOutcome(file, case, self.kind.nothing(case), problem=problem)
        return CaseOutcome(file, case, product, time.perf_counter() - began, "", differences)


async def results_in_order(tasks: Sequence[asyncio.Task[_Outcome]]) -> AsyncGenerator[_Outcome, None]:
    """The results of tasks that run side by side, in the order given; those still running end with the generator."""
    try:
        for task in tasks:
            yield await task
    finally:  # not a TaskGroup: it makes another error of the one that closes a generator
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot carry, escaped or not: https://www.w3.org/TR/xml/#charsets"""


def to_junit(outcomes: Sequence[AnyOutcome], seconds: float) -> bytes:
    """One suite for each test file."""
    root = Xml.Element("testsuites", {"name": "hookrunner"} | _counts(outcomes, seconds))
    for path in dict.fromkeys(outcome.file.path for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.file.path == path]
        counts = _counts(own, sum(one.seconds for one in own))
        suite = Xml.SubElement(root, "testsuite", {"name": str(path)} | counts)
        for outcome in own:
            _add_case(suite, outcome)
    Xml.indent(root)
    text: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _counts(outcomes: Sequence[AnyOutcome], seconds: float) -> dict[str, str]:
    failures = sum(bool(outcome.wrong) for outcome in outcomes)
    errors = sum(bool(outcome.problem) for outcome in outcomes)
    return {"tests": str(len(outcomes)), "failures": str(failures), "errors": str(errors), "time": f"{seconds:.3f}"}


def _add_case(suite: Xml.Element, outcome: AnyOutcome) -> None:
    attributes = {
        "classname": outcome.file.subject.name,
        "name": _clean(outcome.case.name),
        "file": str(outcome.file.path),
        "line": str(outcome.case.line),
        "time": f"{outcome.seconds:.3f}",
    }
    case = Xml.SubElement(suite, "testcase", attributes)
    if not outcome.passed:
        first = outcome.problem.partition("\n")[0] or "not as expected: " + ", ".join(
            difference.key for difference in outcome.wrong
        )
        kind = "error" if outcome.problem else "failure"
        Xml.SubElement(case, kind, message=_clean(first)).text = _clean("\n".join(outcome.lines))
    if outcome.product.logs:
        Xml.SubElement(case, "system-out").text = _clean("\n".join(outcome.product.logs))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
