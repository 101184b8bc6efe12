"""What `hookrunner module …` shows and does that is about modules alone.

Asks a running hookrunner over its debug socket, or reads the files in a modules directory.
"""

import time
from collections.abc import Iterator, Mapping, Sequence

import click
import orjson

from hookrunner.cli.debug import Sockets, as_form, ask, at
from hookrunner.cli.modules.module_options import ModuleFiles, Source, sourced
from hookrunner.cli.modules.module_targets import of_module
from hookrunner.cli.output import Color, age, echo_styled, show, style, unseen
from hookrunner.cli.sources import CLUSTER_TIMEOUT, as_document
from hookrunner.cli.unit_targets import UnitTarget
from hookrunner.model.status import IGNORED, some
from hookrunner.options import Compat
from hookrunner.printable import printable
from kubetypes.json_values import JSON

_TITLES = ("MODULE", "WEIGHT", "VERSION", "STATE", "PHASE", "REVISION", "SINCE", "WHY")
_COLORS: Mapping[str, Color] = {"ready": "green", "off": "bright_black", "rejected": "red", "undecided": "red"}


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
    if isinstance(source, ModuleFiles):
        # 0.3 s, which a look at a running hookrunner need not pay.
        from hookrunner.cli.modules import module_offline as offline

        rows = offline.rows(source)
        if form == "table":
            echo_styled(table(rows, time.time()))
        else:
            show(offline.to_text(_to_document(rows), form))
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
    if not isinstance(source, ModuleFiles):
        show(ask(source, f"/graph?format={output}"))
        return
    # 0.3 s, which a look at a running hookrunner need not pay.
    from hookrunner.cli.modules import module_offline as offline

    show(offline.graph(source, output))


def _to_document(rows: Sequence[JSON]) -> JSON:
    """As the debug endpoint has it."""
    return {"enabledModules": sorted(row["name"] for row in rows if row["state"] == "on"), "modules": list(rows)}


def table(rows: Sequence[JSON], now: float) -> str:
    """Modules as lines for a terminal. `now` is in epoch seconds."""
    lines = [_TITLES, *(tuple(map(printable, _cells(row, now))) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_TITLES) - 1)]
    shown = (_line(line, widths) for line in lines)
    return "\n".join([*shown, *map(printable, _remarks(rows))]) + "\n"


def _cells(row: JSON, now: float) -> Iterator[str]:
    yield row["name"]
    yield str(row["weight"])
    yield row["version"] or "-"
    yield "ready" if row["ready"] else row["state"]
    yield row["phase"] or "-"
    yield str(row["revision"] or "-")
    yield age(now - row["since"]) if row["since"] and row["phase"] else "-"
    why = "" if row["ready"] else " ".join(row["reason"].split())
    yield "; ".join(filter(None, (unseen(row), why))) or "-"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    padded[3] = style(padded[3], _COLORS[cells[3]]) if cells[3] in _COLORS else padded[3]
    return "  ".join([*padded, cells[-1]])


def _remarks(rows: Sequence[JSON]) -> Iterator[str]:
    """Problems that keep no module from being ready."""
    for row in rows:
        if row.get("refused") and row["state"] != "undecided":
            yield f"{row['refused']}; the last good values stay in use"
        if row.get("drift"):
            yield f"{row['name']}: not as applied: {some(row['drift'])}"
        if row.get("unknown_fields"):
            yield f"{row['name']}: {IGNORED}: {some(row['unknown_fields'])}"
        yield from (f"{row['name']}: {problem}" for problem in row.get("records", ()))
        if row.get("lacks"):
            yield f"{row['name']}: lacks hooks that are compiled into addon-operator: {some(row['lacks'])}"


@click.command("resource-monitor")
@click.argument("ignored", metavar="[MODULE]", required=False)
@as_document
@at
def module_resource_monitor(ignored: str | None, output: str, sockets: Sockets) -> None:
    """Show which objects of releases are watched, so that they come back when they are deleted.

    \b
    hookrunner module resource-monitor

    All modules are shown, whether or not MODULE is given.
    """
    show(ask(sockets, f"/module/resource-monitor.{output}"))


@click.command("adopt")
@of_module
@as_form
@at
def module_adopt(target: UnitTarget, output: str, sockets: Sockets) -> None:
    """Have a module run now and, in this run, take over objects that are in its way: those of no release, and those of
    a release that has no record any more.

    \b
    hookrunner module adopt dns              prints which objects, and from whom
    hookrunner module adopt dns -o json | jq '.adopted[].object'

    Objects of a release that exists are never taken over. For every run: `adopt: true` in module.yaml, or the
    annotation hookrunner.io/adopt: "true" on objects in templates.
    """
    form = "" if output == "text" else f".{output}"
    show(ask(sockets, target.path(f"adopt{form}"), {}, CLUSTER_TIMEOUT))
