"""All that the command line prints. A terminal obeys nothing that comes from hooks, objects or files (`printable`);
colours and the screen of `--watch` are set here."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Literal, TypeAlias

import click

from hookrunner.model.timestamps import rfc3339
from hookrunner.printable import printable_but_colors, printable_json, printable_text

Color: TypeAlias = Literal["red", "green", "yellow", "cyan", "bright_black"]
"""Those that `printable_but_colors` lets through."""

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_DIFF_COLORS: Mapping[str, Color] = {"+": "green", "-": "red", "@": "cyan"}


def echo(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Print a text, to standard error if `err`."""
    click.echo(printable_text(str(text)), err=err, nl=nl)


def echo_styled(text: str) -> None:
    """Print a text that has colours, made of what `style` and `styled` give. `click` takes them out off a terminal."""
    click.echo(printable_but_colors(text), nl=not text.endswith("\n"))


def echo_json(document: object) -> None:
    """Print a document as JSON."""
    click.echo(printable_json(to_json(document)))


def to_json(document: object) -> str:
    """A document as JSON for people."""
    # Not at the top: the debug commands, which print an answer as it comes, start faster without it.
    import orjson

    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def to_list(objects: Iterable[object]) -> str:
    """Objects as a `v1` `List` in JSON, as kubectl reads it."""
    return to_json({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def show(text: str) -> None:
    """Print a document or a text as it is, with an end of line if it lacks one."""
    safe = printable_json if text.startswith(("{", "[")) else printable_text
    click.echo(safe(text), nl=not text.endswith("\n"))


def show_error(error: click.ClickException) -> None:
    """Print what is wrong with a command line, or with what came of it."""
    words = StringIO()
    error.show(words)
    echo(words.getvalue(), err=True, nl=False)


def style(text: str, color: Color | None = None, bold: bool = False) -> str:
    """A text in a colour, for `echo_styled`."""
    return click.style(printable_text(text), fg=color, bold=bold or None)


def styled(lines: Iterable[str], margin: int = 0) -> Iterator[str]:
    """The lines of diffs that stand so far from the left in colours, and others as they are, for `echo_styled`."""
    for line in map(printable_text, lines):
        text = line[margin:]
        if text.startswith(("+++", "---")):
            text = style(text, bold=True)
        elif color := _DIFF_COLORS.get(text[:1]):
            text = style(text, color)
        yield line[:margin] + text


def age(seconds: float) -> str:
    """The largest whole unit of a duration: `3m`."""
    return next((f"{int(seconds // size)}{unit}" for size, unit in _UNITS if seconds >= size), "0s")


def unseen(row: Mapping[str, object]) -> str:
    """That what a row shows was seen earlier, since the API server does not answer; empty if it is of this moment."""
    since = row.get("unseen_since")
    return f"not seen since {rfc3339(since)}" if isinstance(since, int | float) and since else ""


def to_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of columns, for `echo_styled`."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    head, *body = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (titles, *rows)
    )
    return "\n".join((style(head, bold=True), *map(style, body)))


@contextmanager
def screen() -> Iterator[Callable[[str], None]]:
    """The terminal's alternate screen, and what shows a text on it, in place of the one before."""

    def draw(text: str) -> None:
        click.echo(f"\x1b[H\x1b[J{printable_text(text)}")

    click.echo("\x1b[?1049h", nl=False)
    try:
        yield draw
    finally:
        click.echo("\x1b[?1049l", nl=False)
