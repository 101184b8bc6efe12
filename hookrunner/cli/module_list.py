"""`hookrunner module list` and `graph`: of a running hookrunner, or of the files in a modules directory."""

import time
from collections.abc import Iterator, Sequence

import click
import orjson

from hookrunner import controls
from hookrunner.cli.debug import ask
from hookrunner.cli.module_files import Files, Source, sourced
from hookrunner.cli.output import echo_styled, show, style
from hookrunner.model.resources import JSON
from hookrunner.model.status import some
from hookrunner.options import Compat

_TITLES = ("MODULE", "WEIGHT", "VERSION", "STATE", "PHASE", "REVISION", "SINCE", "WHY")
_COLORS = {"ready": "green", "off": "bright_black", "rejected": "red", "undecided": "red"}
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


@click.command("list")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml", "text"]),
    help="Its form; text is JSON in one line, as addon-operator has it. [default: table]",
)
@sourced
@click.pass_context
def module_list(ctx: click.Context, output: str | None, source: Source) -> None:
    """Show modules: whether each is on, how far it is, and why it is not ready.

    \b
    hookrunner module list
    hookrunner module list -o json | jq '.modules[] | select(.ready | not)'
    hookrunner module list --modules-dir modules --config configmap.yaml    what would be on

    STATE is `on`, `off` or `undecided`: then what it is made of stays as it is; `rejected` is a directory that is no
    module. Of files, enabled scripts are run, as they would be in the cluster; global hooks are not.
    """
    form = output or ("yaml" if ctx.find_root().info_name == Compat.ADDON else "table")
    if isinstance(source, Files):
        # 0.3 s, which a look at a running hookrunner need not pay.
        from hookrunner.cli import module_offline as files

        rows = files.rows(source)
        if form == "table":
            echo_styled(table(rows, time.time()))
        else:
            show(files.written(_document(rows), form))
    elif form == "table":
        echo_styled(table(orjson.loads(ask(source, "/module/list.json"))["modules"], time.time()))
    else:
        show(ask(source, f"/module/list.{form}"))


@click.command("graph")
@click.option("-o", "--output", type=click.Choice(["text", "mermaid", "dot"]), default="text", show_default=True)
@sourced
def module_graph(output: str, source: Source) -> None:
    """Show which module waits for which, as a table or as a drawing.

    \b
    hookrunner module graph
    hookrunner module graph -o dot | dot -Tsvg > modules.svg
    hookrunner module graph --modules-dir modules -o mermaid                all that are there
    hookrunner module graph --modules-dir modules --config configmap.yaml   those that would be on
    """
    if not isinstance(source, Files):
        show(ask(source, f"/graph?format={output}"))
        return
    # 0.3 s, which a look at a running hookrunner need not pay.
    from hookrunner.cli import module_offline

    show(module_offline.graph(source, output))


def _document(rows: Sequence[JSON]) -> JSON:
    """As the debug endpoint has it."""
    return {"enabledModules": sorted(row["name"] for row in rows if row["state"] == "on"), "modules": list(rows)}


def table(rows: Sequence[JSON], now: float) -> str:
    """Modules as lines for a terminal. `now` is in epoch seconds."""
    lines = [_TITLES, *(tuple(map(controls.shown, _cells(row, now))) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_TITLES) - 1)]
    shown = (_line(line, widths) for line in lines)
    return "\n".join([*shown, *map(controls.shown, _remarks(rows))]) + "\n"


def _cells(row: JSON, now: float) -> Iterator[str]:
    yield row["name"]
    yield str(row["weight"])
    yield row["version"] or "-"
    yield "ready" if row["ready"] else row["state"]
    yield row["phase"] or "-"
    yield str(row["revision"] or "-")
    yield _age(now - row["since"]) if row["since"] and row["phase"] else "-"
    why = "" if row["ready"] else " ".join(row["reason"].split())
    yield why or "-"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    padded[3] = style(padded[3], _COLORS[cells[3]]) if cells[3] in _COLORS else padded[3]
    return "  ".join([*padded, cells[-1]])


def _remarks(rows: Sequence[JSON]) -> Iterator[str]:
    """What is not as it should be and keeps nobody from being ready."""
    for row in rows:
        if row.get("refused") and row["state"] != "undecided":
            yield f"{row['refused']}; the last good values stay in use"
        if row.get("drift"):
            yield f"{row['name']}: not as applied: {some(row['drift'])}"
        yield from (f"{row['name']}: {problem}" for problem in row.get("records", ()))
        if row.get("lacks"):
            yield f"{row['name']}: lacks hooks that are compiled into addon-operator: {some(row['lacks'])}"


def _age(seconds: float) -> str:
    """`3m`: so long ago."""
    return next((f"{int(seconds // size)}{unit}" for size, unit in _UNITS if seconds >= size), "0s")
