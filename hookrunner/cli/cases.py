"""How commands that run test cases show them: as they come, counted at the end, as JSON and as JUnit."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from hookrunner import controls
from hookrunner.cli.output import echo, echo_styled, style, styled
from hookrunner.errors import BadInput
from hookrunner.model.resources import JSON
from hookrunner.testing.cases import case_reports
from hookrunner.testing.cases.case_reports import CaseReport


def options(what: str) -> list[click.Parameter]:
    """For every command that runs test cases. `what` brings forth what they expect."""
    return [
        click.Option(["-k", "named"], default="", metavar="NAME", help="Only cases with NAME in their name."),
        click.Option(
            ["-j", "at_once"],
            type=click.IntRange(1),
            default=os.cpu_count() or 1,
            metavar="N",
            help="So many cases side by side. [default: the number of CPUs]",
        ),
        click.Option(["--update"], is_flag=True, help=f"Make what {what} what the failing cases expect."),
        click.Option(["--junit"], metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="JUnit XML."),
        click.Option(["-o", "--output"], type=click.Choice(["text", "json"]), default="text", show_default=True),
    ]


def is_fine(told: CaseReport, update: bool) -> bool:
    """It passed, or is updated."""
    return told.passed or (update and told.stale)


def show(told: CaseReport, update: bool, first: bool) -> None:
    """Print how a case went: whether those that are stale are updated, whether it is the first of its file."""
    if first:
        echo_styled(style(str(told.path), bold=True))
    word = style("ok", "green") if told.passed else style("FAILED", "red", bold=True)
    if update and told.stale:
        word = style("updated", "yellow")
    echo_styled(f"  {word} {controls.shown(told.name)} ({told.seconds * 1000:.0f} ms)")
    for note in told.notes:
        echo(f"     note: {note}")
    for line in styled(told.lines, margin=2):
        echo_styled(f"     {line}")


def summary(all_told: Sequence[CaseReport], update: bool, seconds: float) -> str:
    """How many passed, were updated, and failed."""
    updated = sum(update and told.stale for told in all_told)
    failed = sum(not is_fine(told, update) for told in all_told)
    counts = {"passed": len(all_told) - updated - failed, "updated": updated, "failed": failed}
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "nothing ran"
    return style(f"{words} in {seconds:.2f} s", "red" if failed else "green", bold=True)


def document(all_told: Sequence[CaseReport], results: Sequence[JSON], seconds: float) -> JSON:
    """All of it for programs; `results` are what came of each."""
    cases = [
        {
            "file": str(told.path),
            "line": told.line,
            "name": told.name,
            "passed": told.passed,
            "seconds": round(told.seconds, 4),
            "differences": {one.key: list(one.lines) for one in told.wrong},
            "problem": told.problem,
            "result": result,
        }
        for told, result in zip(all_told, results, strict=True)
    ]
    passed = sum(told.passed for told in all_told)
    return {"passed": passed, "failed": len(cases) - passed, "seconds": round(seconds, 4), "cases": cases}


def write_junit(path: Path | None, all_told: Sequence[CaseReport], seconds: float) -> None:
    """Nothing without a path. Raises BadInput."""
    if path:
        try:
            path.write_bytes(case_reports.document(all_told, seconds))
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
