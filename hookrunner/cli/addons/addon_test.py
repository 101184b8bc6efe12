"""`hookrunner addon test`: the test cases of addons and of their hooks, run without a cluster."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import click

from hookrunner.cli.addons.addon_options import AddonFiles, addon_paths, read_files
from hookrunner.cli.addons.addon_sources import AddonDirectories
from hookrunner.cli.hooks import hook_test as shown_cases
from hookrunner.cli.output import echo, echo_json, echo_styled
from hookrunner.cli.shared import quiet, run_to_end, timeout_option
from hookrunner.errors import BadInput
from hookrunner.modules.offline import stock_capabilities
from hookrunner.testing.addons.addon_bench import addon_bench
from hookrunner.testing.addons.addon_cases import (
    TESTS,
    AddonCase,
    AddonOutcome,
    case_paths,
    read_cases,
    run_cases,
    update_case,
)
from hookrunner.testing.bench import bench
from hookrunner.testing.cases import case_runner
from hookrunner.testing.cases.case_files import CaseFile
from hookrunner.testing.cases.case_runner import CaseOutcome
from hookrunner.testing.results import as_json

Outcome: TypeAlias = AddonOutcome | CaseOutcome


@dataclass(frozen=True, slots=True)
class _TestRun:
    """The command line, parsed."""

    files: AddonFiles
    cases: Sequence[AddonCase]
    hooks: Sequence[CaseFile]
    named: str
    at_once: int
    timeout: float
    update: bool
    quiet: bool


class _Test(click.Command):
    """Passes its options on in the click context."""

    def invoke(self, ctx: click.Context) -> int:
        test_run = _parse(ctx)
        began = time.perf_counter()
        with quiet():
            outcomes = run_to_end(_run(test_run))
        seconds = time.perf_counter() - began
        if not outcomes:
            raise click.UsageError(f"no case has '{test_run.named}' in its name")
        if test_run.update:
            _rewrite(outcomes)
        _print_end(outcomes, test_run, seconds)
        reports = [outcome.report for outcome in outcomes]
        shown_cases.write_junit(ctx.params["junit"], reports, seconds)
        return 0 if all(shown_cases.is_fine(report, test_run.update) for report in reports) else 1


addon_test = _Test(
    "test",
    params=[
        click.Argument(["paths"], nargs=-1, metavar="[DIR]...", type=click.Path(exists=True, path_type=Path)),
        click.Option(
            ["--addons-dir", "directories"],
            multiple=True,
            metavar="DIR",
            help="Test the addons in DIR, too. May be repeated, or DIR:DIR.",
        ),
        *shown_cases.case_options("addons and hooks do"),
        timeout_option(),
    ],
    help="""Run test cases of addons. DIR is an addon, or a directory of addons (default: ./addons).

    \b
    hookrunner addon test                        all below ./addons
    hookrunner addon test addons/coredns -k own  of one addon, the cases with `own` in the name
    hookrunner addon test --update               accept what addons do now; look at the diff in git
    hookrunner addon test --junit report.xml     in CI

    A case is an instance in `tests/NAME.in.yaml`. The objects that it should lead to are in `NAME.out.yaml`, or a part
    of the error in `NAME.error`; `NAME.side_in.yaml` has the objects of the cluster. Cases of hooks are beside them, as
    for `hookrunner hook test`. No cluster is needed. It ends with 0 if all passed, with 1 if not, with 2 for bad usage
    or a file that cannot be read.""",
)


def _parse(ctx: click.Context) -> _TestRun:
    """Raises BadInput, click.UsageError."""
    params = ctx.params
    addons = addon_paths(params["paths"], params["directories"])
    cases = read_cases(addons)
    hooks = [file for addon in addons for file in case_runner.below(addon / "hooks")]
    if not cases and not hooks:
        raise BadInput(f"{', '.join(map(str, addons))}: no test cases: there is no {TESTS}/*.in.yaml in any addon")
    for addon in addons:
        if not case_paths(addon):
            echo(f"note: {addon} has no test cases: {addon / TESTS}/*.in.yaml", err=True)
    named = params["named"]
    return _TestRun(
        files=read_files(AddonDirectories(tuple(dict.fromkeys(addon.absolute().parent for addon in addons)))),
        cases=[case for case in cases if named in case.name],
        hooks=case_runner.load(hooks),
        named=named,
        at_once=params["at_once"],
        timeout=params["timeout"],
        update=params["update"],
        quiet=params["output"] == "json",
    )


async def _run(test_run: _TestRun) -> list[Outcome]:
    """Addons first, then hooks."""
    outcomes: list[Outcome] = []
    files = test_run.files
    async with (
        addon_bench(files.settings, files.catalog, files.source_of) as addons,
        aclosing(run_cases(addons, test_run.cases, stock_capabilities(), test_run.at_once)) as finished,
    ):
        async for outcome in finished:
            _show(outcome, outcomes, test_run)
            outcomes.append(outcome)
    async with (
        bench(files.settings.hooks, test_run.timeout) as hooks,
        aclosing(case_runner.run(hooks, test_run.hooks, test_run.named, test_run.at_once)) as running,
    ):
        async for hook_outcome in running:
            _show(hook_outcome, outcomes, test_run)
            outcomes.append(hook_outcome)
    return outcomes


def _show(outcome: Outcome, before: Sequence[Outcome], test_run: _TestRun) -> None:
    if not test_run.quiet:
        report = outcome.report
        first = not before or before[-1].report.path != report.path
        shown_cases.show_case(report, test_run.update, first)


def _rewrite(outcomes: Sequence[Outcome]) -> None:
    """Rewrite the expectations of stale cases. Raises BadInput."""
    shown_cases.rewrite([outcome for outcome in outcomes if isinstance(outcome, CaseOutcome)])
    for outcome in outcomes:
        if isinstance(outcome, AddonOutcome) and outcome.report.stale:
            update_case(outcome.case, outcome.objects, outcome.failure)


def _print_end(outcomes: Sequence[Outcome], test_run: _TestRun, seconds: float) -> None:
    reports = [outcome.report for outcome in outcomes]
    if not test_run.quiet:
        echo_styled(shown_cases.summary(reports, test_run.update, seconds))
        return
    results = [
        as_json(outcome.result) if isinstance(outcome, CaseOutcome) else outcome.as_json() for outcome in outcomes
    ]
    echo_json(shown_cases.to_document(reports, results, seconds))
