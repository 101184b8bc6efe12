"""`hookrunner module test`: the test cases of modules and of their hooks, run without a cluster."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import click

from hookrunner import settings
from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.cli import cases, ending, module_files
from hookrunner.cli.here import relative
from hookrunner.cli.hook_run import kubeconfig_option, timeout_option
from hookrunner.cli.hook_test import rewrite as rewrite_hooks
from hookrunner.cli.output import echo, echo_json, echo_styled
from hookrunner.cli.quiet import quiet
from hookrunner.errors import BadInput
from hookrunner.modules.discovery import modules_in
from hookrunner.settings import Settings
from hookrunner.testing.bench import bench
from hookrunner.testing.cases import case_runner, golden
from hookrunner.testing.cases.case_files import CaseFile
from hookrunner.testing.cases.case_runner import CaseOutcome
from hookrunner.testing.modules import module_case_files, module_case_runner
from hookrunner.testing.modules.module_case_files import ModuleFile
from hookrunner.testing.modules.module_case_runner import ModuleOutcome
from hookrunner.testing.modules.module_expectations import updated
from hookrunner.testing.results import as_json


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line says."""

    settings: Settings
    files: Sequence[ModuleFile]
    hooks: Sequence[CaseFile]
    named: str
    at_once: int
    update: bool
    quiet: bool


class _Test(click.Command):
    """Its options go where they are needed by way of the click context."""

    def invoke(self, ctx: click.Context) -> int:
        said = ctx.params
        asked = _asked(ctx)
        began = time.perf_counter()
        with quiet():
            outcomes = ending.run(_run(asked, said["timeout"], said["kubeconfig"] or ""))
        seconds = time.perf_counter() - began
        if not outcomes:
            raise click.UsageError(f"no case has '{asked.named}' in its name")
        if asked.update:
            rewrite_hooks([one for one in outcomes if isinstance(one, CaseOutcome)])
            _rewrite([one for one in outcomes if isinstance(one, ModuleOutcome)])
        _tell(outcomes, asked, seconds)
        cases.write_junit(said["junit"], [one.report for one in outcomes], seconds)
        return 0 if all(cases.is_fine(one.report, asked.update) for one in outcomes) else 1


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
        *cases.options("modules and hooks do"),
        timeout_option(),
        kubeconfig_option(),
    ],
    help="""Run test cases of modules. DIR is a module, or a directory of modules (default: the modules directory).

    \b
    hookrunner module test                         all below ./modules
    hookrunner module test modules/010-dns -k ha   of one module, the cases with `ha` in the name
    hookrunner module test --update                accept what modules do now; look at the diff in git
    hookrunner module test --junit report.xml      in CI

    The cases of a module are in its `tests/*.test.yaml`: a list of `name`, `given` (values) and `expect` (objects, a
    golden file, a failure); those of its hooks are beside them, as for `hookrunner hook test`. No cluster is needed.
    It ends with 0 if all passed, with 1 if not, with 2 for bad usage or a test file that cannot be read.""",
)


def _asked(ctx: click.Context) -> _Asked:
    """Raises BadInput, click.UsageError."""
    said = ctx.params
    loaded = settings.load({}, ctx.find_root().info_name or "")
    paths = (*said["paths"], *module_files.paths(said["directories"])) or loaded.modules.directories
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
    quiet = said["output"] == "json"
    return _Asked(loaded, files, case_runner.load(hooks), said["named"], said["at_once"], said["update"], quiet)


async def _run(asked: _Asked, timeout: float, kubeconfig: str) -> list[ModuleOutcome | CaseOutcome]:
    """Modules first, in one render worker, then hooks."""
    outcomes: list[ModuleOutcome | CaseOutcome] = []
    modules = asked.settings.modules
    limits = RenderLimits(modules.render_timeout, modules.render_memory)
    async with (
        Renderer(limits) as renderer,
        aclosing(module_case_runner.run(modules, renderer, asked.files, asked.named, asked.at_once)) as going,
    ):
        async for outcome in going:
            _show(outcome, outcomes, asked)
            outcomes.append(outcome)
    async with (
        bench(asked.settings.hooks, timeout, kubeconfig) as tools,
        aclosing(case_runner.run(tools, asked.hooks, asked.named, asked.at_once)) as running,
    ):
        async for one in running:
            _show(one, outcomes, asked)
            outcomes.append(one)
    return outcomes


def _show(one: ModuleOutcome | CaseOutcome, before: Sequence[ModuleOutcome | CaseOutcome], asked: _Asked) -> None:
    if not asked.quiet:
        cases.show(one.report, asked.update, first=not before or before[-1].file is not one.file)


def _rewrite(outcomes: Sequence[ModuleOutcome]) -> None:
    """Rewrite golden files, and the test files of cases that are stale. Raises BadInput."""
    stale = [one for one in outcomes if one.report.stale]
    for file in {id(one.file): one.file for one in stale}.values():
        updates = {one.case.path: updated(one.case, file, one.made) for one in stale if one.file is file}
        golden.rewrite(file, updates)


def _tell(outcomes: Sequence[ModuleOutcome | CaseOutcome], asked: _Asked, seconds: float) -> None:
    told = [one.report for one in outcomes]
    if not asked.quiet:
        echo_styled(cases.summary(told, asked.update, seconds))
        return
    results = [as_json(one.result) if isinstance(one, CaseOutcome) else one.made.as_json() for one in outcomes]
    echo_json(cases.document(told, results, seconds))
