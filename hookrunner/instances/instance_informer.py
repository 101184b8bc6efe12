"""The instances of one addon as the API server shows them, and which of their changes matter.

    cache = InstanceCache(addon)
    async with aclosing(cache.follow(watches)) as events:
        async for event in events: ...

Every write of a status comes back as a watch event. Such an event changes what is kept, since the next status is
compared with it, but is no news: else each run would cause the next one. A definition of someone else may be without
the subresource `status`; then the generation grows with each status, so the spec itself is compared.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import TypeAlias

from hookrunner import log
from hookrunner.addons.addon_values import AddonValues
from hookrunner.addons.instance_fields import read_instance
from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified, Opener
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.events import ObjectSeen, Report, Synced, WatchLost, WatchRestored
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.waits import Notifier
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)

_ANNOTATIONS = "hookrunner.io/"
"""Begins the names of those that hookrunner and the hooks of addons read."""


@dataclass(frozen=True, slots=True)
class InstanceChanged:
    """An instance is new, or something of it has changed that matters. `is_new`: it was not known, or it is another
    object of the same name."""

    instance: Instance
    is_new: bool


@dataclass(frozen=True, slots=True)
class InstanceGone:
    """An instance does not exist any more; `instance` is what was known last."""

    instance: Instance


@dataclass(frozen=True, slots=True)
class InstancesListed:
    """All instances of the addon are known: others do not exist."""


@dataclass(frozen=True, slots=True)
class InstancesHidden:
    """The instances of the addon were never listed, and cannot be before someone acts."""


InstanceEvent: TypeAlias = InstanceChanged | InstanceGone | InstancesListed | InstancesHidden


class InstanceCache:
    """The latest state of each instance of an addon, whose files say `values`. `listed` is set when others do not
    exist; `lost` wakes when the watch is lost after that: the API server is unavailable, or the definition was deleted.
    `obstacle` is why the watch reports nothing at the moment, empty if it does; `obstacle_since` since when, in epoch
    seconds."""

    def __init__(self, addon: Addon, values: AddonValues | None = None) -> None:
        self.addon = addon
        self.values = values or AddonValues()
        self.listed = asyncio.Event()
        self.lost = Notifier()
        self.obstacle = ""
        self.obstacle_since = 0.0
        self._is_hidden = False
        self._instances: dict[ObjectKey, Instance] = {}
        self._of_unit: dict[str, Instance] = {}
        self._informer = Informer(self._instances)

    def __iter__(self) -> Iterator[Instance]:
        return iter(tuple(self._instances.values()))

    @property
    def selection(self) -> Selection:
        """What its watch selects: all objects of the addon's kind."""
        return Selection(self.addon.object.api_version, self.addon.object.kind)

    def get(self, unit: str) -> Instance | None:
        """The latest state of an instance, None if it does not exist."""
        return self._of_unit.get(unit)

    @property
    def is_listed(self) -> bool:
        """Are all instances known?"""
        return self.listed.is_set()

    @property
    def is_known(self) -> bool:
        """Are the instances listed, or is it known that they cannot be? Not while the API server is away: others, whose
        gates look at them, then wait as they are."""
        return self.is_listed or self._is_hidden

    def hide(self, reason: str, brief: bool = False) -> None:
        """The kind cannot be watched; `brief` if that passes by itself."""
        self.obstacle_since = self.obstacle_since or time.time()
        self.obstacle, self._is_hidden = reason, not brief

    def _show(self) -> None:
        self.obstacle, self.obstacle_since = "", 0.0

    async def follow(self, watches: Opener) -> AsyncGenerator[InstanceEvent, None]:
        """Watch the objects, and yield the changes that matter, from the first list on. Close it with `aclosing`."""
        async with aclosing(watches.open(self.selection)) as batches:
            async for reports in batches:
                for event in self.read(reports):
                    yield event
                del reports  # otherwise the last objects would stay in memory until the next change

    def read(self, reports: Iterable[Report]) -> Iterator[InstanceEvent]:
        """Keep what a batch of the watch reports, and yield the changes that matter."""
        for fact in self._informer.facts(reports):
            yield from self._take_in(fact)

    def _take_in(self, fact: Fact) -> Iterator[InstanceEvent]:
        match fact:
            case Added(seen) | Modified(seen):
                yield from self._put(seen)
            case Deleted(key):
                if known := self._instances.pop(key, None):
                    del self._of_unit[known.unit]
                    yield InstanceGone(known)
            case Synced():
                self._show()
                if not self.is_listed:
                    self.listed.set()
                    _log.info("instances are known", addon=self.addon.name, instances=len(self._instances))
                    yield InstancesListed()
            case WatchLost(reason=reason, brief=brief):
                self.hide(reason, brief)
                if self.is_listed:
                    self.lost.notify()
                elif not brief:
                    yield InstancesHidden()
            case WatchRestored():
                self._show()

    def _put(self, seen: ObjectSeen) -> Iterator[InstanceEvent]:
        """Keep an object. A fault that it causes must not end the watch: it would hide all other instances."""
        try:
            instance = read_instance(self.addon, _without_managers(seen.obj))
        except Exception:
            _log.exception("instance cannot be read: please report this", addon=self.addon.name, instance=str(seen.key))
            return
        known, self._instances[seen.key] = self._instances.get(seen.key), instance
        self._of_unit[instance.unit] = instance
        if known is None or known.uid != instance.uid:
            yield InstanceChanged(instance, is_new=True)
        elif _relevant(known) != _relevant(instance):
            yield InstanceChanged(instance, is_new=False)


class InstanceCaches(Mapping[str, InstanceCache]):
    """The instances of each offered addon, by its name; the registry puts them in and takes them out."""

    def __init__(self) -> None:
        self._caches: dict[str, InstanceCache] = {}

    def __getitem__(self, addon: str) -> InstanceCache:
        return self._caches[addon]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._caches))

    def __len__(self) -> int:
        return len(self._caches)

    def put(self, cache: InstanceCache) -> None:
        """An addon is offered from now on."""
        self._caches[cache.addon.name] = cache

    def drop(self, addon: str) -> None:
        """It is not any more."""
        self._caches.pop(addon, None)


def _relevant(instance: Instance) -> tuple[JSON, ...]:
    """What a run or a removal depends on: not the status, nor who manages which field."""
    metadata: Mapping[str, JSON] = instance.document["metadata"]
    asked = {name: value for name, value in instance.annotations.items() if name.startswith(_ANNOTATIONS)}
    return instance.document.get("spec"), metadata.get("labels") or {}, asked, instance.is_deleting


def _without_managers(document: JSON) -> JSON:
    """The object without `managedFields`, which are larger than the rest and not looked at."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    return {**document, "metadata": metadata}
