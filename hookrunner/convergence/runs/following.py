"""Follows the objects of releases that are as they are to be, and so finds out whether their records can be read.

What that takes to begin, reading records and opening watches, is not to be in the way of the next modules.
"""

import asyncio
from typing import NamedTuple

from hookrunner import log
from hookrunner.errors import KubeError, ReleaseFailed
from hookrunner.model.modules import Module
from hookrunner.model.releases import Head
from hookrunner.model.resources import JSON
from hookrunner.releases.drift.drift import Drift
from hookrunner.releases.manifest_objects import Identity
from hookrunner.releases.releases import Releases

_CALM = 0.5
"""Seconds from a release at rest until its objects are followed, with those of all that came to rest meanwhile."""

_log = log.get("helm")


class _Settled(NamedTuple):
    """A release at rest, with its objects unless they are to be read."""

    module: Module
    head: Head
    objects: tuple[JSON, ...] | None


class Following:
    """By `drift`, the releases that have come to rest."""

    def __init__(self, releases: Releases, drift: Drift) -> None:
        self._releases = releases
        self._drift = drift
        self._heads: dict[str, Head] = {}
        self._settled: asyncio.Queue[_Settled] = asyncio.Queue()

    def settled(self, module: Module, head: Head, objects: tuple[JSON, ...] | None = None) -> None:
        """A module's release has come to rest; soon it is followed."""
        if head.unmanaged:
            self.forget(module)
        elif self._heads.get(head.name) != head:
            self._heads[head.name] = head
            self._settled.put_nowait(_Settled(module, head, objects))

    def pause(self, identity: Identity) -> None:
        """It is about to be written."""
        self._drift.pause(identity)
        self._heads.pop(identity.name, None)

    def forget(self, module: Module) -> None:
        """Its objects are nobody's business any more."""
        if head := self._heads.pop(module.name, None):
            self._drift.forget(_identity(head))

    def follows(self, module: Module) -> bool:
        """Are its objects followed?"""
        return module.name in self._heads and module.traits.drift != "off"

    async def keep(self) -> None:
        """For ever: begin with what was settled."""
        while True:
            settled = [await self._settled.get()]
            await asyncio.sleep(_CALM)
            settled += [self._settled.get_nowait() for _ in range(self._settled.qsize())]
            for one in settled:
                await self._begin(one)

    async def _begin(self, one: _Settled) -> None:
        try:
            objects = await self._releases.manifest(one.head) if one.objects is None else one.objects
        except (KubeError, ReleaseFailed) as error:
            _log.debug("Objects cannot be followed yet.", module=one.module.name, error=str(error))
            self._settled.put_nowait(one)
            return
        if self._heads.get(one.module.name) is one.head:  # else something has been done with it meanwhile
            self._drift.follow(_identity(one.head), objects, one.module.traits.drift)


def _identity(head: Head) -> Identity:
    return Identity(head.name, head.namespace)
