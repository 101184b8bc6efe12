"""One offered kind while it is offered: its definition is applied, and again when someone has deleted it; its objects
and the source of its packages are followed; what instances have left that vanished is purged.

    life = KindLife(offered, cache, parts)
    life.begin()
    await life.end()        # nothing follows the kind any more, and what there is of it stays
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from hookrunner import log
from hookrunner.addons.addon_crd import read_definitions
from hookrunner.addons.offer.addon_offer import OfferedAddon
from hookrunner.background import Background
from hookrunner.errors import HookrunnerError, KubeError, ReleaseFailed
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.instances.instance_registry import InstanceRegistry
from hookrunner.instances.removal import VanishedInstances
from hookrunner.instances.triggers.source_watch import SourceWatch
from hookrunner.kube.back_off import Outage, retry_forever
from hookrunner.kube.informer import Opener
from hookrunner.packages.source_locations import ClusterLocation
from hookrunner.releases.crds import Crds
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class KindParts:
    """What follows kinds. `converged` waits for the first converge: before, no one can tell what has vanished."""

    registry: InstanceRegistry
    crds: Crds
    watches: Opener
    vanished: VanishedInstances
    converged: Callable[[], Awaitable[None]]
    outage: Outage
    background: Background


class KindLife:
    """The tasks of one kind; `cache` has its objects."""

    def __init__(self, offered: OfferedAddon, cache: InstanceCache, parts: KindParts) -> None:
        self.offered = offered
        self.cache = cache
        self._parts = parts
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """Follow the kind, which has units for its objects from then on."""
        name, keep = self.cache.addon.name, self._keep
        self._parts.registry.offer(self.cache)
        keep(f"start of {name}", self._begin, ends=True)
        keep(f"definition of {name}", self._restore_definition)
        keep(f"vanished instances of {name}", self._purge, ends=True)
        if isinstance(self.offered.location, ClusterLocation):
            watch = SourceWatch(self.offered.location, {name: self.cache.addon}, self._parts.watches)
            keep(f"channels of {name}", partial(watch.follow, 0))
            keep(f"packages of {name}", partial(watch.follow, 1))
            keep(f"changes of packages of {name}", partial(self._follow_source, watch))

    async def end(self) -> None:
        """End the tasks, and the units; what they have installed stays."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._parts.registry.withdraw(self.cache.addon.name)

    def _keep(self, name: str, run: Callable[[], Awaitable[None]], ends: bool = False) -> None:
        self._tasks.append(self._parts.background.keep(name, run, ends=ends))

    async def _begin(self) -> None:
        """Define the kind, and follow its objects from then on."""
        await self._define()
        follow = partial(self._parts.registry.follow, self._parts.watches, self.cache)
        self._keep(f"addon {self.cache.addon.name}", follow)

    async def _restore_definition(self) -> None:
        """Define the kind again that someone has deleted: its watch tells of it."""
        while True:
            await self.cache.lost.next()
            await self._define()

    async def _define(self) -> None:
        """Apply the definition, however long that takes; what exists is followed meanwhile only if it is."""
        addon, cache = self.cache.addon, self.cache

        def report(error: Exception) -> None:
            level = "debug" if cache.is_listed else "error"  # else the loss of the watch is logged
            _log.log(level, "definition of an addon is not applied yet", addon=addon.name, error=error)
            if not cache.is_listed:
                cache.hide(str(error), isinstance(error, KubeError | ReleaseFailed) and error.brief)
                self._parts.registry.decide(addon)

        async def define() -> None:
            await self._parts.crds.ensure(await asyncio.to_thread(read_definitions, addon), {})

        await retry_forever(define, (HookrunnerError,), report, self._parts.outage.rest)

    async def _purge(self) -> None:
        """Purge what instances have left that vanished while no process ran, or none followed them. One of
        them may have replaced another instance, which returns."""
        await self.cache.listed.wait()
        await self._parts.converged()
        if await self._parts.vanished.purge(self.cache):
            self._parts.registry.related.wake_rivals(self.cache.addon, "Release-Purged")

    async def _follow_source(self, watch: SourceWatch) -> None:
        async for addons in watch.changes():
            self._parts.registry.ask_sources(addons, "Source-Changed")
