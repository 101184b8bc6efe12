"""The flags by which `hookrunner module …` looks at files instead of asking a running hookrunner."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click
import orjson

from hookrunner.cli import debug

_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class Files:
    """Where modules are, and what users configure. `program` is the name that we were started under."""

    directories: tuple[Path, ...]
    global_hooks: Path | None
    config: tuple[Path, ...]
    program: str


_OPTIONS = (
    click.option(
        "--modules-dir",
        "directories",
        multiple=True,
        metavar="DIR",
        help="Look at the modules in DIR, and ask no running hookrunner. May be repeated, or DIR:DIR.",
    ),
    click.option(
        "--global-hooks-dir",
        "global_hooks",
        type=_DIRECTORY,
        metavar="DIR",
        help="Of files: where the schemas of the global values are, in DIR/openapi.",
    ),
    click.option(
        "--config",
        "config",
        multiple=True,
        type=_FILE,
        metavar="FILE",
        help="Of files: what users set: a manifest of the ConfigMap, or of the Secret, or its sections as plain YAML.",
    ),
)


Source = Files | debug.Sockets
"""What is asked: files, or a running hookrunner."""


def sourced(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the flags, and as `source` what they say: files with --modules-dir, else the debug sockets."""

    @wraps(command)
    def call(directories: tuple[str, ...], global_hooks: Path | None, config: tuple[Path, ...], **others: Any) -> Any:
        sockets = others.pop("sockets")
        return command(source=_files(directories, global_hooks, config) or sockets, **others)

    for option in (debug.at, *reversed(_OPTIONS)):
        call = option(call)
    return call


def _files(directories: tuple[str, ...], global_hooks: Path | None, config: tuple[Path, ...]) -> Files | None:
    if not directories:
        if global_hooks or config:
            raise click.UsageError("--config and --global-hooks-dir are for looking at files: give --modules-dir, too")
        return None
    paths = tuple(Path(part) for text in directories for part in text.split(":") if part)
    for path in paths:
        if not path.is_dir():
            raise click.BadParameter(f"there is no directory '{path}'", param_hint="--modules-dir")
    program = click.get_current_context().find_root().info_name or ""
    return Files(paths, global_hooks, config, program)


def _names(ctx: click.Context, _param: click.Parameter, typed: str) -> list[str]:
    """For completion: modules in the directories, else those of a running hookrunner."""
    with suppress(Exception):  # nobody wants to read an error there
        if ctx.params.get("directories"):
            # Half of a second that nothing else of these commands needs.
            from hookrunner.cli import module_offline

            found = module_offline.names(_files(ctx.params["directories"], None, ()))
        else:
            sockets = ctx.params.get("sockets") or debug.places(ctx)
            rows = orjson.loads(debug.ask(sockets, "/module/list.json"))["modules"]
            found = [row["name"] for row in rows]
        return [name for name in found if name.startswith(typed)]
    return []


name = click.argument("name", metavar="MODULE", shell_complete=_names)
