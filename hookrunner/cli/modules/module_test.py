"""`hookrunner module test`: the test cases of modules and of their hooks, run without a cluster."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import click

from hookrunner import settings
from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.cli.hooks import hook_test as cases
from hookrunner.cli.modules.module_options import MODULES_DIR
from hookrunner.cli.output import echo, echo_json, echo_styled
from hookrunner.cli.shared import kubeconfig_option, quiet, relative, run_to_end, timeout_option
from hookrunner.cli.sources import directory_paths
from hookrunner.errors import BadInput
from hookrunner.modules.discovery import modules_in
from hookrunner.settings import Settings
from hookrunner.testing.bench import bench
from hookrunner.testing.cases import case_runner, golden
from hookrunner.testing.cases.case_files import CaseFile
from hookrunner.testing.cases.case_runner import CaseOutcome
from hookrunner.testing.modules import module_case_files, module_case_runner
from hookrunner.testing.modules.module_case_files import ModuleFile
from hookrunner.testing.modules.module_case_runner import ModuleOutcome, updated
from hookrunner.testing.results import as_json


@dataclass(frozen=True, slots=True)
class _TestRun:
    """The command line, parsed."""

    settings: Settings
    files: Sequence[ModuleFile]
    hooks: Sequence[CaseFile]
    named: str
    at_once: int
    update: bool
    quiet: bool


class _Test(click.Command):
    """Passes its options on in the click context."""

    def invoke(self, ctx: click.Context) -> int:
        params = ctx.params
        test_run = _asked(ctx)
        began = time.perf_counter()
        with quiet():
            outcomes = run_to_end(_run(test_run, params["timeout"], params["kubeconfig"] or ""))
        seconds = time.perf_counter() - began
        if not outcomes:
            raise click.UsageError(f"no case has '{test_run.named}' in its name")
        if test_run.update:
            cases.rewrite([outcome for outcome in outcomes if isinstance(outcome, CaseOutcome)])
            _rewrite([outcome for outcome in outcomes if isinstance(outcome, ModuleOutcome)])
        _tell(outcomes, test_run, seconds)
        cases.write_junit(params["junit"], [outcome.report for outcome in outcomes], seconds)
        return 0 if all(cases.is_fine(outcome.report, test_run.update) for outcome in outcomes) else 1


module_test = _Test(
    "test",
    params=[
        click.Argument(["paths"], nargs=-1, metavar="[DIR]...", type=click.Path(exists=True, path_type=Path)),
        click.Option(
            ["--modules-dir", "directories"],
            multiple=True,
            metavar="DIR",
            help="Test the modules in DIR, too. May be repeated, or DIR:DIR.",
        ),
        *cases.case_options("modules and hooks do"),
        timeout_option(),
        kubeconfig_option(),
    ],
    help="""Run test cases of modules. DIR is a module, or a directory of modules (default: the modules directory).

    \b
    hookrunner module test                         all below ./modules
    hookrunner module test modules/010-dns -k ha   of outcome module, the cases with `ha` in the name
    hookrunner module test --update                accept what modules do now; look at the diff in git
    hookrunner module test --junit report.xml      in CI

    The cases of a module are in its `tests/*.test.yaml`: a list of `name`, `given` (values) and `expect` (objects, a
    golden file, a failure); those of its hooks are beside them, as for `hookrunner hook test`. No cluster is needed.
    It ends with 0 if all passed, with 1 if not, with 2 for bad usage or a test file that cannot be read.""",
)


def _asked(ctx: click.Context) -> _TestRun:
    """Raises BadInput, click.UsageError."""
    params = ctx.params
    loaded = settings.load({}, ctx.find_root().info_name or "")
    paths = (*params["paths"], *directory_paths(params["directories"], MODULES_DIR)) or loaded.modules.directories
    if not paths:
        raise click.UsageError("there is no directory 'modules'; name a DIR, or --modules-dir DIR")
    modules = list(dict.fromkeys(module for path in paths for module in modules_in(relative(path))))
    files = module_case_files.read_all(modules)
    hooks = [file for module in modules for file in case_runner.below(module / "hooks")]
    if not files and not hooks:
        raise BadInput(f"{', '.join(map(str, paths))}: no test cases: there is no tests/*.test.yaml in any module")
    for module in modules:
        if not module_case_files.test_files(module):
            echo(f"note: {module} has no test cases: {module / module_case_files.TESTS}/*.test.yaml", err=True)
    quiet = params["output"] == "json"
    return _TestRun(loaded, files, case_runner.load(hooks), params["named"], params["at_once"], params["update"], quiet)


async def _run(test_run: _TestRun, timeout: float, kubeconfig: str) -> list[ModuleOutcome | CaseOutcome]:
    """Modules first, in outcome render worker, then hooks."""
    outcomes: list[ModuleOutcome | CaseOutcome] = []
    modules = test_run.settings.modules
    limits = RenderLimits(modules.render_timeout, modules.render_memory)
    async with (
        Renderer(limits) as renderer,
        aclosing(
            module_case_runner.run(modules, renderer, test_run.files, test_run.named, test_run.at_once)
        ) as finished,
    ):
        async for outcome in finished:
            _show(outcome, outcomes, test_run)
            outcomes.append(outcome)
    async with (
        bench(test_run.settings.hooks, timeout, kubeconfig) as tools,
        aclosing(case_runner.run(tools, test_run.hooks, test_run.named, test_run.at_once)) as running,
    ):
        async for hook_outcome in running:
            _show(hook_outcome, outcomes, test_run)
            outcomes.append(hook_outcome)
    return outcomes


def _show(
    outcome: ModuleOutcome | CaseOutcome, before: Sequence[ModuleOutcome | CaseOutcome], test_run: _TestRun
) -> None:
    if not test_run.quiet:
        cases.show_case(outcome.report, test_run.update, first=not before or before[-1].file is not outcome.file)


def _rewrite(outcomes: Sequence[ModuleOutcome]) -> None:
    """Rewrite golden files, and the test files of cases that are stale. Raises BadInput."""
    stale = [outcome for outcome in outcomes if outcome.report.stale]
    for file in {id(outcome.file): outcome.file for outcome in stale}.values():
        updates = {
            outcome.case.path: updated(outcome.case, file, outcome.made) for outcome in stale if outcome.file is file
        }
        golden.rewrite(file, updates)


def _tell(outcomes: Sequence[ModuleOutcome | CaseOutcome], test_run: _TestRun, seconds: float) -> None:
    reports = [outcome.report for outcome in outcomes]
    if not test_run.quiet:
        echo_styled(cases.summary(reports, test_run.update, seconds))
        return
    results = [
        as_json(outcome.result) if isinstance(outcome, CaseOutcome) else outcome.made.as_json() for outcome in outcomes
    ]
    echo_json(cases.to_document(reports, results, seconds))
