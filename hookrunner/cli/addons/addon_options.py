"""The addons, packages and clusters that the options of `hookrunner addon …` name, read from files."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

import click

from hookrunner import settings
from hookrunner.addons.addon_discovery import AddonCatalog, find_addons
from hookrunner.addons.files.addon_file import ADDON_FILE
from hookrunner.cli.addons.addon_sources import ADDONS_DIR, AddonDirectories, ClusterFlags
from hookrunner.cli.shared import quiet, relative
from hookrunner.cli.sources import directory_paths
from hookrunner.errors import BadInput
from hookrunner.model.addons import Addon
from hookrunner.model.releases import Capabilities
from hookrunner.modules.offline import stock_capabilities
from hookrunner.packages.source_locations import overrides_of
from hookrunner.settings import Settings
from hookrunner.shapes import suggestion
from hookrunner.testing import manifests
from hookrunner.testing.addons.addon_bench import SourceOf, offline_source
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_DEFAULT = Path("addons")
_NO_FLAGS = MappingProxyType[str, str]({})


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
        raise BadInput(_missing(name, [addon.name for addon in self.catalog.addons]))


def _missing(name: str, names: Sequence[str]) -> str:
    hint = suggestion(name, names) or f"; there are {', '.join(names) or 'no addons'}"
    return f"there is no addon '{name}'{hint}"


def read_files(source: AddonDirectories, flags: Mapping[str, str] = _NO_FLAGS) -> AddonFiles:
    """The addons in directories; `flags` are those of `start` that are given, without dashes. Raises
    click.BadParameter, BadSetting, StartRefused."""
    loaded = settings.load({**source.flags, **flags}, click.get_current_context().find_root().info_name or "")
    overrides = overrides_of(loaded.addons)
    with quiet():
        catalog = find_addons([path.absolute() for path in source.paths])
    names = [*(addon.name for addon in catalog.addons), *(addon.name for addon in catalog.rejected)]
    for name in sorted(overrides.by_addon.keys() - set(names)):
        raise click.BadParameter(_missing(name, names), param_hint="--addon-source")
    return AddonFiles(catalog, partial(offline_source, loaded.addons), loaded)


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
    named = (*paths, *directory_paths(directories, ADDONS_DIR)) or ((_DEFAULT,) if _DEFAULT.is_dir() else ())
    if not named:
        raise click.UsageError(f"there is no directory '{_DEFAULT}'; name a DIR, or --addons-dir DIR")
    return list(dict.fromkeys(addon for path in named for addon in _addons_in(relative(path))))


@dataclass(frozen=True, slots=True)
class GivenCluster:
    """The cluster that hooks and templates see: its objects, its version and what it serves."""

    objects: tuple[JSON, ...]
    capabilities: Capabilities


def given_cluster(flags: ClusterFlags) -> GivenCluster:
    """The cluster that flags describe. Raises BadInput."""
    return GivenCluster(manifests.load(flags.given, Path()), stock_capabilities(flags.version, flags.api_versions))
