"""Finds addons: the directories in the addons directories (see docs/addons.md).

A directory that cannot be offered does not stop the others. It is known with its reason, because what it has installed
must not be taken for a leftover: its instances stay as they are until it is corrected.
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from hookrunner import log, safe_files
from hookrunner.addons.addon_crd import read_definitions
from hookrunner.addons.addon_values import AddonValues, read_addon_values, shared_values
from hookrunner.addons.files.addon_file import read_addon
from hookrunner.addons.files.addon_stamps import addon_directories, stamp_of
from hookrunner.errors import BadAddon, StartRefused
from hookrunner.model.addons import GENERIC_OBJECT, Addon, AddonObject, RejectedAddon
from hookrunner.model.modules import GLOBAL, camel, kebab
from hookrunner.model.releases import LONGEST_RELEASE, is_release_name
from hookrunner.packages.source_locations import overrides_of
from hookrunner.settings import AddonsSettings
from hookrunner.shapes import suggestion
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class AddonCatalog:
    """What the addons directories hold, by name. No two `addons` have one name, one kind or one plural. `values` has
    what the files of each say about values. `rejected` are directories that cannot be offered. `stamps` are those of
    all directories, from before they were read."""

    addons: tuple[Addon, ...] = ()
    rejected: tuple[RejectedAddon, ...] = ()
    values: Mapping[str, AddonValues] = field(default_factory=dict)
    stamps: Mapping[Path, str] = field(default_factory=dict)

    @property
    def shared(self) -> JSON:
        """The lowest layer of global values: what the files of the addons set."""
        return shared_values((self.values[addon.name] for addon in self.addons), {})

    def named(self, name: str) -> Addon | None:
        """The addon of this name."""
        return next((addon for addon in self.addons if addon.name == name), None)

    def of_kind(self, api_version: str, kind: str) -> Addon | None:
        """The addon whose instances are of this kind."""
        kinds = ((addon.object.api_version, addon.object.kind, addon) for addon in self.addons)
        return next((addon for version, name, addon in kinds if (version, name) == (api_version, kind)), None)


def find_addons(directories: Sequence[Path], names: Collection[str] = ()) -> AddonCatalog:
    """The addons in these absolute directories, or of them only those with these names. Of two with one name or one
    kind the first directory's counts. Rejected ones are logged. Raises StartRefused if an addons directory is missing
    or cannot be read, and for a name that no directory has."""
    return _find(_read_all(directories), names)


def _find(catalog: AddonCatalog, names: Collection[str]) -> AddonCatalog:
    """Those with these names. Raises StartRefused."""
    _require_known(names, [*(addon.name for addon in catalog.addons), *(addon.name for addon in catalog.rejected)])
    return _restricted(catalog, names)


def _read_configured(settings: AddonsSettings) -> AddonCatalog:
    """The addons of all names in the directories of settings."""
    own = (GENERIC_OBJECT,) if settings.generic_sources else ()
    return _read_all([directory.absolute() for directory in settings.directories], own)


def _read_all(directories: Sequence[Path], own: Collection[AddonObject] = ()) -> AddonCatalog:
    """The addons of all names; `own` are kinds that hookrunner defines itself."""
    taken: dict[str, Addon] = {}
    values: dict[str, AddonValues] = {}
    rejected: list[RejectedAddon] = []
    stamps: dict[Path, str] = {}
    for root in dict.fromkeys(directories):
        for directory in addon_directories(root):
            try:
                stamps[directory] = stamp_of(directory)
                addon = replace(_read(directory, root), stamp=stamps[directory])
                _require_unused(addon, taken.values())
                _require_foreign(addon.object, own)
                values[addon.name] = read_addon_values(addon)
            except BadAddon as error:
                _log.error("addon is not offered", path=directory, error=error)
                rejected.append(RejectedAddon(directory.name, directory, str(error)))
            else:
                taken[addon.name] = addon
    return AddonCatalog(tuple(taken[name] for name in sorted(taken)), tuple(rejected), values, stamps)


def _restricted(catalog: AddonCatalog, names: Collection[str]) -> AddonCatalog:
    """The same without addons of other names; all if there are none."""
    return replace(catalog, addons=tuple(addon for addon in catalog.addons if not names or addon.name in names))


def load_offer(settings: AddonsSettings) -> AddonCatalog:
    """The addons that a process with these settings offers. Reads many small files: call it in a thread. Raises
    StartRefused for a directory that is missing or cannot be read, and BadSetting."""
    catalog = _find(_read_configured(settings), settings.names)
    known = {*(addon.name for addon in catalog.addons), *(addon.name for addon in catalog.rejected)}
    for name in sorted(overrides_of(settings).by_addon.keys() - known):
        _log.warn("--addon-source names an addon that is not offered", addon=name, known=", ".join(sorted(known)))
    offered = ", ".join(addon.name for addon in catalog.addons)
    _log.info("addons are offered", addons=offered, rejected=len(catalog.rejected))
    return catalog


def reload_offer(settings: AddonsSettings) -> AddonCatalog:
    """The same while a process runs, which has said what was wrong with its flags: an addon that they name may have no
    directory now. Raises StartRefused."""
    return _restricted(_read_configured(settings), settings.names)


def _read(directory: Path, root: Path) -> Addon:
    """The addon in a directory. A link gives the name, and its target the files. Raises BadAddon."""
    _require_name(directory.name)
    if not safe_files.may_exist(directory):
        raise BadAddon(f"{directory}: it is a dangling link; correct it or remove it")
    addon = read_addon(directory, root)
    read_definitions(addon)
    for path in addon.post_render:
        _require_executable(directory / path)
    return addon


def _require_name(name: str) -> None:
    key = camel(name)
    if kebab(key) != name or "." in name or not is_release_name(name) or not name[0].isalpha():
        raise BadAddon(
            f"{name!r} cannot be the name of an addon: use lowercase letters, digits and single '-' between words, "
            f"beginning with a letter, at most {LONGEST_RELEASE}; rename the directory"
        )
    if key == GLOBAL:
        raise BadAddon(
            f"no addon can be called '{GLOBAL}': that is the section of values for all; rename the directory"
        )


def _require_executable(path: Path) -> None:
    if not safe_files.may_be_file(path):
        raise BadAddon(f"{path}: does not exist, but postRender names it; add it or correct addon.yaml")
    if not os.access(path, os.X_OK):
        raise BadAddon(f"{path}: is not executable, but postRender names it; run: chmod +x {path}")


def _require_unused(addon: Addon, others: Collection[Addon]) -> None:
    """Raises BadAddon if an earlier directory has the name, the kind or the plural."""
    for other in others:
        if other.name == addon.name:
            raise BadAddon(f"there is an addon '{addon.name}' already, in {other.directory}, and the first one is used")
        same_group = other.object.group == addon.object.group
        if same_group and other.object.kind.lower() == addon.object.kind.lower():
            raise BadAddon(
                f"the kind {addon.object.kind} is that of addon '{other.name}' in {other.directory}, and the first one "
                "is used; write another object.kind"
            )
        if other.object.crd_name == addon.object.crd_name:
            raise BadAddon(
                f"the plural '{addon.object.plural}' is that of addon '{other.name}' in {other.directory}, and the "
                "first one is used; write another object.plural"
            )


def _require_foreign(wanted: AddonObject, own: Iterable[AddonObject]) -> None:
    """Raises BadAddon if hookrunner defines the kind itself."""
    for kind in own:
        if wanted.is_same_kind(kind):
            raise BadAddon(
                f"with --addon-generic-sources {kind.crd_name} is a kind of hookrunner itself; write another "
                "object.kind or object.plural, or leave the flag out"
            )


def _require_known(names: Collection[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            hint = suggestion(name, known) or f"; there are {', '.join(sorted(known)) or 'none'}"
            raise StartRefused(f"--addons: no addons directory has an addon '{name}'{hint}")
