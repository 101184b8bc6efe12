"""`hookrunner addon test`: the test cases of addons and of their hooks, run without a cluster."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click

from hookrunner.cli.addons.addon_options import AddonFiles, addon_paths, read_files
from hookrunner.cli.addons.addon_sources import ADDONS_DIR, PATCHES_HELP, AddonDirectories
from hookrunner.cli.hooks.case_command import AnyOutcome, CaseCommand, case_options
from hookrunner.cli.hooks.hook_test import HookSuite
from hookrunner.cli.output import echo
from hookrunner.cli.shared import quiet, timeout_option
from hookrunner.errors import BadInput
from hookrunner.model.addons import PatchMode
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
from hookrunner.testing.cases import case_runner


@dataclass(frozen=True, slots=True)
class _AddonSuite:
    """Cases of addons, and of their hooks."""

    files: AddonFiles
    cases: Sequence[AddonCase]
    hooks: HookSuite

    async def run(self) -> AsyncGenerator[AnyOutcome, None]:
        """Addons first, then hooks."""
        files = self.files
        with quiet():
            async with (
                addon_bench(files.settings, files.catalog, files.source_of) as bench,
                aclosing(run_cases(bench, self.cases, stock_capabilities(), self.hooks.at_once)) as finished,
            ):
                async for outcome in finished:
                    yield outcome
            async with aclosing(self.hooks.run()) as running:
                async for hook_outcome in running:
                    yield hook_outcome

    def rewrite(self, outcomes: Sequence[AnyOutcome]) -> None:
        """Rewrite the expectations of stale cases. Raises BadInput."""
        self.hooks.rewrite(outcomes)
        for outcome in outcomes:
            if isinstance(outcome, AddonOutcome) and outcome.report.stale:
                update_case(outcome.case, outcome.objects, outcome.failure)


def _read_suite(ctx: click.Context) -> _AddonSuite:
    """Raises BadInput, click.UsageError."""
    params, named = ctx.params, ctx.params["named"]
    addons = addon_paths(params["paths"], params["directories"])
    cases = read_cases(addons)
    hooks = [file for addon in addons for file in case_runner.below(addon / "hooks")]
    if not cases and not hooks:
        raise BadInput(f"{', '.join(map(str, addons))}: no test cases: there is no {TESTS}/*.in.yaml in any addon")
    for addon in addons:
        if not case_paths(addon):
            echo(f"note: {addon} has no test cases: {addon / TESTS}/*.in.yaml", err=True)
    roots = AddonDirectories(tuple(dict.fromkeys(addon.absolute().parent for addon in addons)))
    files = read_files(roots, params["patches"] or "")
    suite = HookSuite(files.settings.hooks, case_runner.load(hooks), named, params["at_once"], params["timeout"])
    return _AddonSuite(files, [case for case in cases if named in case.name], suite)


addon_test = CaseCommand(
    _read_suite,
    "test",
    params=[
        click.Argument(["paths"], nargs=-1, metavar="[DIR]...", type=click.Path(exists=True, path_type=Path)),
        click.Option(
            [ADDONS_DIR, "directories"],
            multiple=True,
            metavar="DIR",
            help="Test the addons in DIR, too. May be repeated, or DIR:DIR.",
        ),
        *case_options("addons and hooks do"),
        click.Option(["--addon-patches", "patches"], type=click.Choice(get_args(PatchMode)), help=PATCHES_HELP),
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
