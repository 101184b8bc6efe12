"""`hookrunner hook config`: what hooks declare, as hookrunner understands it."""

from collections.abc import Iterator
from pathlib import Path

import click
import orjson

from hookrunner import settings
from hookrunner.cli import ending
from hookrunner.cli.output import echo, echo_json
from hookrunner.hooks.catalog import Catalog
from hookrunner.model.resources import JSON
from hookrunner.testing import display
from hookrunner.testing.bench import bench
from hookrunner.testing.display import as_yaml

HOOK_PATH = click.Path(exists=True, path_type=Path)


@click.command("config")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=HOOK_PATH)
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@click.pass_context
def hook_config(ctx: click.Context, paths: tuple[Path, ...], output: str) -> int:
    """Show what hooks declare, with every default. PATH is a hook or a directory of hooks.

    \b
    hookrunner hook config hooks/copy.sh
    hookrunner hook config hooks -o json | jq '.[] | {hook, queues: [.kubernetes[].queue]}'

    Each hook is run with --config, as at the start. Durations are in seconds. It ends with 1 if a hook is refused.
    """
    catalogs = ending.run(_catalogs(paths, ctx.find_root().info_name or ""))
    found: list[JSON] = [
        {"hook": hook.name, **display.config_document(hook.config)} for one in catalogs for hook in one.hooks
    ]
    match output:
        case "json":
            echo_json(found)
        case "yaml":
            echo(as_yaml(found), nl=False)
        case _:
            echo("\n".join(f"{_table(config)}\n" for config in found).removesuffix("\n"), nl=bool(found))
    problems = [problem for one in catalogs for problem in one.problems]
    for problem in problems:
        echo(f"Error: {problem}", err=True)
    return 1 if problems else 0


async def _catalogs(paths: tuple[Path, ...], program: str) -> list[Catalog]:
    async with bench(settings.load({}, program).hooks) as tools:
        return [await tools.catalog(path) for path in paths]


def _table(config: JSON) -> str:
    rows = list(_rows(config, ""))
    width = max(len(key) for key, _ in rows)
    return "\n".join(f"{key.ljust(width)}  {value}".rstrip() for key, value in rows)


def _rows(value: JSON, path: str) -> Iterator[tuple[str, str]]:
    """A row for each value that is not itself a mapping or a list of them. `-` is nothing, but that is left out at the
    top."""
    for key, item in value.items():
        if isinstance(item, dict):
            yield from _rows(item, f"{path}{key}.")
        elif isinstance(item, list) and item and isinstance(item[0], dict):
            for place, inner in enumerate(item):
                yield from _rows(inner, f"{path}{key}[{place}].")
        elif item in (None, "", []):
            yield from [(path + key, "-")] * bool(path)
        else:
            yield path + key, item if isinstance(item, str) else orjson.dumps(item).decode()
