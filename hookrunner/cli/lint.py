"""`hookrunner hook lint`: what is wrong with hooks, without a cluster."""

from datetime import datetime
from pathlib import Path

import click

from hookrunner import settings
from hookrunner.cli import ending
from hookrunner.jq.program import Jq
from hookrunner.linting import formats
from hookrunner.linting.findings import Finding, Severity
from hookrunner.linting.lint import Linted, Linter
from hookrunner.process.child import Patience
from hookrunner.process.children import Children

FORMATS = {"text": formats.text, "json": formats.json, "github": formats.github}


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--output", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--strict", is_flag=True, help="End with 1 for warnings, too.")
@click.option("-v", "--verbose", is_flag=True, help="Also show when schedules fire next.")
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
    linted = ending.run(_linted(loaded, paths or (_relative(loaded.directory),)))
    shown = [one for one in linted.findings if verbose or one.code != "next-runs"]
    click.echo(FORMATS[output](shown), nl=False)
    if output == "text":
        click.echo(_summary(linted.hooks, shown), err=True)
    bad = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return int(any(one.severity in bad for one in shown))


async def _linted(loaded: settings.HooksSettings, paths: tuple[Path, ...]) -> Linted:
    async with Jq() as jq:
        return await Linter(loaded, Children(Patience(kill=5.0)), jq, datetime.now().astimezone()).lint(paths)


def _relative(path: Path) -> Path:
    """As a person in this directory would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _summary(hooks: int, findings: list[Finding]) -> str:
    return f"{hooks} hook{'s' * (hooks != 1)}: {counted(findings)}"


def counted(findings: list[Finding]) -> str:
    """`2 errors, 1 warning`."""
    counts = {severity: sum(one.severity is severity for one in findings) for severity in Severity}
    told = [f"{count} {severity}{'s' * (count > 1)}" for severity, count in counts.items() if count]
    return ", ".join(told) or "nothing to tell"
