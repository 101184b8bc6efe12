"""Commands that ask a running hookrunner over its debug socket.

They print what the endpoint answers. An HTTP error goes to standard error and ends in exit code 1 (the predecessor
printed it and ended with 0). Only the standard library speaks HTTP here: importing aiohttp would cost more than the
whole command.
"""

import http.client
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import quote, urlencode

import click

from hookrunner import settings
from hookrunner.cli.output import screen, show
from hookrunner.options import DURATION

TIMEOUT = 30.0
"""Seconds to wait for an answer; a snapshot may be large."""

_SAYS_NOTHING = ("", "404 page not found")
"""Answers that a user understands only beside the request; any other is a sentence for him."""

Sockets = tuple[Path, ...]


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def ask(sockets: Sockets, path: str, form: dict[str, str] | None = None, seconds: float = TIMEOUT) -> str:
    """GET a path, or POST a form to it, at the first socket that answers; each part of the answer may take `seconds`.

    Raises click.ClickException (exit code 1) where none does and for every status but 200; its message is the server's.
    """
    connection = _connected(sockets, seconds)
    try:
        if form is None:
            connection.request("GET", path)
        else:
            connection.request("POST", path, urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"})
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise click.ClickException(
            f"hookrunner broke off the answer to {path}: {error or type(error).__name__}"
        ) from None
    finally:
        connection.close()
    if answer.status != 200:
        said, request = text.strip(), f"(HTTP {answer.status} for {path})"
        raise click.ClickException(said if said not in _SAYS_NOTHING else f"{said or answer.reason} {request}")
    return text


def _connected(sockets: Sockets, seconds: float) -> _UnixConnection:
    problems = []
    for path in sockets:
        connection = _UnixConnection(path, seconds)
        try:
            connection.connect()
            return connection
        except OSError as error:
            connection.close()
            problems.append(f"\n  {path}: {error.strerror or error}")
    raise click.ClickException(
        f"no running hookrunner answers at{''.join(problems)}\nIs it running here, under this user? "
        "HOOKRUNNER_DEBUG_UNIX_SOCKET or --debug-unix-socket names another socket."
    )


def places(ctx: click.Context, _param: click.Parameter | None = None, given: str | None = None) -> Sockets:
    """Where the server may listen, by the same rules as its own."""
    flags = {} if given is None else {"debug-unix-socket": given}
    return settings.load(flags, ctx.find_root().info_name or "").web.debug_sockets


def _seconds(_ctx: click.Context, _param: click.Parameter, given: str) -> float:
    try:
        return max(0.1, float(DURATION.parse(given)))
    except ValueError:
        raise click.BadParameter(f"'{given}' is not {DURATION.allowed}") from None


at = click.option("--debug-unix-socket", "sockets", metavar="PATH", callback=places, hidden=True)
as_form = click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)


@click.group()
def queue() -> None:
    """Look at the queues of a running hookrunner."""


@queue.command("list")
@as_form
@click.option("-e", "--show-empty", is_flag=True, help="Name the empty queues too.")
@click.option("-w", "--watch", is_flag=True, help="Show it again and again, until Ctrl-C.")
@click.option(
    "-t", "--watchInterval", "seconds", metavar="DURATION", default="1s", callback=_seconds, show_default=True
)
@at
def queue_list(output: str, show_empty: bool, watch: bool, seconds: float, sockets: Sockets) -> None:
    """Show every queue and what waits in it.

    \b
    hookrunner queue list -e -w             all queues, refreshed each second
    hookrunner queue list -o json | jq .summary
    """
    path = f"/queue/list.{output}" + "?showEmpty=true" * show_empty
    if watch:
        _watch(lambda: ask(sockets, path), seconds)
    else:
        show(ask(sockets, path))


@queue.command("main")
@as_form
@at
def queue_main(output: str, sockets: Sockets) -> None:
    """Show the queue `main`.

    \b
    hookrunner queue main -o json
    """
    show(ask(sockets, f"/queue/main.{output}"))


@click.command("list")
@as_form
@at
def hook_list(output: str, sockets: Sockets) -> None:
    """Name all hooks that a running hookrunner has loaded.

    \b
    hookrunner hook list -o json
    """
    show(ask(sockets, f"/hook/list.{output}"))


@click.command("snapshot")
@click.argument("name")
@as_form
@at
def hook_snapshot(name: str, output: str, sockets: Sockets) -> None:
    """Show the snapshots of a hook that runs, named as in `hook list`.

    \b
    hookrunner hook snapshot 10-pods/watch.sh -o yaml
    """
    show(ask(sockets, f"/hook/{quote(name)}/snapshots.{output}"))


@click.group()
def config() -> None:
    """Read and set what can be changed while hookrunner runs."""


@config.command("list")
@as_form
@at
def config_list(output: str, sockets: Sockets) -> None:
    """Show the parameters, their values and how long those last.

    \b
    hookrunner config list -o json
    """
    show(ask(sockets, f"/config/list.{output}"))


@config.command("set")
@click.argument("name")
@click.argument("value")
@click.argument("duration", default="")
@at
def config_set(name: str, value: str, duration: str, sockets: Sockets) -> None:
    """Set a parameter, for a DURATION or until the end.

    \b
    hookrunner config set log.level debug 10m
    """
    form = {"name": name, "value": value} | ({"duration": duration} if duration else {})
    show(ask(sockets, "/config/set", form))


@click.group()
def debug() -> None:
    """See where a running hookrunner is at the moment."""


@debug.command("tasks")
@at
def debug_tasks(sockets: Sockets) -> None:
    """Show the stack of each task and thread. For a report about one that hangs.

    \b
    hookrunner debug tasks > stacks.txt
    """
    show(ask(sockets, "/tasks"))


@click.command()
@click.argument("path")
@at
def raw(path: str, sockets: Sockets) -> None:
    """Fetch any PATH of the debug endpoint.

    \b
    hookrunner raw /queue/main.yaml
    """
    show(ask(sockets, "/" + path.lstrip("/")))


def _watch(fetch: Callable[[], str], seconds: float) -> None:
    """Show a text on the terminal's alternate screen and redraw it after each pause, until Ctrl-C."""
    with suppress(KeyboardInterrupt), screen() as draw:
        while True:
            stamp = datetime.now().astimezone().isoformat(timespec="seconds")
            draw(f"{stamp}\n{fetch()}")
            time.sleep(seconds)
