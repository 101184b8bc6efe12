"""`hookrunner module test`: the test cases of modules and of their hooks, run without a cluster."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import click

from hookrunner import settings
from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.cli.hooks.case_command import AnyOutcome, CaseCommand, case_options
from hookrunner.cli.hooks.hook_test import HookSuite
from hookrunner.cli.modules.module_offline import module_paths, named_paths
from hookrunner.cli.output import echo
from hookrunner.cli.shared import kubeconfig_option, quiet, timeout_option
from hookrunner.errors import BadInput
from hookrunner.settings import ModulesSettings
from hookrunner.testing.cases import case_runner, golden
from hookrunner.testing.modules import module_case_files, module_case_runner
from hookrunner.testing.modules.module_case_files import ModuleFile
from hookrunner.testing.modules.module_case_runner import ModuleOutcome, updated


@dataclass(frozen=True, slots=True)
class _ModuleSuite:
    """Cases of modules, and of their hooks."""

    settings: ModulesSettings
    files: Sequence[ModuleFile]
    hooks: HookSuite

    async def run(self) -> AsyncGenerator[AnyOutcome, None]:
        """Modules first, in one render worker, then hooks."""
        limits = RenderLimits(self.settings.render_timeout, self.settings.render_memory)
        named, at_once = self.hooks.named, self.hooks.at_once
        with quiet():
            async with (
                Renderer(limits) as renderer,
                aclosing(module_case_runner.run(self.settings, renderer, self.files, named, at_once)) as finished,
            ):
                async for outcome in finished:
                    yield outcome
            async with aclosing(self.hooks.run()) as running:
                async for hook_outcome in running:
                    yield hook_outcome

    def rewrite(self, outcomes: Sequence[AnyOutcome]) -> None:
        """Rewrite golden files, and the test files of cases that are stale. Raises BadInput."""
        self.hooks.rewrite(outcomes)
        stale = [outcome for outcome in outcomes if isinstance(outcome, ModuleOutcome) and outcome.report.stale]
        for file in {id(outcome.file): outcome.file for outcome in stale}.values():
            updates = {
                outcome.case.path: updated(outcome.case, file, outcome.made)
                for outcome in stale
                if outcome.file is file
            }
            golden.rewrite(file, updates)


def _read_suite(ctx: click.Context) -> _ModuleSuite:
    """Raises BadInput, click.UsageError."""
    params = ctx.params
    loaded = settings.load({}, ctx.find_root().info_name or "")
    paths = named_paths(params["paths"], params["directories"], loaded)
    modules = module_paths(paths)
    files = module_case_files.read_all(modules)
    hooks = [file for module in modules for file in case_runner.below(module / "hooks")]
    if not files and not hooks:
        raise BadInput(f"{', '.join(map(str, paths))}: no test cases: there is no tests/*.test.yaml in any module")
    for module in modules:
        if not module_case_files.test_files(module):
            echo(f"note: {module} has no test cases: {module / module_case_files.TESTS}/*.test.yaml", err=True)
    named, at_once, kubeconfig = params["named"], params["at_once"], params["kubeconfig"] or ""
    suite = HookSuite(loaded.hooks, case_runner.load(hooks), named, at_once, params["timeout"], kubeconfig)
    return _ModuleSuite(loaded.modules, files, suite)


module_test = CaseCommand(
    _read_suite,
    "test",
    params=[
        click.Argument(["paths"], nargs=-1, metavar="[DIR]...", type=click.Path(exists=True, path_type=Path)),
        click.Option(
            ["--modules-dir", "directories"],
            multiple=True,
            metavar="DIR",
            help="Test the modules in DIR, too. May be repeated, or DIR:DIR.",
        ),
        *case_options("modules and hooks do"),
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
