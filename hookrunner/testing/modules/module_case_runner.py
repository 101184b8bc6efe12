"""Runs the cases of modules side by side, in one render worker, and yields the outcomes in the order of the files."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadInput
from hookrunner.settings import ModulesSettings
from hookrunner.testing.cases.case_reports import CaseReport
from hookrunner.testing.cases.case_runner import results_in_order
from hookrunner.testing.cases.expectations import Difference
from hookrunner.testing.modules.module_bench import ModuleUnderTest, RenderedModule, load_module
from hookrunner.testing.modules.module_case_files import ModuleCase, ModuleFile
from hookrunner.testing.modules.module_expectations import differences


@dataclass(frozen=True, slots=True)
class ModuleOutcome:
    """How one case went: as `CaseReport`, and what came of it."""

    file: ModuleFile
    case: ModuleCase
    seconds: float = 0.0
    problem: str = ""
    made: RenderedModule = field(default_factory=RenderedModule)
    wrong: tuple[Difference, ...] = ()

    @property
    def report(self) -> CaseReport:
        """The outcome for output."""
        case, subject = self.case, self.file.module.name
        expects = bool(case.expect)
        return CaseReport(
            self.file.path, subject, case.line, case.name, expects, self.seconds, self.problem, self.wrong
        )


async def run(
    settings: ModulesSettings, renderer: Renderer, files: Sequence[ModuleFile], named: str, at_once: int
) -> AsyncGenerator[ModuleOutcome, None]:
    """Every case whose name contains `named`, `at_once` of them side by side, in order."""
    turns = asyncio.Semaphore(at_once)
    subjects: dict[object, ModuleUnderTest | str] = {}
    going = list[asyncio.Task[ModuleOutcome]]()
    for file in files:
        if file.module not in subjects:
            subjects[file.module] = await asyncio.to_thread(_load_module, file, settings)
        about = subjects[file.module]
        chosen = (case for case in file.cases if named in case.name)
        going += [asyncio.create_task(_case(turns, about, renderer, file, case)) for case in chosen]
    async with aclosing(results_in_order(going)) as outcomes:
        async for outcome in outcomes:
            yield outcome


def _load_module(file: ModuleFile, settings: ModulesSettings) -> ModuleUnderTest | str:
    """The module, or why it cannot be loaded."""
    try:
        return load_module(file.module, settings)
    except BadInput as error:
        return str(error)


async def _case(
    turns: asyncio.Semaphore, about: ModuleUnderTest | str, renderer: Renderer, file: ModuleFile, case: ModuleCase
) -> ModuleOutcome:
    if isinstance(about, str):
        return ModuleOutcome(file, case, problem=about)
    async with turns:
        began = time.perf_counter()
        try:
            made = await about.render(case.given, renderer)
            wrong = tuple(differences(case, file, made))
        except BadInput as error:
            return ModuleOutcome(file, case, problem=f"{file.path}:{case.line}: {error}")
    return ModuleOutcome(file, case, time.perf_counter() - began, "", made, wrong)
