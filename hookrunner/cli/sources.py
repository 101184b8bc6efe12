"""Where commands look, in files or at a running hookrunner, and what those have in common that do both.

Nothing here costs time to import, so that a look at a running hookrunner stays quick.
"""

from collections.abc import Callable, Sequence
from functools import reduce, wraps
from inspect import signature
from pathlib import Path
from typing import Any, TypeAlias

import click
import orjson

from hookrunner.cli import debug
from hookrunner.cli.output import echo_styled, show, styled, to_table
from kubetypes.json_values import JSON

CLUSTER_TIMEOUT = 1260.0
"""Seconds for what works on the cluster: as long as a release may take there, and a little more."""

DIFFERENT = 3
"""The exit code of --diff: something would change."""

_NO_DIFF = "No diff found"
"""What the debug endpoint answers where nothing would."""

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Gives a command parameters."""


def gathered(name: str, options: Sequence[Decorator], gather: Callable[..., object]) -> Decorator:
    """Give a command these options, and as `name` what `gather` makes of those that its parameters are called after."""
    parameters = tuple(signature(gather).parameters)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(**given: Any) -> Any:
            own = {parameter: given.pop(parameter) for parameter in parameters}
            return command(**{name: gather(**own)}, **given)

        return _decorated(call, options)

    return decorate


def _decorated(command: Callable[..., Any], decorators: Sequence[Decorator]) -> Callable[..., Any]:
    """As if the decorators stood above the command, in this order."""
    return reduce(lambda decorated, decorator: decorator(decorated), reversed(decorators), command)


def command_of(view: Callable[..., Any], *parts: Decorator) -> Callable[[Callable[[], None]], click.Command]:
    """Make a command of a view and what gives it its parameters. It is called as the function below without the group,
    and helps with its docstring."""

    def make(described: Callable[[], None]) -> click.Command:
        name = described.__name__.partition("_")[2]
        return click.command(name, help=described.__doc__)(_decorated(view, parts))

    return make


of_running = gathered("source", (debug.at,), lambda sockets: sockets)
"""Of commands that ask a running hookrunner alone: as `source` its debug sockets."""

as_document = click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="Its form."
)
with_reasons = click.option("--explain", is_flag=True, help="Say of each value which layer has set it.")
as_explained = click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), help="Its form. [default: yaml; of --explain a table]"
)
with_global = click.option("-g", "--global", "whole", is_flag=True, help="The global values, too.")

VERSION_OPTIONS = (
    click.option("--kube-version", "version", default="", metavar="VERSION", help="Of files: that of the cluster."),
    click.option(
        "--api-versions",
        "api_versions",
        multiple=True,
        metavar="VERSION",
        callback=lambda _ctx, _param, texts: _named_versions(texts),
        help="Of files: what the cluster serves besides, as GROUP/VERSION/KIND; may be repeated, or with commas.",
    ),
)
"""Of commands that render files for a cluster."""


def _named_versions(texts: Sequence[str]) -> tuple[str, ...]:
    """What --api-versions names, once or more often, or with commas."""
    return tuple(word for text in texts for word in text.split(",") if word)


def directory_paths(directories: Sequence[str], option: str) -> tuple[Path, ...]:
    """The directories that an option names, once or more often, or as DIR:DIR. Raises click.BadParameter."""
    named = tuple(Path(part) for text in directories for part in text.split(":") if part)
    for path in named:
        if not path.is_dir():
            raise click.BadParameter(f"there is no directory '{path}'", param_hint=option)
    return named


def require_files(cluster: object, source: object, option: str) -> None:
    """Raises click.UsageError if flags describe a cluster and a running hookrunner is asked, which has its own."""
    if cluster != type(cluster)() and isinstance(source, tuple):
        raise click.UsageError(f"flags about a cluster are for looking at files: give {option}, too")


def explained_form(explain: bool, output: str | None) -> str:
    """In which form to ask for values: a table is made of JSON."""
    return output or ("json" if explain else "yaml")


def show_values(text: str, explain: bool, output: str | None) -> None:
    """Print values that came in `explained_form`; explained ones as a table, unless a form was named."""
    if output or not explain:
        show(text)
    else:
        echo_styled(to_table(("PATH", "SET BY", "VALUE"), [_explained(row) for row in orjson.loads(text)]))


def show_difference(text: str) -> int:
    """Print the answer of --diff. Returns the exit code."""
    echo_styled("\n".join(styled(text.splitlines())))
    return DIFFERENT if text and text.strip() != _NO_DIFF else 0


def _explained(row: JSON) -> tuple[str, str, str]:
    """The value last, for it may be long."""
    return row["path"], row["layer"], orjson.dumps(row["value"]).decode()
