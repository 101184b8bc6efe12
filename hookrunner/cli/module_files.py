"""The flags by which `hookrunner module …` looks at files instead of asking a running hookrunner."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

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
        program = click.get_current_context().find_root().info_name or ""
        found = Files(paths(directories), global_hooks, config, program)
        if not found.directories and (global_hooks or config):
            raise click.UsageError("--config and --global-hooks-dir are for looking at files: give --modules-dir, too")
        return command(source=found if found.directories else sockets, **others)

    for option in (debug.at, *reversed(_OPTIONS)):
        call = option(call)
    return call


def paths(directories: tuple[str, ...]) -> tuple[Path, ...]:
    """Those that --modules-dir names. Raises click.BadParameter."""
    found = tuple(Path(part) for text in directories for part in text.split(":") if part)
    for path in found:
        if not path.is_dir():
            raise click.BadParameter(f"there is no directory '{path}'", param_hint="--modules-dir")
    return found
