"""`hookrunner module values` and `config`, and `hookrunner global …`: values of a module, or those that all share.

Asks a running hookrunner over its debug socket, or reads the files in a modules directory.
"""

from collections.abc import Callable
from typing import Any

import click

from hookrunner.cli.debug import Sockets, ask, at
from hookrunner.cli.modules.module_commands import module_name
from hookrunner.cli.modules.module_options import ModuleFiles, Source, sourced, view_path
from hookrunner.cli.output import show
from hookrunner.cli.sources import (
    as_document,
    as_explained,
    explained_form,
    show_values,
    with_global,
    with_reasons,
)
from hookrunner.model.modules import GLOBAL


@click.command("values")
@module_name
@with_global
@with_reasons
@as_explained
@sourced
def module_values(name: str, whole: bool, explain: bool, output: str | None, source: Source) -> None:
    """Show a module's values as its hooks and templates get them.

    \b
    hookrunner module values dns
    hookrunner module values dns --explain                        which layer has set each
    hookrunner module values dns --modules-dir modules            of files, without a cluster
    hookrunner module values dns --modules-dir modules --config configmap.yaml --explain

    The layers, each over those before it: values.yaml, defaults of config-values.yaml, ConfigMap, Secret, defaults of
    the values schema, patches of hooks. What comes from the Secret is not shown by --explain.
    """
    if explain and whole:
        raise click.UsageError("--explain is about one section; for the other: hookrunner global values --explain")
    _show_values(source, name, explain, output, whole)


@click.command("config")
@module_name
@with_global
@as_document
@sourced
def module_config(name: str, whole: bool, output: str, source: Source) -> None:
    """Show what users have set of a module's values; null if nothing.

    \b
    hookrunner module config dns
    hookrunner module config dns --global
    """
    _show_config(source, name, output, whole)


def _show_values(source: Source, section: str, explain: bool, output: str | None, whole: bool = False) -> None:
    """Print the values of a module, or of `global`."""
    form = explained_form(explain, output)
    if isinstance(source, ModuleFiles):
        # 0.3 s, which a look at a running hookrunner need not pay.
        from hookrunner.cli.modules import module_offline as offline

        values = offline.explained(source, section) if explain else offline.values(source, section, whole)
        text = offline.to_text(values, form)
    else:
        text = ask(source, view_path(section, "values", form, **{"global": whole, "explain": explain}))
    show_values(text, explain, output)


def _show_config(source: Source, section: str, output: str, whole: bool = False) -> None:
    """Print what users have set of a module, or of `global`."""
    if not isinstance(source, ModuleFiles):
        show(ask(source, view_path(section, "config", output, **{"global": whole})))
        return
    # 0.3 s, which a look at a running hookrunner need not pay.
    from hookrunner.cli.modules import module_offline as offline

    show(offline.to_text(offline.config(source, section, whole), output))


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
    _show_values(source, GLOBAL, explain, output)


@global_.command("config")
@as_document
@sourced
def global_config(output: str, source: Source) -> None:
    """Show what users have set of the global values; null if nothing.

    \b
    hookrunner global config -o json
    """
    _show_config(source, GLOBAL, output)


def _view(what: str, line: str) -> Callable[..., Any]:
    @global_.command(what, help=f"{line}\n\n\b\nhookrunner global {what} -o json")
    @as_document
    @at
    def view(output: str, sockets: Sockets) -> None:
        show(ask(sockets, view_path(GLOBAL, what, output)))

    return view


list_ = _view("list", "Name the global hooks.")
patches = _view("patches", "Show how hooks have patched the global values in memory.")
snapshots = _view("snapshots", "Show the snapshots of global hooks.")
