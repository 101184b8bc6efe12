"""`hookrunner hook lint`: what is wrong with hooks, without a cluster."""

from datetime import datetime
from pathlib import Path

import click

from hookrunner import settings
from hookrunner.cli import ending
from hookrunner.cli.findings import many, tell, told
from hookrunner.cli.here import relative
from hookrunner.jq.program import Jq
from hookrunner.linting.lint import Linted, Linter
from hookrunner.process.child import Patience
from hookrunner.process.children import Children


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@told
@click.pass_context
def lint(ctx: click.Context, paths: tuple[Path, ...], output: str, strict: bool, verbose: bool) -> int:
    """Check hooks: files, or directories of them (default: the hooks directory).

    \b
    hookrunner hook lint                      all that is wrong with ./hooks
    hookrunner hook lint hooks/copy.sh -v     one hook, and when its schedules fire
    hookrunner hook lint -o github --strict   in a workflow

    Errors are what the start would refuse. Warnings are what loads and then does not do what was meant; a comment
    `# hookrunner: ignore=CODE` silences one. It ends with 1 for errors, with 2 for bad usage, else with 0.
    """
    loaded = settings.load({}, ctx.find_root().info_name or "").hooks
    if not paths and not loaded.directory.is_dir():
        raise click.UsageError(f"there is no directory '{loaded.directory}'; name a PATH, or set HOOKRUNNER_HOOKS_DIR")
    linted = ending.run(_linted(loaded, paths or (relative(loaded.directory),)))
    return tell(many(linted.hooks, "hook"), linted.findings, output, strict, verbose)


async def _linted(loaded: settings.HooksSettings, paths: tuple[Path, ...]) -> Linted:
    async with Jq() as jq:
        return await Linter(loaded, Children(Patience(kill=5.0)), jq, datetime.now().astimezone()).lint(paths)
