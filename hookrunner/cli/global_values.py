"""`hookrunner global …`: the values that all modules share, and global hooks (addon-operator.md §8.5)."""

from collections.abc import Callable
from typing import Any

import click

from hookrunner.cli.debug import Sockets, ask, at
from hookrunner.cli.module_files import Source, sourced
from hookrunner.cli.module_seen import as_document, where
from hookrunner.cli.module_values import as_explained, show_config, show_values, with_reasons
from hookrunner.cli.output import show
from hookrunner.model.values import GLOBAL


@click.group("global")
def global_() -> None:
    """Look at the values that all modules share, and at global hooks.

    \b
    hookrunner global list
    hookrunner global values -o json | jq .modules
    hookrunner global values --explain --modules-dir modules --config configmap.yaml
    """


@global_.command("values")
@with_reasons
@as_explained
@sourced
def global_values(explain: bool, output: str | None, source: Source) -> None:
    """Show the global values as hooks get them.

    \b
    hookrunner global values
    hookrunner global values --explain                      which layer has set each
    hookrunner global values --modules-dir modules --global-hooks-dir global-hooks --config configmap.yaml
    """
    show_values(source, GLOBAL, explain, output)


@global_.command("config")
@as_document
@sourced
def global_config(output: str, source: Source) -> None:
    """Show what users have set of the global values; null if nothing.

    \b
    hookrunner global config -o json
    """
    show_config(source, GLOBAL, output)


def _view(what: str, line: str) -> Callable[..., Any]:
    @global_.command(what, help=f"{line}\n\n\b\nhookrunner global {what} -o json")
    @as_document
    @at
    def view(output: str, sockets: Sockets) -> None:
        show(ask(sockets, where(GLOBAL, what, output)))

    return view


list_ = _view("list", "Name the global hooks.")
patches = _view("patches", "Show how hooks have patched the global values in memory.")
snapshots = _view("snapshots", "Show the snapshots of global hooks.")
