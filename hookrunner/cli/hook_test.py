"""`hookrunner hook test`: the test cases beside hooks, run without a cluster."""

import os
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import click
import orjson

from hookrunner import settings
from hookrunner.cli import ending
from hookrunner.cli.hook_run import kubeconfig_option, styled, timeout_option
from hookrunner.errors import BadInput
from hookrunner.model.resources import JSON
from hookrunner.testing.bench import bench
from hookrunner.testing.cases import golden, junit, suite
from hookrunner.testing.cases.reading import CaseFile
from hookrunner.testing.cases.suite import Outcome
from hookrunner.testing.report import as_json


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line says."""

    files: Sequence[CaseFile]
    named: str
    at_once: int
    timeout: float
    update: bool


class _Test(click.Command):
    """Its options go where they are needed by way of the click context."""

    def invoke(self, ctx: click.Context) -> int:
        said = ctx.params
        paths = said["paths"] or (settings.load({}, ctx.find_root().info_name or "").hooks.directory,)
        files = suite.load(suite.find(_relative(path) for path in paths))
        asked = _Asked(files, said["named"], said["at_once"], said["timeout"], said["update"])
        began = time.perf_counter()
        outcomes = ending.run(_run(ctx, asked, quiet=said["output"] == "json"))
        seconds = time.perf_counter() - began
        if not outcomes:
            raise click.UsageError(f"no case has '{said['named']}' in its name")
        if said["update"]:
            _update(outcomes)
        if said["junit"]:
            _write(said["junit"], junit.document(outcomes, seconds))
        if said["output"] == "json":
            click.echo(orjson.dumps(_document(outcomes, seconds), option=orjson.OPT_INDENT_2))
        else:
            click.echo(_summary(outcomes, seconds, said["update"]))
        return 0 if all(_is_fine(outcome, said["update"]) for outcome in outcomes) else 1


hook_test = _Test(
    "test",
    params=[
        click.Argument(["paths"], nargs=-1, metavar="[PATH]...", type=click.Path(exists=True, path_type=Path)),
        click.Option(["-k", "named"], default="", metavar="NAME", help="Only cases with NAME in their name."),
        click.Option(
            ["-j", "at_once"],
            type=click.IntRange(1),
            default=os.cpu_count() or 1,
            metavar="N",
            help="So many cases side by side. [default: the number of CPUs]",
        ),
        click.Option(["--update"], is_flag=True, help="Make what the hooks do what the failing cases expect."),
        click.Option(["--junit"], metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="JUnit XML."),
        click.Option(["-o", "--output"], type=click.Choice(["text", "json"]), default="text", show_default=True),
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


def _write(path: Path, document: bytes) -> None:
    """Raises BadInput."""
    try:
        path.write_bytes(document)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None


def _relative(path: Path) -> Path:
    """As short as it can be said."""
    return path.relative_to(Path.cwd()) if path.is_absolute() and path.is_relative_to(Path.cwd()) else path


async def _run(ctx: click.Context, asked: _Asked, quiet: bool) -> list[Outcome]:
    outcomes: list[Outcome] = []
    shared = settings.load({}, ctx.find_root().info_name or "").hooks
    async with (
        bench(shared, asked.timeout, ctx.params["kubeconfig"] or "") as tools,
        aclosing(suite.run(tools, asked.files, asked.named, asked.at_once)) as going,
    ):
        async for outcome in going:
            if not quiet:
                _show(outcome, asked.update, first=not outcomes or outcomes[-1].file is not outcome.file)
            outcomes.append(outcome)
    return outcomes


def _show(outcome: Outcome, update: bool, first: bool) -> None:
    if first:
        click.echo(click.style(outcome.file.path, bold=True))
    word = click.style("ok", fg="green") if outcome.passed else click.style("FAILED", fg="red", bold=True)
    if update and _is_stale(outcome):
        word = click.style("updated", fg="yellow")
    click.echo(f"  {word} {outcome.case.name} ({outcome.seconds * 1000:.0f} ms)")
    for note in outcome.result.notes:
        click.echo(f"     note: {note}")
    for line in styled(outcome.lines, margin=2):
        click.echo(f"     {line}")


def _is_fine(outcome: Outcome, update: bool) -> bool:
    return outcome.passed or (update and _is_stale(outcome))


def _is_stale(outcome: Outcome) -> bool:
    """Not as expected, or nothing is expected yet."""
    return bool(outcome.wrong) or not (outcome.problem or outcome.case.expect)


def _update(outcomes: Sequence[Outcome]) -> None:
    """Rewrite the files of cases that are stale."""
    for file in {id(outcome.file): outcome.file for outcome in outcomes if _is_stale(outcome)}.values():
        updates = {
            one.case.path: golden.expectation(one.case.expect, one.wrong, one.result, one.effects)
            for one in outcomes
            if one.file is file and _is_stale(one)
        }
        try:
            file.write(golden.rewritten(file.text, file.places, updates))
        except BadInput as error:
            raise BadInput(f"{file.path} cannot be updated: {error}") from None


def _document(outcomes: Sequence[Outcome], seconds: float) -> JSON:
    cases = [
        {
            "file": str(outcome.file.path),
            "line": outcome.case.line,
            "name": outcome.case.name,
            "passed": outcome.passed,
            "seconds": round(outcome.seconds, 4),
            "differences": {one.key: list(one.lines) for one in outcome.wrong},
            "problem": outcome.problem,
            "result": as_json(outcome.result),
        }
        for outcome in outcomes
    ]
    passed = sum(outcome.passed for outcome in outcomes)
    return {"passed": passed, "failed": len(cases) - passed, "seconds": round(seconds, 4), "cases": cases}


def _summary(outcomes: Sequence[Outcome], seconds: float, update: bool) -> str:
    updated = sum(update and _is_stale(outcome) for outcome in outcomes)
    failed = sum(not _is_fine(outcome, update) for outcome in outcomes)
    counts = {"passed": len(outcomes) - updated - failed, "updated": updated, "failed": failed}
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "nothing ran"
    return click.style(f"{words} in {seconds:.2f} s", fg="red" if failed else "green", bold=True)
