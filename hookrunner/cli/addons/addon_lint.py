"""`hookrunner addon lint`: what is wrong with addons, without a cluster."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from hookrunner import settings
from hookrunner.addons.object_builder import ObjectBuilder
from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.cli.addons.addon_options import addon_paths
from hookrunner.cli.hooks.hook_lint import FindingsForm, finding_options, lint_directories
from hookrunner.jq.program import Jq
from hookrunner.linting.addon_linter import AddonLinter
from hookrunner.linting.hook_linter import Linted, Linter
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import Settings


@click.command("lint")
@click.argument("paths", metavar="[DIR]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--addons-dir",
    "directories",
    multiple=True,
    metavar="DIR",
    help="Check the addons in DIR, too. May be repeated, or DIR:DIR.",
)
@finding_options
def addon_lint(paths: tuple[Path, ...], directories: tuple[str, ...], form: FindingsForm) -> int:
    """Check addons. DIR is an addon, or a directory of addons (default: ./addons).

    \b
    hookrunner addon lint                           all that is wrong with ./addons
    hookrunner addon lint addons/coredns            one addon
    hookrunner addon lint -o github --strict        in a workflow

    Looked at are addon.yaml, schemas and their defaults, values.yaml, channels, packages and the objects that they lead
    to with default values and with hostile texts in all text fields, and hooks as by `hookrunner hook lint`. Errors are
    what would be refused. A comment `# hookrunner: ignore=CODE` silences a warning. It ends with 1 for errors, with 2
    for bad usage, else with 0.
    """
    loaded = settings.load({}, click.get_current_context().find_root().info_name or "")
    addons = addon_paths(paths, directories)
    return lint_directories("addon", addons, _lint(loaded, addons), form)


async def _lint(loaded: Settings, addons: Sequence[Path]) -> Linted:
    children = Children(Patience(kill=5.0))
    limits = RenderLimits(loaded.modules.render_timeout, loaded.modules.render_memory)
    with TemporaryDirectory(prefix="hookrunner-lint-") as directory:
        scratch = Path(directory)
        async with Jq() as jq, Renderer(limits) as renderer:
            builder = ObjectBuilder(renderer, ProgramRunner(children, scratch), loaded.hooks.environ)
            hooks = Linter(loaded.hooks, children, jq, datetime.now().astimezone())
            return await AddonLinter(hooks, builder, scratch).lint(addons)
