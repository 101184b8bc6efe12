"""What `hook test`, `module test` and `addon test` share: options, how cases are shown as they come and counted at the
end, also as JSON and as JUnit, and the exit code.

    hook_test = CaseCommand(read_suite, "test", params=[…, *case_options("the hooks do")], help=…)
"""

import os
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, nullcontext
from pathlib import Path
from typing import Any

import click

from hookrunner.cli.output import echo, echo_json, echo_styled, style, styled
from hookrunner.cli.shared import run_to_end
from hookrunner.errors import BadInput
from hookrunner.printable import printable
from hookrunner.testing.cases import case_runner
from hookrunner.testing.cases.case_runner import AnyOutcome, CaseKind, run_cases
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CasePart:
    """Cases of one kind. `open` starts what they need; `rewrite` makes stale ones expect what has come of them, and
    raises BadInput."""

    cases: Sequence[tuple[Any, Any]]
    open: Callable[[], AbstractAsyncContextManager[CaseKind[Any, Any, Any]]]
    rewrite: Callable[[Sequence[AnyOutcome]], None]


@dataclass(frozen=True, slots=True)
class CaseSuite:
    """The cases that a command line names, `at_once` of them side by side. They run within `around`."""

    parts: Sequence[CasePart]
    at_once: int
    around: Callable[[], AbstractContextManager[None]] = nullcontext

    async def run(self) -> AsyncGenerator[AnyOutcome, None]:
        """Run them; their outcomes as they come, those of one file together."""
        with self.around():
            for part in self.parts:
                async with part.open() as kind, aclosing(run_cases(kind, part.cases, self.at_once)) as finished:
                    async for outcome in finished:
                        yield outcome

    def rewrite(self, outcomes: Sequence[AnyOutcome]) -> None:
        """Make what stale cases expect what has come of them. Raises BadInput."""
        for part in self.parts:
            own = {id(case) for _, case in part.cases}
            part.rewrite([outcome for outcome in outcomes if id(outcome.case) in own and outcome.stale])


class CaseCommand(click.Command):
    """Runs the cases that `read_suite` finds in the click context; the latter raises BadInput and click.UsageError."""

    def __init__(self, read_suite: Callable[[click.Context], CaseSuite], name: str, **more: Any) -> None:
        super().__init__(name, **more)
        self._read_suite = read_suite

    def invoke(self, ctx: click.Context) -> int:
        params, suite = ctx.params, self._read_suite(ctx)
        update, as_text = params["update"], params["output"] == "text"
        began = time.perf_counter()
        outcomes = run_to_end(_run(suite, update, as_text))
        seconds = time.perf_counter() - began
        if not outcomes:
            raise click.UsageError(f"no case has '{params['named']}' in its name")
        if update:
            suite.rewrite(outcomes)
        if as_text:
            echo_styled(_summary(outcomes, update, seconds))
        else:
            echo_json(_to_document(outcomes, seconds))
        _write_junit(params["junit"], outcomes, seconds)
        return 0 if all(_is_fine(outcome, update) for outcome in outcomes) else 1


def case_options(what: str) -> list[click.Parameter]:
    """Options of every command that runs test cases. `what` says, for the help, what produces the expectations."""
    return [
        click.Option(["-k", "named"], default="", metavar="NAME", help="Only cases with NAME in their name."),
        click.Option(
            ["-j", "at_once"],
            type=click.IntRange(1),
            default=os.cpu_count() or 1,
            metavar="N",
            help="So many cases side by side. [default: the number of CPUs]",
        ),
        click.Option(["--update"], is_flag=True, help=f"Make what {what} what the failing cases expect."),
        click.Option(["--junit"], metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="JUnit XML."),
        click.Option(["-o", "--output"], type=click.Choice(["text", "json"]), default="text", show_default=True),
    ]


async def _run(suite: CaseSuite, update: bool, shown: bool) -> list[AnyOutcome]:
    outcomes = list[AnyOutcome]()
    async with aclosing(suite.run()) as finished:
        async for outcome in finished:
            if shown:
                is_first = not outcomes or outcomes[-1].file.path != outcome.file.path
                _show(outcome, update, is_first)
            outcomes.append(outcome)
    return outcomes


def _is_fine(outcome: AnyOutcome, update: bool) -> bool:
    """It passed, or is updated."""
    return outcome.passed or (update and outcome.stale)


def _show(outcome: AnyOutcome, update: bool, is_first: bool) -> None:
    """Print how a case went. `update`: stale cases are updated; `is_first`: it is the first of its file."""
    if is_first:
        echo_styled(style(str(outcome.file.path), bold=True))
    word = style("ok", "green") if outcome.passed else style("FAILED", "red", bold=True)
    if update and outcome.stale:
        word = style("updated", "yellow")
    echo_styled(f"  {word} {printable(outcome.case.name)} ({outcome.seconds * 1000:.0f} ms)")
    for note in outcome.product.notes:
        echo(f"     note: {note}")
    for line in styled(outcome.lines, margin=2):
        echo_styled(f"     {line}")


def _summary(outcomes: Sequence[AnyOutcome], update: bool, seconds: float) -> str:
    """How many passed, were updated, and failed."""
    updated = sum(update and outcome.stale for outcome in outcomes)
    failed = sum(not _is_fine(outcome, update) for outcome in outcomes)
    counts = {"passed": len(outcomes) - updated - failed, "updated": updated, "failed": failed}
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "nothing ran"
    return style(f"{words} in {seconds:.2f} s", "red" if failed else "green", bold=True)


def _to_document(outcomes: Sequence[AnyOutcome], seconds: float) -> JSON:
    """All cases as a document for programs."""
    cases = [
        {
            "file": str(outcome.file.path),
            "line": outcome.case.line,
            "name": outcome.case.name,
            "passed": outcome.passed,
            "seconds": round(outcome.seconds, 4),
            "differences": {wrong.key: list(wrong.lines) for wrong in outcome.wrong},
            "problem": outcome.problem,
            "result": outcome.product.as_json(),
        }
        for outcome in outcomes
    ]
    passed = sum(outcome.passed for outcome in outcomes)
    return {"passed": passed, "failed": len(cases) - passed, "seconds": round(seconds, 4), "cases": cases}


def _write_junit(path: Path | None, outcomes: Sequence[AnyOutcome], seconds: float) -> None:
    """Write a JUnit report, if there is a path. Raises BadInput."""
    if path:
        try:
            path.write_bytes(case_runner.to_junit(outcomes, seconds))
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
