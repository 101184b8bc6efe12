"""`hookrunner hook test`: the test cases beside hooks, run without a cluster; those of modules and addons, too."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import click

from hookrunner import settings
from hookrunner.cli.hooks.case_command import AnyOutcome, CaseCommand, case_options
from hookrunner.cli.shared import hooks_directory, kubeconfig_option, relative, timeout_option
from hookrunner.settings import HooksSettings
from hookrunner.testing.bench import bench
from hookrunner.testing.cases import case_runner, golden
from hookrunner.testing.cases.case_files import CaseFile
from hookrunner.testing.cases.case_runner import CaseOutcome
from kubetypes.json_values import JSON


@dataclass(frozen=True, slots=True)
class HookSuite:
    """Cases of hooks: those of `files` with `named` in the name. A run may take `timeout` seconds; hooks find the
    cluster of `kubeconfig`, none if it is empty."""

    settings: HooksSettings
    files: Sequence[CaseFile]
    named: str
    at_once: int
    timeout: float
    kubeconfig: str = ""

    async def run(self) -> AsyncGenerator[AnyOutcome, None]:
        """Run them."""
        async with (
            bench(self.settings, self.timeout, self.kubeconfig) as tools,
            aclosing(case_runner.run(tools, self.files, self.named, self.at_once)) as finished,
        ):
            async for outcome in finished:
                yield outcome

    def rewrite(self, outcomes: Sequence[AnyOutcome]) -> None:
        """Rewrite the files of stale cases, of those that are cases of hooks. Raises BadInput."""
        stale = [outcome for outcome in outcomes if isinstance(outcome, CaseOutcome) and outcome.report.stale]
        for file in {id(outcome.file): outcome.file for outcome in stale}.values():
            updates = {outcome.case.path: _expectation(outcome) for outcome in stale if outcome.file is file}
            golden.rewrite(file, updates)


def _expectation(outcome: CaseOutcome) -> JSON:
    """What a case expects from now on."""
    return golden.expectation(outcome.case.expect, outcome.wrong, outcome.result, outcome.effects)


def _read_suite(ctx: click.Context) -> HookSuite:
    params, loaded = ctx.params, settings.load({}, ctx.find_root().info_name or "").hooks
    files = case_runner.load(case_runner.find(relative(path) for path in params["paths"] or (hooks_directory(loaded),)))
    named, at_once, kubeconfig = params["named"], params["at_once"], params["kubeconfig"] or ""
    return HookSuite(loaded, files, named, at_once, params["timeout"], kubeconfig)


hook_test = CaseCommand(
    _read_suite,
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
