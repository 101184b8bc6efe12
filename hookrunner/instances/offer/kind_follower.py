"""Follows the offer: begins with kinds that are offered, and ends those that are not any more.

    follower = KindFollower(offer, parts, share_values)
    await follower.follow()         # until cancelled

What leaves the offer keeps all that it has installed: its units end as if the process did, and nothing is deleted. An
addon whose files have changed leaves and comes back at once, as after a restart. `left` are the kinds that have left
with instances, for `/readyz`.
"""

import time
from collections.abc import Callable

from hookrunner import log
from hookrunner.addons.offer.addon_offer import AddonOffer, OfferedAddon, OfferState
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.instances.offer.kind_life import KindLife, KindParts
from hookrunner.instances.reports.sight import LeftKinds
from hookrunner.model.addons import Addon
from kubetypes.json_values import JSON

_log = log.get(__name__)


class KindFollower:
    """The kinds of an offer. `share_values` takes the global values that the files of all addons set."""

    def __init__(
        self, offer: AddonOffer, parts: KindParts, left: LeftKinds, share_values: Callable[[JSON], None]
    ) -> None:
        self._offer = offer
        self._parts = parts
        self._left = left
        self._share_values = share_values
        self._lives: dict[str, KindLife] = {}

    async def follow(self) -> None:
        """Do as the offer says, until cancelled."""
        async for state in self._offer.states():
            self._share_values(state.shared)
            for name in [name for name, life in self._lives.items() if state.addons.get(name) != life.offered]:
                await self._end(self._lives.pop(name), state)
            for name in sorted(state.addons.keys() - self._lives.keys()):
                self._begin(state.addons[name])

    def _begin(self, offered: OfferedAddon) -> None:
        addon = offered.addon
        self._left.come_back(addon)
        life = self._lives[addon.name] = KindLife(offered, InstanceCache(addon, offered.values), self._parts)
        life.begin()

    async def _end(self, life: KindLife, state: OfferState) -> None:
        addon, instances = life.cache.addon, len([*life.cache])
        await life.end()
        successor = state.addons.get(addon.name)
        if successor and successor.addon.object == addon.object:
            _log.info("addon has changed", addon=addon.name, instances=instances)
            return
        reason = state.why_left(addon) if successor is None else _other_kind(addon, successor.addon)
        text = "addon is not offered any more, what it has installed stays"
        _log.log("error" if instances else "warning", text, addon=addon.name, instances=instances, reason=reason)
        if instances:
            self._left.leave(addon, reason, instances, time.time())


def _other_kind(addon: Addon, successor: Addon) -> str:
    before, after = addon.object, successor.object
    return f"its kind is {after.api_version} {after.kind} now, and no longer {before.api_version} {before.kind}"
