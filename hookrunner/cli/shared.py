"""What commands share that start hooks or read modules: how they end, options, a silent log, short paths.

Not in `output.py`, which the debug commands and `--help` use without the event loop.
"""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from hookrunner import log
from hookrunner.manifests.role_objects import Account
from hookrunner.options import duration
from hookrunner.settings import HooksSettings

T = TypeVar("T")


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


def hooks_directory(hooks: HooksSettings) -> Path:
    """The directory of hooks as a user would write it. Raises click.UsageError without one."""
    if hooks.directory and hooks.directory.is_dir():
        return relative(hooks.directory)
    missing = f"there is no directory '{hooks.directory}'" if hooks.directory else "HOOKRUNNER_HOOKS_DIR names none"
    raise click.UsageError(f"{missing}; name a PATH, or set HOOKRUNNER_HOOKS_DIR")


def relative(path: Path) -> Path:
    """The path relative to the current directory if it is below it, as a user would write it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def read_seconds(_ctx: click.Context, _param: click.Parameter, given: str) -> float:
    """The callback of an option that takes a duration such as 30s."""
    try:
        return duration(given)
    except ValueError:
        raise click.BadParameter(f"'{given}' is not a duration such as 30s or 2m") from None


def duration_option(flag: str, default: str, text: str, may_be_endless: bool = False) -> click.Option:
    """An option that takes a duration. `may_be_endless`: 0 means no limit."""

    def read(ctx: click.Context, param: click.Parameter, given: str) -> float:
        return read_seconds(ctx, param, given) or (1e9 if may_be_endless else 0.0)

    return click.Option([flag], metavar="DURATION", default=default, show_default=True, callback=read, help=text)


def timeout_option() -> click.Option:
    """For every command that runs hooks."""
    return duration_option("--timeout", "30s", "How long a run may take; then its processes are ended.", True)


def account_option(default: str) -> click.Option:
    """For every command that prints rights: the ServiceAccount that gets them, as an `Account`."""

    def read(_ctx: click.Context, _param: click.Parameter, given: str) -> Account:
        namespace, slash, name = given.partition("/")
        if not (namespace and slash and name):
            raise click.BadParameter("it takes NAMESPACE/NAME", param_hint="--service-account")
        return Account(namespace, name)

    return click.Option(
        ["--service-account"],
        metavar="NAMESPACE/NAME",
        default=default,
        show_default=True,
        callback=read,
        help="Who gets the rights.",
    )


def directories_option(flag: str, verb: str, noun: str) -> click.Option:
    """`--modules-dir` or `--addons-dir`, for directories beside those that are arguments."""
    text = f"{verb} the {noun}s in DIR, too. May be repeated, or DIR:DIR."
    return click.Option([flag, "directories"], multiple=True, metavar="DIR", help=text)


def kubeconfig_option() -> click.Option:
    """For every command that lets hooks act."""
    return click.Option(
        ["--kubeconfig"],
        type=click.Path(exists=True, dir_okay=False, resolve_path=True),
        default=None,
        metavar="FILE",
        help="A cluster for hooks that call kubectl themselves. [default: they find none]",
    )
