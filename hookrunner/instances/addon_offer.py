"""The addons that this process offers, with what their files say about values. Reads many small files: call it in a
thread.

An addon whose files are wrong is left out, and nothing of it is changed or deleted: its instances are not looked at.
"""

from dataclasses import dataclass

from hookrunner import log
from hookrunner.addons.addon_discovery import find_addons
from hookrunner.addons.addon_values import AddonValues, read_addon_values, shared_values
from hookrunner.errors import BadAddon
from hookrunner.model.addons import Addon, RejectedAddon
from hookrunner.packages.source_locations import overrides_of
from hookrunner.settings import AddonsSettings
from kubetypes.json_values import JSON

_log = log.get("addons.discovery")


@dataclass(frozen=True, slots=True)
class OfferedAddon:
    """An addon with its values."""

    addon: Addon
    values: AddonValues


@dataclass(frozen=True, slots=True)
class AddonOffer:
    """What is offered, by name, and the directories that cannot be."""

    addons: dict[str, OfferedAddon]
    rejected: tuple[RejectedAddon, ...] = ()

    @property
    def shared(self) -> JSON:
        """What the addons say about global values, below what anyone else says."""
        return shared_values((offered.values for offered in self.addons.values()), {})


def load_offer(settings: AddonsSettings) -> AddonOffer:
    """The addons of these settings. Raises StartRefused for a directory that is missing or cannot be read, and
    BadSetting."""
    catalog = find_addons([directory.absolute() for directory in settings.directories], settings.names)
    offered, rejected = dict[str, OfferedAddon](), [*catalog.rejected]
    for addon in catalog.addons:
        try:
            offered[addon.name] = OfferedAddon(addon, read_addon_values(addon))
        except BadAddon as error:
            _log.error("addon is not offered", path=addon.directory, error=str(error))
            rejected.append(RejectedAddon(addon.name, addon.directory, str(error)))
    known = {*offered, *(addon.name for addon in rejected)}
    for name in sorted(overrides_of(settings).by_addon.keys() - known):
        _log.warn("--addon-source names an addon that is not offered", addon=name, known=", ".join(sorted(known)))
    _log.info("addons are offered", addons=", ".join(offered), rejected=len(rejected))
    return AddonOffer(offered, tuple(rejected))
