"""Follows the addons directories: what is new or has changed there is offered without a restart.

    watch = DirectoryWatch(settings, offer)
    watch.begin(catalog)            # what the start has read
    await watch.follow()            # until cancelled

Directories are looked at every two seconds, by the states of their files (`addons/files/addon_stamps.py`). A change
counts when nothing more has changed for one look: who copies an addon writes one file after another.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from hookrunner import log
from hookrunner.addons.addon_discovery import AddonCatalog, reload_offer
from hookrunner.addons.files.addon_stamps import stamps_of
from hookrunner.addons.offer.addon_offer import AddonOffer, offered_in
from hookrunner.errors import BadConfig, StartRefused
from hookrunner.hooks import writable
from hookrunner.settings import Settings

LOOK = 2.0
"""Seconds between two looks."""

_log = log.get(__name__)


class DirectoryWatch:
    """The directories of these settings feed `offer`."""

    def __init__(self, settings: Settings, offer: AddonOffer) -> None:
        self._settings = settings
        self._offer = offer
        self._roots = [root.absolute() for root in dict.fromkeys(settings.addons.directories)]
        self._read: Mapping[Path, str] = {}
        self._problem = ""

    def begin(self, catalog: AddonCatalog) -> None:
        """Offer what has been read from now on. Raises BadSetting."""
        self._read = catalog.stamps
        self._offer.set_directories(offered_in(catalog, self._settings.addons), catalog.rejected)

    async def follow(self) -> None:
        """Look at the directories until cancelled. While one of them cannot be read, the offer stays as it is."""
        seen = self._read
        while True:
            await asyncio.sleep(LOOK)
            try:
                before, seen = seen, await asyncio.to_thread(stamps_of, self._roots)
                if seen != self._read and seen == before:
                    catalog = await asyncio.to_thread(self._read_again)
                    _log.info("addons directories have changed", rejected=len(catalog.rejected))
                    self.begin(catalog)
                self._problem = ""
            except (StartRefused, BadConfig) as error:
                self._note(error)

    def _read_again(self) -> AddonCatalog:
        """What the directories hold now. Raises StartRefused, also where every user may change what is in them."""
        for root in self._roots:
            writable.check(root, self._settings.hooks)
        return reload_offer(self._settings.addons)

    def _note(self, error: Exception) -> None:
        """A problem is logged once, until there is another one."""
        if str(error) != self._problem:
            self._problem = str(error)
            _log.error("addons directories cannot be read: the offer stays as it is", error=error)
