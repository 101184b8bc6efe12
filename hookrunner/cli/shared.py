"""What commands share: what they print; how those end that start hooks or read modules, their options, a silent log.

All that the command line prints goes through here. A terminal obeys nothing that comes from hooks, objects or files
(`log.printable`); colours and the screen of `--watch` are set here.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

import click

from hookrunner import log
from hookrunner.options import duration

T = TypeVar("T")

_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}


def echo(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Print a text, to standard error if `err`."""
    click.echo(log.printable_text(str(text)), err=err, nl=nl)


def echo_styled(text: str) -> None:
    """Print a text that has colours, made of what `style` and `styled` give. `click` takes them out off a terminal."""
    click.echo(log.printable_but_colors(text), nl=not text.endswith("\n"))


def echo_json(document: object) -> None:
    """Print a document as JSON."""
    # Not at the top: the debug commands, which print an answer as it comes, start faster without it.
    import orjson

    click.echo(log.printable_json(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()))


def show(text: str) -> None:
    """Print a document or a text as it is, with an end of line if it lacks one."""
    safe = log.printable_json if text.startswith(("{", "[")) else log.printable_text
    click.echo(safe(text), nl=not text.endswith("\n"))


def show_error(error: click.ClickException) -> None:
    """Print what is wrong with a command line, or with what came of it."""
    words = StringIO()
    error.show(words)
    echo(words.getvalue(), err=True, nl=False)


def style(text: str, color: str | None = None, bold: bool = False) -> str:
    """A text in a colour, for `echo_styled`."""
    return click.style(log.printable_text(text), fg=color, bold=bold or None)


def styled(lines: Iterable[str], margin: int = 0) -> Iterator[str]:
    """The lines of diffs that stand so far from the left in colours, and others as they are, for `echo_styled`."""
    for line in map(log.printable_text, lines):
        text = line[margin:]
        if text.startswith(("+++", "---")):
            text = style(text, bold=True)
        elif color := _DIFF_COLORS.get(text[:1]):
            text = style(text, color)
        yield line[:margin] + text


@contextmanager
def screen() -> Iterator[Callable[[str], None]]:
    """The terminal's alternate screen, and what shows a text on it, in place of the one before."""

    def draw(text: str) -> None:
        click.echo(f"\x1b[H\x1b[J{log.printable_text(text)}")

    click.echo("\x1b[?1049h", nl=False)
    try:
        yield draw
    finally:
        click.echo("\x1b[?1049l", nl=False)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run the work of a tool that starts hooks; on a signal it ends the hooks and removes its files first.

    asyncio.run handles Ctrl-C only. CI systems and `timeout` send SIGTERM, a closing terminal sends SIGHUP: the process
    ends by that signal when the work has cleaned up.
    """
    received = list[signal.Signals]()
    try:
        return asyncio.run(_cancel_on_signal(work, received))
    except asyncio.CancelledError:
        if received:
            signal.raise_signal(received[0])  # no handler is left: the loop is closed
        raise


async def _cancel_on_signal(work: Coroutine[Any, Any, T], received: list[signal.Signals]) -> T:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task

    def end(number: signal.Signals) -> None:
        received.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # by nohup(1)
            loop.add_signal_handler(number, end, number)
    return await work


@contextmanager
def quiet() -> Iterator[None]:
    """Log fatal errors only, while a tool works that reports everything else itself."""
    before = log.current_level()
    log.set_level("fatal")
    try:
        yield
    finally:
        log.set_level(before)


def relative(path: Path) -> Path:
    """The path relative to the current directory if it is below it, as a user would write it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _seconds(_ctx: click.Context, _param: click.Parameter, given: str) -> float:
    """Parse a duration such as 30s; 0 means no limit."""
    try:
        return duration(given) or 1e9
    except ValueError:
        raise click.BadParameter(f"'{given}' is not a duration such as 30s or 2m") from None


def timeout_option() -> click.Option:
    """For every command that runs hooks."""
    return click.Option(
        ["--timeout"],
        metavar="DURATION",
        default="30s",
        show_default=True,
        callback=_seconds,
        help="How long a run may take; then its processes are ended.",
    )


def kubeconfig_option() -> click.Option:
    """For every command that lets hooks act."""
    return click.Option(
        ["--kubeconfig"],
        type=click.Path(exists=True, dir_okay=False, resolve_path=True),
        default=None,
        metavar="FILE",
        help="A cluster for hooks that call kubectl themselves. [default: they find none]",
    )
