"""`hookrunner hook test`: the test cases beside hooks, run without a cluster."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import click

from hookrunner import settings
from hookrunner.cli import cases, ending
from hookrunner.cli.here import relative
from hookrunner.cli.hook_run import kubeconfig_option, timeout_option
from hookrunner.cli.output import echo_json, echo_styled
from hookrunner.testing.bench import bench
from hookrunner.testing.cases import case_runner, golden
from hookrunner.testing.cases.case_files import CaseFile
from hookrunner.testing.cases.case_runner import CaseOutcome
from hookrunner.testing.results import as_json


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line says."""

    files: Sequence[CaseFile]
    named: str
    at_once: int
    timeout: float
    update: bool


class _Test(click.Command):
    """Its options go where they are needed by way of the click context."""

    def invoke(self, ctx: click.Context) -> int:
        said = ctx.params
        paths = said["paths"] or (settings.load({}, ctx.find_root().info_name or "").hooks.directory,)
        files = case_runner.load(case_runner.find(relative(path) for path in paths))
        asked = _Asked(files, said["named"], said["at_once"], said["timeout"], said["update"])
        began = time.perf_counter()
        outcomes = ending.run(_run(ctx, asked, quiet=said["output"] == "json"))
        seconds = time.perf_counter() - began
        if not outcomes:
            raise click.UsageError(f"no case has '{said['named']}' in its name")
        if said["update"]:
            rewrite(outcomes)
        _tell(said["output"], outcomes, said["update"], seconds)
        cases.write_junit(said["junit"], [one.report for one in outcomes], seconds)
        return 0 if all(cases.is_fine(one.report, said["update"]) for one in outcomes) else 1


hook_test = _Test(
    "test",
    params=[
        click.Argument(["paths"], nargs=-1, metavar="[PATH]...", type=click.Path(exists=True, path_type=Path)),
        *cases.options("the hooks do"),
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


async def _run(ctx: click.Context, asked: _Asked, quiet: bool) -> list[CaseOutcome]:
    outcomes: list[CaseOutcome] = []
    shared = settings.load({}, ctx.find_root().info_name or "").hooks
    async with (
        bench(shared, asked.timeout, ctx.params["kubeconfig"] or "") as tools,
        aclosing(case_runner.run(tools, asked.files, asked.named, asked.at_once)) as going,
    ):
        async for outcome in going:
            if not quiet:
                first = not outcomes or outcomes[-1].file is not outcome.file
                cases.show(outcome.report, asked.update, first)
            outcomes.append(outcome)
    return outcomes


def rewrite(outcomes: Sequence[CaseOutcome]) -> None:
    """Rewrite the files of cases that are stale. Raises BadInput."""
    stale = [one for one in outcomes if one.report.stale]
    for file in {id(one.file): one.file for one in stale}.values():
        updates = {
            one.case.path: golden.expectation(one.case.expect, one.wrong, one.result, one.effects)
            for one in stale
            if one.file is file
        }
        golden.rewrite(file, updates)


def _tell(output: str, outcomes: Sequence[CaseOutcome], update: bool, seconds: float) -> None:
    told = [outcome.report for outcome in outcomes]
    if output == "json":
        document = cases.document(told, [as_json(outcome.result) for outcome in outcomes], seconds)
        echo_json(document)
    else:
        echo_styled(cases.summary(told, update, seconds))
