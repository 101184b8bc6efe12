"""How the commands that lint tell what they have found, and how they end."""

from collections.abc import Callable, Iterable
from typing import Any

import click

from hookrunner.cli.output import echo
from hookrunner.linting import formats
from hookrunner.linting.findings import Finding, Severity

_FORMATS = {"text": formats.text, "json": formats.json, "github": formats.github}
_OPTIONS = (
    click.option("-o", "--output", type=click.Choice(list(_FORMATS)), default="text", show_default=True),
    click.option("--strict", is_flag=True, help="End with 1 for warnings, too."),
    click.option("-v", "--verbose", is_flag=True, help="Also show when schedules fire next."),
)


def told(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the flags that `tell` asks for."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def tell(subject: str, findings: Iterable[Finding], output: str, strict: bool, verbose: bool) -> int:
    """Print them, for a person with how many there are in `subject`; the exit code."""
    shown = [one for one in findings if verbose or one.code != "next-runs"]
    echo(_FORMATS[output](shown), nl=False)
    counts = {severity: sum(one.severity is severity for one in shown) for severity in Severity}
    if output == "text":
        words = ", ".join(many(count, severity) for severity, count in counts.items() if count)
        echo(f"{subject}: {words or 'nothing to tell'}", err=True)
    return int(bool(counts[Severity.ERROR] or (strict and counts[Severity.WARNING])))


def many(count: int, word: str) -> str:
    """`1 hook`, `2 hooks`."""
    return f"{count} {word}{'s' * (count != 1)}"
