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
    """Directories with addons; `source` is where their packages are, `mirrors` and `keys` which copies are read and
    who must have signed them, as the flags of `start` say it."""

    paths: tuple[Path, ...]
    source: str = ""
    mirrors: str = ""
    keys: str = ""

    @property
    def flags(self) -> dict[str, str]:
        """The flags of `start` that mean the same, without dashes. Without keys the environment may name some."""
        signed = {"addon-keys": self.keys, "addon-verify": "signature"} if self.keys else {}
        return {"addon-source": self.source, "addon-mirror": self.mirrors, **signed}


Source = AddonDirectories | debug.Sockets
"""Where answers come from: files, or a running hookrunner."""

_PACKAGE_ROWS = (
    (
        ("--addon-source", "packages"),
        "LOCATION",
        "Of files: where packages are: for all addons, or NAME=LOCATION,… [default: what addon.yaml says]",
    ),
    (
        ("--addon-mirror", "mirrors"),
        "FROM=TO,…",
        "Of files: look in TO for locations that begin with FROM, as `hookrunner start` does.",
    ),
    (
        ("--addon-keys", "keys"),
        "FILE,…",
        "Of files: read only what one of these public keys has signed, or what is in the directories of addons.",
    ),
)

_FILE_OPTIONS = (
    click.option(
        ADDONS_DIR,
        "directories",
        multiple=True,
        metavar="DIR",
        help="Look at the addons in DIR, and ask no running hookrunner. May be repeated, or DIR:DIR; the first that "
        "has an addon wins.",
    ),
    *(click.option(*names, default="", metavar=metavar, help=text) for names, metavar, text in _PACKAGE_ROWS),
)


def package_options() -> list[click.Option]:
    """Those of `sourced` that say where packages are, for a command that is put together of parameters."""
    return [click.Option(names, default="", metavar=metavar, help=text) for names, metavar, text in _PACKAGE_ROWS]


def _select_source(
    directories: tuple[str, ...], packages: str, mirrors: str, keys: str, sockets: debug.Sockets
) -> Source:
    """Raises click.UsageError."""
    paths = directory_paths(directories, ADDONS_DIR)
    given = {"--addon-source": packages, "--addon-mirror": mirrors, "--addon-keys": keys}
    if not paths and (flag := next(filter(given.get, given), "")):
        raise click.UsageError(f"{flag} is for looking at files: give {ADDONS_DIR}, too")
    return AddonDirectories(paths, packages, mirrors, keys) if paths else sockets


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
