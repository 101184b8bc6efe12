"""The commands that show values and snapshots of a module, of an instance of an addon, or the global ones: `values`,
`config`, `patches` and `snapshots`; and the group `global`.

Each view is one function, and a command is made of it and of how its group names a unit. A running hookrunner is asked
over its debug socket; where a command takes a directory, its files are read instead.
"""

from collections.abc import Callable
from typing import Literal

import click

from hookrunner.cli.addons.instance_targets import of_instance
from hookrunner.cli.debug import Sockets, ask
from hookrunner.cli.modules.module_options import ModuleFiles, Source, sourced
from hookrunner.cli.modules.module_targets import of_module
from hookrunner.cli.output import show
from hookrunner.cli.sources import (
    as_document,
    as_explained,
    command_of,
    explained_form,
    gathered,
    of_running,
    show_values,
    with_global,
    with_reasons,
)
from hookrunner.cli.unit_targets import UnitTarget
from hookrunner.model.modules import GLOBAL

_EXPLAINED = (with_reasons, as_explained)


_of_global = gathered("target", (), lambda: UnitTarget(GLOBAL))


def _show_values(target: UnitTarget, source: Source, explain: bool, output: str | None, whole: bool = False) -> None:
    if explain and whole:
        raise click.UsageError("--explain is about one section; for the other: hookrunner global values --explain")
    text = _read(source, target, "values", explained_form(explain, output), **{"global": whole, "explain": explain})
    show_values(text, explain, output)


def _show_config(target: UnitTarget, source: Source, output: str, whole: bool = False) -> None:
    show(_read(source, target, "config", output, **{"global": whole}))


def _read(source: Source, target: UnitTarget, layer: Literal["values", "config"], form: str, **flags: bool) -> str:
    """Values as text, as a running hookrunner writes them."""
    if not isinstance(source, ModuleFiles):
        return ask(source, target.path(f"{layer}.{form}", **flags))
    # 0.3 s, which a look at a running hookrunner need not pay.
    from hookrunner.cli.modules import module_offline as offline

    return offline.to_text(offline.values(source, target.name, layer, **flags), form)


@command_of(_show_values, of_module, with_global, *_EXPLAINED, sourced)
def module_values() -> None:
    """Show a module's values as its hooks and templates get them.

    \b
    hookrunner module values dns
    hookrunner module values dns --explain                        which layer has set each
    hookrunner module values dns --modules-dir modules            of files, without a cluster
    hookrunner module values dns --modules-dir modules --config configmap.yaml --explain

    The layers, each over those before it: values.yaml, defaults of config-values.yaml, ConfigMap, Secret, defaults of
    the values schema, patches of hooks. What comes from the Secret is not shown by --explain.
    """


@command_of(_show_values, of_instance, with_global, *_EXPLAINED, of_running)
def addon_values() -> None:
    """Show an instance's values as its hooks and templates get them.

    \b
    hookrunner addon values coredns/default
    hookrunner addon values coredns/default --explain        which layer has set each
    hookrunner addon values web/shop -n prod -o json | jq .

    The layers, each over those before it: values.yaml, defaults of openapi/spec.yaml, the spec, defaults of
    openapi/values.yaml, patches of hooks.
    """


@command_of(_show_values, _of_global, *_EXPLAINED, sourced)
def global_values() -> None:
    """Show the global values as hooks get them.

    \b
    hookrunner global values
    hookrunner global values --explain                      which layer has set each
    hookrunner global values --modules-dir modules --global-hooks-dir global-hooks --config configmap.yaml
    """


@command_of(_show_config, of_module, with_global, as_document, sourced)
def module_config() -> None:
    """Show what users have set of a module's values; null if nothing.

    \b
    hookrunner module config dns
    hookrunner module config dns --global
    """


@command_of(_show_config, of_instance, with_global, as_document, of_running)
def addon_config() -> None:
    """Show what the author of an instance has set: its spec without the fields that all kinds have; null if nothing.

    \b
    hookrunner addon config coredns/default
    hookrunner addon config coredns/default --global
    """


@command_of(_show_config, _of_global, as_document, sourced)
def global_config() -> None:
    """Show what users have set of the global values; null if nothing.

    \b
    hookrunner global config -o json
    """


def _page(what: str) -> Callable[..., None]:
    def show_page(target: UnitTarget, source: Sockets, output: str) -> None:
        show(ask(source, target.path(f"{what}.{output}")))

    return show_page


@command_of(_page("patches"), of_module, as_document, of_running)
def module_patches() -> None:
    """Show how hooks have patched a module's values in memory, until the program ends or the module goes off.

    \b
    hookrunner module patches dns
    """


@command_of(_page("patches"), of_instance, as_document, of_running)
def addon_patches() -> None:
    """Show how hooks have patched an instance's values in memory, until the program ends or the instance goes.

    \b
    hookrunner addon patches coredns/default

    This is not `spec.patches`, which change objects; those are in what `addon render` shows.
    """


@command_of(_page("patches"), _of_global, as_document, of_running)
def global_patches() -> None:
    """Show how hooks have patched the global values in memory.

    \b
    hookrunner global patches -o json
    """


@command_of(_page("snapshots"), of_module, as_document, of_running)
def module_snapshots() -> None:
    """Show the snapshots of a module's hooks: by hook, by binding.

    \b
    hookrunner module snapshots dns -o json | jq keys
    """


@command_of(_page("snapshots"), of_instance, as_document, of_running)
def addon_snapshots() -> None:
    """Show the snapshots of an instance's hooks: by hook, by binding.

    \b
    hookrunner addon snapshots coredns/default -o json | jq keys
    """


@command_of(_page("snapshots"), _of_global, as_document, of_running)
def global_snapshots() -> None:
    """Show the snapshots of global hooks.

    \b
    hookrunner global snapshots -o json
    """


@command_of(_page("list"), _of_global, as_document, of_running)
def global_list() -> None:
    """Name the global hooks.

    \b
    hookrunner global list -o json
    """


@click.group("global")
def global_() -> None:
    """Look at the values that all modules share, and at global hooks.

    \b
    hookrunner global list
    hookrunner global values -o json | jq .modules
    hookrunner global values --explain --modules-dir modules --config configmap.yaml
    """


for _global_command in (global_list, global_values, global_config, global_patches, global_snapshots):
    global_.add_command(_global_command)
