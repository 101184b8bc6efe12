"""Brings the `Addon` objects into line with the components of addons, one after the other: created with the first
component, written when something has changed, deleted with the last one.

    controller = AddonController(objects, labelled, installed, queue)
    await controller.work()                        # until cancelled

Nothing is written or deleted before it is known what there is: a restart would otherwise empty every status.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from hookrunner.discovery.addon_objects import AddonObjects
from hookrunner.discovery.addon_queue import BATCH, AddonQueue
from hookrunner.discovery.addon_status import make_status
from hookrunner.discovery.components import Component
from hookrunner.discovery.labelled_kind import LabelledKind
from hookrunner.model.timestamps import rfc3339
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_AT_ONCE = 4


class InstalledVersions(Protocol):
    """`installed_components.InstalledComponents`, which a process without modules and addons does not load."""

    @property
    def is_read(self) -> bool: ...
    def versions(self, addon: str) -> list[str]: ...
    def components(self, addon: str, now: float) -> list[Component] | None: ...
    def expires_in(self, addon: str, now: float) -> Iterator[float | None]: ...


@dataclass(frozen=True, slots=True)
class AddonController:
    """Reconciles `objects` with the components of `labelled` kinds and with what is `installed`, None if nothing is
    installed here."""

    objects: AddonObjects
    labelled: Sequence[LabelledKind]
    installed: InstalledVersions | None
    queue: AddonQueue

    async def work(self) -> None:
        """Reconcile what is in the queue, until cancelled."""
        await self.queue.work(self.reconcile, _AT_ONCE)

    async def reconcile(self, name: str) -> float | None:
        """Bring one object into line; seconds after which that is due again though nothing changes. Raises
        KubeError."""
        now = asyncio.get_running_loop().time()
        if not self._is_known(now):
            return BATCH
        components = self._components(name, now)
        if components is None or self.objects.is_foreign(name):
            return None
        if not components:
            await self.objects.remove(name)
            return None
        versions = self.installed.versions(name) if self.installed else []

        def make(present: JSON) -> JSON:
            return make_status(name, components, versions, present, rfc3339(time.time()))

        await self.objects.put(name, make)
        return min((seconds + BATCH for seconds in self._expiries(name, now) if seconds), default=None)

    def _is_known(self, now: float) -> bool:
        """Were the objects listed, all kinds, and the records?"""
        is_read = self.installed is None or self.installed.is_read
        return self.objects.is_listed and is_read and all(kind.is_known(now) for kind in self.labelled)

    def _components(self, name: str, now: float) -> Sequence[Component] | None:
        """The components of an addon, each once; None while the health of one is not known yet."""
        installed = self.installed.components(name, now) if self.installed else []
        if installed is None:
            return None
        return distinct([*installed, *(found for kind in self.labelled for found in kind.components(name, now))])

    def _expiries(self, name: str, now: float) -> Iterator[float | None]:
        yield from self.installed.expires_in(name, now) if self.installed else ()
        yield from (kind.expires_in(now) for kind in self.labelled if name in kind.addons)


def distinct(components: Iterable[Component]) -> list[Component]:
    """Each object once, by the first that names it. What one way does not show exists if another one shows it."""
    chosen: dict[object, Component] = {}
    for component in components:
        known = chosen.get(component.identity)
        if known is None or (known.health.status in ("NotFound", "Unknown") and component.health.status != "NotFound"):
            chosen[component.identity] = component
    return list(chosen.values())
