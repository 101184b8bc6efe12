"""`hookrunner hook test`, `module test` and `addon test`: test cases, run without a cluster."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import click

from hookrunner import settings
from hookrunner.cli.addons.addon_sources import PATCHES_HELP, package_options
from hookrunner.cli.checks.case_command import CaseCommand, CasePart, CaseSuite, case_options
from hookrunner.cli.output import echo
from hookrunner.cli.shared import (
    directories_option,
    hooks_directory,
    kubeconfig_option,
    quiet,
    relative,
    timeout_option,
)
from hookrunner.errors import BadInput
from hookrunner.model.addons import PatchMode
from hookrunner.settings import HooksSettings
from hookrunner.testing.bench import bench
from hookrunner.testing.cases import golden, hook_cases
from hookrunner.testing.cases.case_files import CaseFile
from hookrunner.testing.cases.hook_cases import HookCases, HookOutcome
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


def _hook_part(files: Sequence[CaseFile], params: Mapping[str, Any], loaded: HooksSettings) -> CasePart:
    """The cases of these files that a command's options choose (`-k`); runs are bound by `--timeout` and see
    `--kubeconfig`."""
    cases = [(file, case) for file in files for case in file.cases if params["named"] in case.name]

    @asynccontextmanager
    async def open_bench() -> AsyncIterator[HookCases]:
        async with bench(loaded, params["timeout"], params.get("kubeconfig") or "") as tools:
            yield HookCases(tools)

    return CasePart(cases, open_bench, _rewrite)


def _rewrite(stale: Sequence[HookOutcome]) -> None:
    golden.rewrite_all((outcome.file, outcome.case.path, _expectation(outcome)) for outcome in stale)


def _expectation(outcome: HookOutcome) -> JSON:
    """What a case expects from now on."""
    ran = outcome.product
    return golden.expectation(outcome.case.expect, outcome.wrong, ran.result, ran.effects)


def _read_hooks(ctx: click.Context) -> CaseSuite:
    params, loaded = ctx.params, settings.load({}, ctx.find_root().info_name or "").hooks
    files = hook_cases.load(hook_cases.find(relative(path) for path in params["paths"] or (hooks_directory(loaded),)))
    return CaseSuite([_hook_part(files, params, loaded)], params["at_once"])


@dataclass(frozen=True, slots=True)
class _Units:
    """Modules or addons that are tested, and how they were `named`. `cases` returns the files of one's own cases,
    `pattern` is where they are."""

    noun: str
    named: Sequence[Path]
    directories: Sequence[Path]
    cases: Callable[[Path], Sequence[Path]]
    pattern: str

    def read_hooks(self, ctx: click.Context, loaded: HooksSettings) -> CasePart:
        """The cases of their hooks; notes on units without cases. Raises BadInput if nothing has any."""
        hooks = [file for directory in self.directories for file in hook_cases.below(directory / "hooks")]
        without = [directory for directory in self.directories if not self.cases(directory)]
        if len(without) == len(self.directories) and not hooks:
            named = ", ".join(map(str, self.named))
            raise BadInput(f"{named}: no test cases: there is no {self.pattern} in any {self.noun}")
        for directory in without:
            echo(f"note: {directory} has no test cases: {directory / self.pattern}", err=True)
        return _hook_part(hook_cases.load(hooks), ctx.params, loaded)


def _read_modules(ctx: click.Context) -> CaseSuite:
    # Imported here, as below: a test of hooks need not wait for what reads charts and packages.
    from hookrunner.charts.renderer import Renderer, RenderLimits
    from hookrunner.cli.modules.module_offline import module_paths, named_paths
    from hookrunner.testing.modules import module_case_files
    from hookrunner.testing.modules.module_case_runner import ModuleCases, ModuleOutcome, updated

    loaded = settings.load({}, ctx.find_root().info_name or "")
    named = named_paths(ctx.params["paths"], ctx.params["directories"], loaded)
    modules = module_paths(named)
    files = module_case_files.read_all(modules)
    cases = [(file, case) for file in files for case in file.cases if ctx.params["named"] in case.name]

    @asynccontextmanager
    async def open_renderer() -> AsyncIterator[ModuleCases]:
        async with Renderer(RenderLimits.of(loaded.modules)) as renderer:
            yield ModuleCases(loaded.modules, renderer)

    def rewrite(stale: Sequence[ModuleOutcome]) -> None:
        golden.rewrite_all((one.file, one.case.path, updated(one.case, one.file, one.product)) for one in stale)

    units = _Units("module", named, modules, module_case_files.test_files, f"{module_case_files.TESTS}/*.test.yaml")
    hooks = units.read_hooks(ctx, loaded.hooks)
    return CaseSuite([CasePart(cases, open_renderer, rewrite), hooks], ctx.params["at_once"], quiet)


def _read_addons(ctx: click.Context) -> CaseSuite:
    from hookrunner.cli.addons.addon_options import addon_paths, read_files
    from hookrunner.cli.addons.addon_sources import AddonDirectories
    from hookrunner.modules.offline import stock_capabilities
    from hookrunner.testing.addons import addon_cases
    from hookrunner.testing.addons.addon_bench import addon_bench

    loaded = settings.load({}, ctx.find_root().info_name or "")
    addons = addon_paths(ctx.params["paths"], ctx.params["directories"])
    cases = [(case, case) for case in addon_cases.read_cases(addons) if ctx.params["named"] in case.name]
    paths = tuple(dict.fromkeys(addon.absolute().parent for addon in addons))
    roots = AddonDirectories(paths, *(ctx.params[name] for name in ("packages", "mirrors", "keys")))
    units = _Units("addon", addons, addons, addon_cases.case_paths, f"{addon_cases.TESTS}/*.in.yaml")
    hooks = units.read_hooks(ctx, loaded.hooks)
    files = read_files(roots, {"addon-patches": ctx.params["patches"]} if ctx.params["patches"] else {})

    @asynccontextmanager
    async def open_bench() -> AsyncIterator[addon_cases.AddonCases]:
        async with addon_bench(files.settings, files.catalog, files.source_of) as bench:
            yield addon_cases.AddonCases(bench, stock_capabilities())

    def rewrite(stale: Sequence[addon_cases.AddonOutcome]) -> None:
        for one in stale:
            addon_cases.update_case(one.case, one.product.objects, one.product.failure)

    return CaseSuite([CasePart(cases, open_bench, rewrite), hooks], ctx.params["at_once"], quiet)


hook_test = CaseCommand(
    _read_hooks,
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

module_test = CaseCommand(
    _read_modules,
    "test",
    params=[
        click.Argument(["paths"], nargs=-1, metavar="[DIR]...", type=click.Path(exists=True, path_type=Path)),
        directories_option("--modules-dir", "Test", "module"),
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

addon_test = CaseCommand(
    _read_addons,
    "test",
    params=[
        click.Argument(["paths"], nargs=-1, metavar="[DIR]...", type=click.Path(exists=True, path_type=Path)),
        directories_option("--addons-dir", "Test", "addon"),
        *case_options("addons and hooks do"),
        click.Option(["--addon-patches", "patches"], type=click.Choice(get_args(PatchMode)), help=PATCHES_HELP),
        *package_options(),
        timeout_option(),
    ],
    help="""Run test cases of addons. DIR is an addon, or a directory of addons (default: ./addons).

    \b
    hookrunner addon test                        all below ./addons
    hookrunner addon test addons/coredns -k own  of one addon, the cases with `own` in the name
    hookrunner addon test --update               accept what addons do now; look at the diff in git
    hookrunner addon test --junit report.xml     in CI

    A case is an instance in `tests/NAME.in.yaml`. The objects that it should lead to are in `NAME.out.yaml`, how they
    differ from those of another case in `NAME.expect.yaml`, or a part of the error in `NAME.error`;
    `NAME.side_in.yaml` has the objects of the cluster. Cases of hooks are beside them, as for `hookrunner hook test`.
    No cluster is needed. It ends with 0 if all passed, with 1 if not, with 2 for bad usage or a file that cannot be
    read.""",
)
