"""Options of `hookrunner addon …`: files or a running hookrunner, and for which cluster files are.

Nothing here reads an addon, so that a look at a running hookrunner stays quick.
"""

from pathlib import Path
from typing import get_args

import click

from hookrunner.cli import debug
from hookrunner.cli.sources import VERSION_OPTIONS, directory_paths, gathered
from hookrunner.model.addons import PatchMode
from kubetypes.light_dataclasses import dataclass

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


def _select_source(directories: tuple[str, ...], packages: str, sockets: debug.Sockets) -> Source:
    """Raises click.UsageError."""
    paths = directory_paths(directories, ADDONS_DIR)
    if packages and not paths:
        raise click.UsageError("--addon-source is for looking at files: give --addons-dir, too")
    return AddonDirectories(paths, packages) if paths else sockets


sourced = gathered("source", (*_FILE_OPTIONS, debug.at), _select_source)
"""Of commands that look at files too: as `source` files with --addons-dir, else the debug sockets."""


@dataclass(frozen=True, slots=True)
class ClusterFlags:
    """The cluster that files are rendered for: files with its objects, its version, what it serves besides, and which
    patches its hookrunner applies, None for the default."""

    given: tuple[str, ...] = ()
    version: str = ""
    api_versions: tuple[str, ...] = ()
    patches: str | None = None


_GIVEN_OPTION = click.option(
    "--given",
    multiple=True,
    metavar="OBJECTS.yaml",
    help="Of files: objects of the cluster, which hooks see. May be repeated, may be a directory.",
)


PATCHES_HELP = "Of files: what spec.patches may change, as for `hookrunner start`. [default: listed]"
_PATCHES_OPTION = click.option("--addon-patches", "patches", type=click.Choice(get_args(PatchMode)), help=PATCHES_HELP)


for_a_cluster = gathered(
    "cluster", VERSION_OPTIONS, lambda version, api_versions: ClusterFlags((), version, api_versions)
)
"""Of commands that look at files for a cluster: as `cluster` its version and what it serves."""
with_given = gathered("cluster", (_GIVEN_OPTION, _PATCHES_OPTION, *VERSION_OPTIONS), ClusterFlags)
"""Of commands that make objects of files: as `cluster` also its objects, and which patches are applied."""
