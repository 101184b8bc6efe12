"""`hookrunner hook lint`: what is wrong with hooks, without a cluster. How commands that lint print what they find."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

import click

from hookrunner import settings
from hookrunner.cli.output import echo
from hookrunner.cli.shared import hooks_directory, quiet, run_to_end
from hookrunner.jq.program import Jq
from hookrunner.linting.findings import Finding, Severity, to_github, to_json, to_text
from hookrunner.linting.hook_linter import Linted, Linter
from hookrunner.process.child import Patience
from hookrunner.process.children import Children

_FORMATS = {"text": to_text, "json": to_json, "github": to_github}
_Lint: TypeAlias = Coroutine[Any, Any, Linted]
_OPTIONS = (
    click.option("-o", "--output", type=click.Choice(list(_FORMATS)), default="text", show_default=True),
    click.option("--strict", is_flag=True, help="End with 1 for warnings, too."),
    click.option("-v", "--verbose", is_flag=True, help="Also show when schedules fire next."),
)


@dataclass(frozen=True, slots=True)
class FindingsForm:
    """How findings are printed: the name of a format, whether warnings count as errors, and whether to show more."""

    output: str
    strict: bool
    verbose: bool


def finding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flags that `print_findings` needs, as `form`."""

    @wraps(command)
    def call(output: str, strict: bool, verbose: bool, **others: Any) -> Any:
        return command(form=FindingsForm(output, strict, verbose), **others)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call


def lint_directories(
    kind: str, directories: Sequence[Path], work: Coroutine[Any, Any, Linted], form: FindingsForm
) -> int:
    """Lint modules or addons, as `kind` says, and print what is found. Returns the exit code."""
    with quiet():
        linted = run_to_end(work)
    return print_findings(f"{many(len(directories), kind)}, {many(linted.hooks, 'hook')}", linted.findings, form)


def print_findings(subject: str, findings: Iterable[Finding], form: FindingsForm) -> int:
    """Print findings, as text with their counts in `subject`. Returns the exit code."""
    shown = [finding for finding in findings if form.verbose or finding.code != "next-runs"]
    echo(_FORMATS[form.output](shown), nl=False)
    counts = {severity: sum(finding.severity is severity for finding in shown) for severity in Severity}
    if form.output == "text":
        words = ", ".join(many(count, severity) for severity, count in counts.items() if count)
        echo(f"{subject}: {words or 'nothing to tell'}", err=True)
    return int(bool(counts[Severity.ERROR] or (form.strict and counts[Severity.WARNING])))


def many(count: int, word: str) -> str:
    """`1 hook`, `2 hooks`."""
    return f"{count} {word}{'s' * (count != 1)}"


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@finding_options
@click.pass_context
def lint(ctx: click.Context, paths: tuple[Path, ...], form: FindingsForm) -> int:
    """Check hooks: files, or directories of them (default: the hooks directory).

    \b
    hookrunner hook lint                      all that is wrong with ./hooks
    hookrunner hook lint hooks/copy.sh -v     one hook, and when its schedules fire
    hookrunner hook lint -o github --strict   in a workflow

    Errors are what the start would refuse. Warnings are what loads and then does not do what was meant; a comment
    `# hookrunner: ignore=CODE` silences one. It ends with 1 for errors, with 2 for bad usage, else with 0.
    """
    loaded = settings.load({}, ctx.find_root().info_name or "").hooks
    linted = run_to_end(_lint(loaded, paths or (hooks_directory(loaded),)))
    return print_findings(many(linted.hooks, "hook"), linted.findings, form)


async def _lint(loaded: settings.HooksSettings, paths: tuple[Path, ...]) -> Linted:
    async with Jq() as jq:
        return await Linter(loaded, Children(Patience(kill=5.0)), jq, datetime.now().astimezone()).lint(paths)
