"""Options of `hookrunner addon …` for files: where addons and packages are, and which cluster they are for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hookrunner import settings
from hookrunner.addons.addon_discovery import AddonCatalog, find_addons
from hookrunner.addons.files.addon_file import ADDON_FILE
from hookrunner.cli.shared import quiet, relative
from hookrunner.errors import BadInput
from hookrunner.model.addons import Addon
from hookrunner.model.releases import Capabilities
from hookrunner.modules.offline import stock_capabilities
from hookrunner.packages.source_locations import parse_overrides
from hookrunner.settings import Settings
from hookrunner.shapes import suggestion
from hookrunner.testing import manifests
from hookrunner.testing.addons.addon_bench import SourceOf, directory_source
from kubetypes.json_values import JSON

_DEFAULT = Path("addons")


@dataclass(frozen=True, slots=True)
class AddonFiles:
    """The addons in the directories that options name, and where their packages are."""

    catalog: AddonCatalog
    source_of: SourceOf
    settings: Settings

    def named(self, name: str) -> Addon:
        """The addon of this name. Raises BadInput."""
        if addon := self.catalog.named(name):
            return addon
        for rejected in self.catalog.rejected:
            if rejected.name == name:
                raise BadInput(f"addon '{name}' cannot be offered: {rejected.problem}")
        names = [addon.name for addon in self.catalog.addons]
        hint = suggestion(name, names) or f"; there are {', '.join(names) or 'no addons'}"
        raise BadInput(f"there is no addon '{name}'{hint}")


_FILE_OPTIONS = (
    click.option(
        "--addons-dir",
        "directories",
        multiple=True,
        metavar="DIR",
        help="The addons in DIR. May be repeated, or DIR:DIR: the first that has an addon wins.",
    ),
    click.option(
        "--addon-source",
        "source",
        default="",
        metavar="LOCATION",
        help="Where packages are: for all addons, or NAME=LOCATION,… [default: what addon.yaml says]",
    ),
)


def of_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, and as `files` what they lead to."""

    @wraps(command)
    def call(directories: tuple[str, ...], source: str, **others: Any) -> Any:
        if not directories:
            raise click.UsageError("addons are looked for in files: give --addons-dir DIR")
        return command(files=read_files(directory_paths(directories), source), **others)

    for option in reversed(_FILE_OPTIONS):
        call = option(call)
    return call


def directory_paths(directories: tuple[str, ...]) -> tuple[Path, ...]:
    """The directories that --addons-dir names. Raises click.BadParameter."""
    named = tuple(Path(part) for text in directories for part in text.split(":") if part)
    for path in named:
        if not path.is_dir():
            raise click.BadParameter(f"there is no directory '{path}'", param_hint="--addons-dir")
    return named


def read_files(directories: tuple[Path, ...], source: str = "") -> AddonFiles:
    """The addons in directories; `source` is that of --addon-source. Raises click.BadParameter, StartRefused."""
    loaded = settings.load({}, click.get_current_context().find_root().info_name or "")
    try:
        overrides = parse_overrides(source, Path.cwd(), plain_http=loaded.addons.verify == "off")
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--addon-source") from None
    with quiet():
        catalog = find_addons([path.absolute() for path in directories])
    return AddonFiles(catalog, directory_source(overrides), loaded)


def _addons_in(path: Path) -> list[Path]:
    """The addons that a path means: itself, or those in it. Raises BadInput."""
    if (path / ADDON_FILE).exists():
        return [path]
    addons = sorted(child for child in path.iterdir() if (child / ADDON_FILE).exists()) if path.is_dir() else []
    if not addons:
        raise BadInput(f"{path}: no addon: there is no {ADDON_FILE} in it, nor in a directory in it")
    return addons


def addon_paths(paths: Sequence[Path], directories: tuple[str, ...]) -> list[Path]:
    """The addons that the arguments of a command name. Raises BadInput, click.UsageError."""
    named = (*paths, *directory_paths(directories)) or ((_DEFAULT,) if _DEFAULT.is_dir() else ())
    if not named:
        raise click.UsageError(f"there is no directory '{_DEFAULT}'; name a DIR, or --addons-dir DIR")
    return list(dict.fromkeys(addon for path in named for addon in _addons_in(relative(path))))


_CLUSTER_OPTIONS = (
    click.option("--kube-version", "version", default="", metavar="VERSION", help="The version of the cluster."),
    click.option(
        "--api-versions",
        "api_versions",
        multiple=True,
        metavar="VERSION",
        help="What the cluster serves besides, as GROUP/VERSION/KIND; may be repeated, or with commas.",
    ),
)


@dataclass(frozen=True, slots=True)
class GivenCluster:
    """The cluster that hooks and templates see: its objects, its version and what it serves."""

    objects: tuple[JSON, ...]
    capabilities: Capabilities


def in_a_cluster(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `for_a_cluster` and --given, and as `cluster` what they describe."""

    @wraps(command)
    def call(given: tuple[str, ...], capabilities: Capabilities, **others: Any) -> Any:
        return command(cluster=GivenCluster(manifests.load(given, Path()), capabilities), **others)

    option = click.option(
        "--given",
        multiple=True,
        metavar="OBJECTS.yaml",
        help="Objects of the cluster, which hooks see. May be repeated, may be a directory.",
    )
    return for_a_cluster(option(call))


def for_a_cluster(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options, and as `capabilities` those of the cluster that they describe."""

    @wraps(command)
    def call(version: str, api_versions: tuple[str, ...], **others: Any) -> Any:
        named = tuple(word for text in api_versions for word in text.split(",") if word)
        return command(capabilities=stock_capabilities(version, named), **others)

    for option in reversed(_CLUSTER_OPTIONS):
        call = option(call)
    return call
