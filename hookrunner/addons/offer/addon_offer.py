"""Which addons are offered at the moment: the one owner of that.

    offer = AddonOffer()
    offer.set_directories(offered_in(catalog, settings), catalog.rejected)
    async for state in offer.states(): ...      # what is offered now, and again after each change

Directories feed it, and objects of the kind Generic. A directory has priority over such an object. An addon whose files
have changed is another one under the same name. Who follows the offer is given its whole state, and compares it with
what it does: then a change that was overtaken by the next one is missed by no one.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from hookrunner.addons.addon_discovery import AddonCatalog
from hookrunner.addons.addon_values import AddonValues, shared_values
from hookrunner.model.addons import Addon, RejectedAddon
from hookrunner.packages.source_locations import SourceLocation, locations_of
from hookrunner.settings import AddonsSettings
from hookrunner.waits import Notifier
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OfferedAddon:
    """An addon with what its files say about values, and where its packages are, or why that cannot be read. Files are
    compared by the addon's `stamp`."""

    addon: Addon
    values: AddonValues = field(compare=False)
    location: SourceLocation | str


@dataclass(frozen=True, slots=True)
class OfferState:
    """What is offered at one moment, by name. `rejected` are directories that cannot be offered, `refused` has why
    objects do not lead to an addon any more that did, by the addon's name."""

    addons: Mapping[str, OfferedAddon] = field(default_factory=dict)
    rejected: tuple[RejectedAddon, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def shared(self) -> JSON:
        """The lowest layer of global values: what the files of the addons set."""
        return shared_values((self.addons[name].values for name in sorted(self.addons)), {})

    def why_left(self, addon: Addon) -> str:
        """Why an addon is not offered that was, for a person."""
        if addon.name in self.refused:
            return self.refused[addon.name]
        problems = [rejected.problem for rejected in self.rejected if rejected.name == addon.name]
        return problems[0] if problems else f"{addon.directory} does not exist any more"


class AddonOffer:
    """The addons that are offered; empty at first. `locations` has where each of them has its packages, as
    `SourceOpener` needs it: it follows the offer, and keeps what has left it, for runs that are under way."""

    def __init__(self) -> None:
        self._directories: tuple[OfferedAddon, ...] = ()
        self._generics: tuple[OfferedAddon, ...] = ()
        self._state = OfferState()
        self._changed = Notifier()
        self._locations: dict[str, SourceLocation | str] = {}
        self.locations: Mapping[str, SourceLocation | str] = MappingProxyType(self._locations)

    @property
    def state(self) -> OfferState:
        """What is offered now."""
        return self._state

    @property
    def addons(self) -> tuple[Addon, ...]:
        """The addons by name, for lists."""
        return tuple(self._state.addons[name].addon for name in sorted(self._state.addons))

    @property
    def rejected(self) -> tuple[RejectedAddon, ...]:
        """Directories that cannot be offered."""
        return self._state.rejected

    @property
    def of_directories(self) -> tuple[Addon, ...]:
        """The addons that directories offer."""
        return tuple(offered.addon for offered in self._directories)

    def set_directories(self, offered: Iterable[OfferedAddon], rejected: Sequence[RejectedAddon]) -> None:
        """The directories offer these addons from now on."""
        self._directories = tuple(offered)
        self._set(tuple(rejected), self._state.refused)

    def set_generics(self, offered: Iterable[OfferedAddon], refused: Mapping[str, str]) -> None:
        """Objects of the kind Generic offer these addons from now on; `refused` as in `OfferState`."""
        self._generics = tuple(offered)
        self._set(self._state.rejected, refused)

    def _set(self, rejected: tuple[RejectedAddon, ...], refused: Mapping[str, str]) -> None:
        addons = {offered.addon.name: offered for offered in (*self._generics, *self._directories)}
        state = OfferState(addons, rejected, refused)
        if state != self._state:
            self._state = state
            self._locations.update({name: offered.location for name, offered in addons.items()})
            self._changed.notify()

    async def states(self) -> AsyncIterator[OfferState]:
        """Yield what is offered now, and again after each change. Of several changes in a row the last counts."""
        seen: OfferState | None = None
        while True:
            if seen is self._state:
                await self._changed.next()
                continue
            seen = self._state
            yield seen


def offered_in(catalog: AddonCatalog, settings: AddonsSettings) -> tuple[OfferedAddon, ...]:
    """The addons of directories as they are offered with these settings. Raises BadSetting."""
    locations = locations_of(catalog.addons, settings)
    return tuple(OfferedAddon(addon, catalog.values[addon.name], locations[addon.name]) for addon in catalog.addons)
