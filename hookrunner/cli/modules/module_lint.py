"""`hookrunner module lint`: what is wrong with modules, without a cluster."""

from datetime import datetime
from pathlib import Path

import click

from hookrunner import settings
from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.cli.hooks.hook_lint import FindingsForm, finding_options, lint_directories
from hookrunner.cli.modules.module_offline import module_paths, named_paths
from hookrunner.jq.program import Jq
from hookrunner.linting.hook_linter import Linted, Linter
from hookrunner.linting.modules.module_linter import ModuleLinter
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import Settings


@click.command("lint")
@click.argument("paths", metavar="[DIR]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--modules-dir",
    "directories",
    multiple=True,
    metavar="DIR",
    help="Check the modules in DIR, too. May be repeated, or DIR:DIR.",
)
@finding_options
def module_lint(paths: tuple[Path, ...], directories: tuple[str, ...], form: FindingsForm) -> int:
    """Check modules. DIR is a module, or a directory of modules (default: the modules directory).

    \b
    hookrunner module lint                           all that is wrong with ./modules
    hookrunner module lint modules/010-dns           one module
    hookrunner module lint -o github --strict        in a workflow

    Looked at are names and module.yaml, schemas and their defaults, values.yaml, crds/, the chart rendered with default
    values and with hostile texts in all text fields, and hooks as by `hookrunner hook lint`. Errors are what would be
    refused. A comment `# hookrunner: ignore=CODE` silences a warning. It ends with 1 for errors, with 2 for bad usage,
    else with 0.
    """
    loaded = settings.load({}, click.get_current_context().find_root().info_name or "")
    modules = module_paths(named_paths(paths, directories, loaded))
    return lint_directories("module", modules, _lint(loaded, modules), form)


async def _lint(loaded: Settings, modules: list[Path]) -> Linted:
    limits = RenderLimits(loaded.modules.render_timeout, loaded.modules.render_memory)
    async with Jq() as jq, Renderer(limits) as renderer:
        hooks = Linter(loaded.hooks, Children(Patience(kill=5.0)), jq, datetime.now().astimezone())
        return await ModuleLinter(loaded.modules, hooks, renderer).lint(modules)
