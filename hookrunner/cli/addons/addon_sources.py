"""Options of `hookrunner addon …`: files or a running hookrunner, and for which cluster files are.

Nothing here reads an addon, so that a look at a running hookrunner stays quick.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, get_args

import click

from hookrunner.cli import debug
from hookrunner.cli.sources import VERSION_OPTIONS, directory_paths, named_versions
from hookrunner.model.addons import PatchMode

ADDONS_DIR = "--addons-dir"


@dataclass(frozen=True, slots=True)
class AddonDirectories:
    """Directories with addons; `source` is where their packages are, as --addon-source says it."""

    paths: tuple[Path, ...]
    source: str = ""


Source = AddonDirectories | debug.Sockets
"""Where answers come from: files, or a running hookrunner."""

_FILE_OPTIONS = (
    click.option(
        ADDONS_DIR,
        "directories",
        multiple=True,
        metavar="DIR",
        help="Look at the addons in DIR, and ask no running hookrunner. May be repeated, or DIR:DIR; the first that "
        "has an addon wins.",
    ),
    click.option(
        "--addon-source",
        "packages",
        default="",
        metavar="LOCATION",
        help="Of files: where packages are: for all addons, or NAME=LOCATION,… [default: what addon.yaml says]",
    ),
)


def sourced(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flags, and as `source` what they select: files with --addons-dir, else the debug sockets."""

    @wraps(command)
    def call(directories: tuple[str, ...], packages: str, sockets: debug.Sockets, **others: Any) -> Any:
        paths = directory_paths(directories, ADDONS_DIR)
        if packages and not paths:
            raise click.UsageError("--addon-source is for looking at files: give --addons-dir, too")
        return command(source=AddonDirectories(paths, packages) if paths else sockets, **others)

    for option in (debug.at, *reversed(_FILE_OPTIONS)):
        call = option(call)
    return call


@dataclass(frozen=True, slots=True)
class ClusterFlags:
    """The cluster that files are rendered for: files with its objects, its version, what it serves besides, and which
    patches its hookrunner applies, "" for the default."""

    given: tuple[str, ...] = ()
    version: str = ""
    api_versions: tuple[str, ...] = ()
    patches: str = ""


_GIVEN_OPTION = click.option(
    "--given",
    multiple=True,
    metavar="OBJECTS.yaml",
    help="Of files: objects of the cluster, which hooks see. May be repeated, may be a directory.",
)


PATCHES_HELP = "Of files: what spec.patches may change, as for `hookrunner start`. [default: listed]"
_PATCHES_OPTION = click.option("--addon-patches", "patches", type=click.Choice(get_args(PatchMode)), help=PATCHES_HELP)


def for_a_cluster(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command flags about the cluster that files are for, and as `cluster` what they say."""

    @wraps(command)
    def call(
        version: str,
        api_versions: tuple[str, ...],
        given: tuple[str, ...] = (),
        patches: str | None = None,
        **others: Any,
    ) -> Any:
        cluster = ClusterFlags(given, version, named_versions(api_versions), patches or "")
        if cluster != ClusterFlags() and not isinstance(others["source"], AddonDirectories):
            raise click.UsageError("flags about a cluster are for looking at files: give --addons-dir, too")
        return command(cluster=cluster, **others)

    for option in reversed(VERSION_OPTIONS):
        call = option(call)
    return call


def with_given(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flags of `for_a_cluster`, --given and --addon-patches."""
    return _GIVEN_OPTION(_PATCHES_OPTION(for_a_cluster(command)))
