"""`hookrunner module values` and `config`: of a running hookrunner, or of the files in a modules directory."""

from collections.abc import Sequence

import click
import orjson

from hookrunner.cli.debug import ask
from hookrunner.cli.module_files import Files, Source, sourced
from hookrunner.cli.module_named import name
from hookrunner.cli.module_seen import as_document, where
from hookrunner.cli.output import show
from hookrunner.model.resources import JSON

with_reasons = click.option("--explain", is_flag=True, help="Say of each value which layer has set it.")
as_explained = click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), help="Its form. [default: yaml; of --explain a table]"
)
_whole = click.option("-g", "--global", "whole", is_flag=True, help="The global values, too.")


@click.command("values")
@name
@_whole
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
    show_values(source, name, explain, output, whole)


@click.command("config")
@name
@_whole
@as_document
@sourced
def module_config(name: str, whole: bool, output: str, source: Source) -> None:
    """Show what users have set of a module's values; null if nothing.

    \b
    hookrunner module config dns
    hookrunner module config dns --global
    """
    show_config(source, name, output, whole)


def show_values(source: Source, section: str, explain: bool, output: str | None, whole: bool = False) -> None:
    """Print the values of a module, or of `global`."""
    form = output or ("json" if explain else "yaml")
    if isinstance(source, Files):
        # 0.3 s, which a look at a running hookrunner need not pay.
        from hookrunner.cli import module_offline as files

        found = files.explained(source, section) if explain else files.values(source, section, whole)
        text = files.written(found, form)
    else:
        text = ask(source, where(section, "values", form, **{"global": whole, "explain": explain}))
    show(text if output or not explain else table(orjson.loads(text)))


def show_config(source: Source, section: str, output: str, whole: bool = False) -> None:
    """Print what users have set of a module, or of `global`."""
    if not isinstance(source, Files):
        show(ask(source, where(section, "config", output, **{"global": whole})))
        return
    # 0.3 s, which a look at a running hookrunner need not pay.
    from hookrunner.cli import module_offline as files

    show(files.written(files.config(source, section, whole), output))


def table(origins: Sequence[JSON]) -> str:
    """Explained values as lines for a terminal: the value last, for it may be long."""
    lines = [("PATH", "SET BY", "VALUE")]
    lines += [(one["path"], one["layer"], orjson.dumps(one["value"]).decode()) for one in origins]
    first, second = (max(len(line[column]) for line in lines) for column in (0, 1))
    return "".join(f"{path.ljust(first)}  {layer.ljust(second)}  {value}\n" for path, layer, value in lines)
