"""Runs test cases of addons side by side and yields the outcomes in the order of the files."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from hookrunner.errors import HookrunnerError
from hookrunner.model.releases import Capabilities
from hookrunner.testing.addons.addon_bench import AddonBench
from hookrunner.testing.addons.addon_cases import AddonCase, case_differences
from hookrunner.testing.cases.case_runner import CaseReport, results_in_order
from hookrunner.testing.cases.expectations import Difference
from kubetypes.json_values import JSON


@dataclass(frozen=True, slots=True)
class AddonOutcome:
    """How one case went: the objects that were built, or the error, and how that differs from what is expected."""

    case: AddonCase
    seconds: float
    objects: tuple[JSON, ...] = ()
    failure: str = ""
    notes: tuple[str, ...] = ()
    wrong: tuple[Difference, ...] = ()

    @property
    def report(self) -> CaseReport:
        """The outcome for output."""
        case = self.case
        return CaseReport(
            case.path, case.addon.name, 1, case.name, case.expects, self.seconds, "", self.wrong, (), self.notes
        )

    def as_json(self) -> JSON:
        """As a document, for programs."""
        return {"failure": self.failure, "objects": list(self.objects), "notes": list(self.notes)}


async def run_cases(
    bench: AddonBench, cases: Sequence[AddonCase], capabilities: Capabilities, at_once: int
) -> AsyncGenerator[AddonOutcome, None]:
    """Every case, `at_once` of them side by side, in order."""
    turns = asyncio.Semaphore(at_once)
    tasks = [asyncio.create_task(_run_case(turns, bench, case, capabilities)) for case in cases]
    async with aclosing(results_in_order(tasks)) as outcomes:
        async for outcome in outcomes:
            yield outcome


async def _run_case(
    turns: asyncio.Semaphore, bench: AddonBench, case: AddonCase, capabilities: Capabilities
) -> AddonOutcome:
    async with turns:
        began = time.perf_counter()
        try:
            built = await bench.build(case.instance, case.cluster, capabilities)
            objects, failure, notes = built.objects, "", built.notes
        except HookrunnerError as error:
            objects, failure, notes = (), str(error), ()
        wrong = tuple(case_differences(case, objects, failure))
        return AddonOutcome(case, time.perf_counter() - began, objects, failure, notes, wrong)
