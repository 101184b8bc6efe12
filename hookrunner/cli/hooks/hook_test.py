"""`hookrunner hook test`: the test cases beside hooks, run without a cluster.

How commands that run test cases show them: as they come, counted at the end, as JSON and as JUnit.
"""

import os
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import click

from hookrunner import settings
from hookrunner.cli.output import echo, echo_json, echo_styled, style, styled
from hookrunner.cli.shared import kubeconfig_option, relative, run_to_end, timeout_option
from hookrunner.errors import BadInput
from hookrunner.printable import printable
from hookrunner.testing.bench import bench
from hookrunner.testing.cases import case_runner, golden
from hookrunner.testing.cases.case_files import CaseFile
from hookrunner.testing.cases.case_runner import CaseOutcome, CaseReport
from hookrunner.testing.results import as_json
from kubetypes.json_values import JSON


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


def is_fine(report: CaseReport, update: bool) -> bool:
    """It passed, or is updated."""
    return report.passed or (update and report.stale)


def show_case(report: CaseReport, update: bool, first: bool) -> None:
    """Print how a case went. `update`: stale cases are updated; `first`: it is the first of its file."""
    if first:
        echo_styled(style(str(report.path), bold=True))
    word = style("ok", "green") if report.passed else style("FAILED", "red", bold=True)
    if update and report.stale:
        word = style("updated", "yellow")
    echo_styled(f"  {word} {printable(report.name)} ({report.seconds * 1000:.0f} ms)")
    for note in report.notes:
        echo(f"     note: {note}")
    for line in styled(report.lines, margin=2):
        echo_styled(f"     {line}")


def summary(reports: Sequence[CaseReport], update: bool, seconds: float) -> str:
    """How many passed, were updated, and failed."""
    updated = sum(update and report.stale for report in reports)
    failed = sum(not is_fine(report, update) for report in reports)
    counts = {"passed": len(reports) - updated - failed, "updated": updated, "failed": failed}
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "nothing ran"
    return style(f"{words} in {seconds:.2f} s", "red" if failed else "green", bold=True)


def to_document(reports: Sequence[CaseReport], results: Sequence[JSON], seconds: float) -> JSON:
    """All cases as a document for programs; `results` has the result of each case."""
    cases = [
        {
            "file": str(report.path),
            "line": report.line,
            "name": report.name,
            "passed": report.passed,
            "seconds": round(report.seconds, 4),
            "differences": {wrong.key: list(wrong.lines) for wrong in report.wrong},
            "problem": report.problem,
            "result": result,
        }
        for report, result in zip(reports, results, strict=True)
    ]
    passed = sum(report.passed for report in reports)
    return {"passed": passed, "failed": len(cases) - passed, "seconds": round(seconds, 4), "cases": cases}


def write_junit(path: Path | None, reports: Sequence[CaseReport], seconds: float) -> None:
    """Write a JUnit report, if there is a path. Raises BadInput."""
    if path:
        try:
            path.write_bytes(case_runner.to_junit(reports, seconds))
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class _TestRun:
    """The command line, parsed."""

    files: Sequence[CaseFile]
    named: str
    at_once: int
    timeout: float
    update: bool


class _Test(click.Command):
    """Passes its options on in the click context."""

    def invoke(self, ctx: click.Context) -> int:
        params = ctx.params
        paths = params["paths"] or (settings.load({}, ctx.find_root().info_name or "").hooks.directory,)
        files = case_runner.load(case_runner.find(relative(path) for path in paths))
        run = _TestRun(files, params["named"], params["at_once"], params["timeout"], params["update"])
        began = time.perf_counter()
        outcomes = run_to_end(_run(ctx, run, quiet=params["output"] == "json"))
        seconds = time.perf_counter() - began
        if not outcomes:
            raise click.UsageError(f"no case has '{params['named']}' in its name")
        if params["update"]:
            rewrite(outcomes)
        _tell(params["output"], outcomes, params["update"], seconds)
        write_junit(params["junit"], [outcome.report for outcome in outcomes], seconds)
        return 0 if all(is_fine(outcome.report, params["update"]) for outcome in outcomes) else 1


hook_test = _Test(
    "test",
    params=[
        click.Argument(["paths"], nargs=-1, metavar="[PATH]...", type=click.Path(exists=True, path_type=Path)),
        *case_options("the hooks do"),
        timeout_option(),
        kubeconfig_option(),
    ],
    help="""Run test cases of hooks. PATH is a hook, its test file, or a directory (default: the hooks directory).

    \b
    hookrunner hook test                             all below ./hooks
    hookrunner hook test hooks/copy.sh -k deleted    the cases of hooks/copy.sh.test.yaml with `deleted` in the name
    hookrunner hook test --update                    accept what the hooks do now; look at the diff in git
    hookrunner hook test --junit report.xml          in CI

    The cases of a hook `copy.sh` are in `copy.sh.test.yaml` beside it: a list of `name`, `given`, `when`, `expect`.
    It ends with 0 if all passed, with 1 if not, with 2 for bad usage or a test file that cannot be read.""",
)


async def _run(ctx: click.Context, run: _TestRun, quiet: bool) -> list[CaseOutcome]:
    outcomes: list[CaseOutcome] = []
    shared = settings.load({}, ctx.find_root().info_name or "").hooks
    async with (
        bench(shared, run.timeout, ctx.params["kubeconfig"] or "") as tools,
        aclosing(case_runner.run(tools, run.files, run.named, run.at_once)) as finished,
    ):
        async for outcome in finished:
            if not quiet:
                first = not outcomes or outcomes[-1].file is not outcome.file
                show_case(outcome.report, run.update, first)
            outcomes.append(outcome)
    return outcomes


def rewrite(outcomes: Sequence[CaseOutcome]) -> None:
    """Rewrite the files of stale cases. Raises BadInput."""
    stale = [outcome for outcome in outcomes if outcome.report.stale]
    for file in {id(outcome.file): outcome.file for outcome in stale}.values():
        updates = {
            outcome.case.path: golden.expectation(outcome.case.expect, outcome.wrong, outcome.result, outcome.effects)
            for outcome in stale
            if outcome.file is file
        }
        golden.rewrite(file, updates)


def _tell(output: str, outcomes: Sequence[CaseOutcome], update: bool, seconds: float) -> None:
    report = [outcome.report for outcome in outcomes]
    if output == "json":
        document = to_document(report, [as_json(outcome.result) for outcome in outcomes], seconds)
        echo_json(document)
    else:
        echo_styled(summary(report, update, seconds))
