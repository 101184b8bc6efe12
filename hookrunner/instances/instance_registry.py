"""The units of instances: one for each object of an addon's kind, from its first watch event to its removal.

    registry = InstanceRegistry(caches, units, states, workshop)
    registry.offer(cache)                       # for each addon
    await registry.follow(watches, cache)       # until cancelled
    registry.withdraw(addon)                    # what its instances have installed stays

Instances of an addon have units from when all instances are known that their gates look at: before, none of them can be
judged. An instance that is deleted keeps its unit until everything is removed; only then may an object of the same name
have one. What happens meanwhile is in the cache, and looked at again at the end.
"""

import asyncio
from collections.abc import AsyncIterator, Container, Mapping
from contextlib import aclosing

from hookrunner import log
from hookrunner.addons.gates.gates import looks_at
from hookrunner.addons.status_conditions import unknown_fields_before, unmatched_before
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.convergence.units import NewUnit, Units
from hookrunner.errors import BadModule
from hookrunner.instances.instance_hooks import InstanceSubject
from hookrunner.instances.instance_informer import (
    InstanceCache,
    InstanceCaches,
    InstanceChanged,
    InstanceGone,
    InstancesHidden,
    InstancesListed,
)
from hookrunner.instances.units.live_unit import LiveUnit, Workshop, unit_of
from hookrunner.instances.units.related_instances import RelatedInstances
from hookrunner.instances.units.unit_endings import UnitEndings
from hookrunner.kube.informer import Opener
from hookrunner.model.addons import Addon, Instance, reference_of
from hookrunner.model.release_state import ReleaseState
from hookrunner.waits import Notifier

_SOON = 2.0
"""Seconds after a change of an instance until its status says that a run or a removal is under way, if it still is:
longer than most runs take, also in a start with many instances."""

_log = log.get(__name__)


class InstanceRegistry:
    """Keeps the units of all instances. `caches` are the instances of each offered addon, by name; of those addons that
    are `decided` all instances are known, and `judged` wakes those that wait for others. `related` runs the instances
    to which another one matters."""

    def __init__(self, caches: InstanceCaches, units: Units, states: UnitStates, workshop: Workshop) -> None:
        self._caches = caches
        self._units = units
        self._tasks = units.tasks
        self._notices = states.notices
        self._changes = states.unit_changes
        self._workshop = workshop
        self._live: dict[str, LiveUnit] = {}
        self._endings = UnitEndings(self._live, units, states, workshop, self._note_end)
        self.related = RelatedInstances(self._live, self._endings, units.tasks)
        self.decided: set[str] = set()
        self.judged = Notifier()

    @property
    def live(self) -> tuple[LiveUnit, ...]:
        """All units, those that are being deleted too."""
        return tuple(self._live.values())

    def get(self, unit: str) -> LiveUnit | None:
        """The unit of this name, or None."""
        return self._live.get(unit)

    async def changes(self) -> AsyncIterator[Mapping[str, LiveUnit | None]]:
        """Yield which units have changed, at first all instances, as they are now: None for those that have ended, and
        for modules."""
        feed = self._changes.subscribe()
        yield dict(self._live)
        while True:
            yield {unit: self._live.get(unit) for unit in await feed.next_batch()}

    def offer(self, cache: InstanceCache) -> None:
        """An addon is offered from now on: its instances have units as soon as all are known that its gates look at."""
        self._caches.put(cache)
        self._relate()
        self.related.wake_dependents(cache.addon, "Addon-Offered")

    def withdraw(self, addon: str) -> None:
        """An addon is not offered any more, or in another state: its units end, and what they have installed stays. A
        deletion that is under way goes on: its user has asked for it before."""
        self._caches.drop(addon)
        self.decided.discard(addon)
        self.judged.notify()
        self._relate()
        for live in self.live:
            if live.addon.name == addon:
                self._endings.leave(live)
        self._judge()

    def _relate(self) -> None:
        self.related.relate({name: cache.addon for name, cache in self._caches.items()})

    async def follow(self, watches: Opener, cache: InstanceCache) -> None:
        """Take in what happens to the objects of an addon, whose kind is defined, from the first list on; until
        cancelled, whatever happens to the API server or to the definition."""
        addon = cache.addon
        async with aclosing(cache.follow(watches)) as events:
            async for event in events:
                match event:
                    case InstanceChanged(instance) if addon.name in self.decided:
                        self._look_at(addon, instance)
                    case InstanceGone(instance):
                        self._note_deletion(addon, instance)
                    case InstancesListed() | InstancesHidden():
                        self.decide(addon)

    def decide(self, addon: Addon) -> None:
        """The instances of an addon are listed now, or cannot be: begin with those whose gates have waited for that."""
        self._judge()
        self.related.wake_related(addon, "Instances-Listed")

    def _judge(self) -> None:
        """Begin with the addons of which all is known now that their gates look at."""
        for name in self._caches.keys() - self.decided:
            if self._can_be_judged(self._caches[name]):
                self.decided.add(name)
                self.judged.notify()
                for instance in self._caches[name]:
                    self._look_at(self.related.addons[name], instance)

    async def follow_suspensions(self) -> None:
        """Run instances that had to give way to one that is suspended now and has installed nothing, until
        cancelled."""
        idle = set[str]()
        async for changed in self.changes():
            for unit, live in changed.items():
                if live is None or not live.is_idle:
                    idle.discard(unit)
                elif unit not in idle:
                    idle.add(unit)
                    self.related.wake_rivals(live.addon, "Instance-Suspended")

    async def follow_replacements(self) -> None:
        """Remove what instances have installed whose place another one has taken, or that were to take the place of
        one that stays, until cancelled. Their objects stay, and have units again afterwards."""
        async for changed in self.changes():
            for live in filter(None, changed.values()):
                if live.is_to_go:
                    self._endings.retire(live)

    def _note_deletion(self, addon: Addon, instance: Instance) -> None:
        """An object does not exist any more. The end of its unit runs the instances that had to give way. If it has no
        unit, they are run now: a finalizer of another program may have kept the object after its unit had ended."""
        if live := self._live.get(instance.unit):
            self._endings.delete(live, "the object does not exist any more")
        else:
            self.related.wake_related(addon, "Instance-Deleted")

    def ask_sources(self, addons: Container[str], cause: str) -> None:
        """Run the instances of these addons, which ask their sources again."""
        for live in self.live:
            if live.addon.name in addons:
                live.planner.packages.expire()
                self._tasks.request(live.state, cause)

    def _can_be_judged(self, cache: InstanceCache) -> bool:
        others = [self._caches[name] for name in looks_at(cache.addon, self.related.addons)]
        return cache.is_listed and all(other.is_known for other in others)

    def _look_at(self, addon: Addon, instance: Instance) -> None:
        """An instance is known, or has changed. A fault that it causes must not keep others from being looked at: their
        authors are other people."""
        before = self._live.get(instance.unit)
        names_another = before is not None and before.instance.replaces != instance.replaces
        try:
            self._take_up(addon, instance)
            if names_another:
                self.related.wake_rivals(addon, "Instance-Changed")
        except Exception:
            _log.exception("instance is left as it is: please report this", instance=instance.unit)

    def _take_up(self, addon: Addon, instance: Instance) -> None:
        """Give it a unit, request a run of that, or end it, as the object is now."""
        live = self._live.get(instance.unit)
        is_another = live is not None and live.instance.uid != instance.uid
        if live and not (is_another and instance.unit in self._endings):
            live.planner.update(instance)
        if instance.unit in self._endings:
            if live:
                self._units.hurry_deletion(live.state, "Instance-Changed")
            return
        asyncio.get_running_loop().call_later(_SOON, self._changes.note, instance.unit)
        if instance.is_deleting:
            live = live or self._begin(addon, instance)
            if live:
                self._endings.delete(live, "deleted by its user")
        elif instance.is_unmanaged:
            self._leave(addon, live)
        elif live is None:
            live = self._begin(addon, instance)
            if live:
                self._units.start(live.state, "Instance-Added")
                self.related.wake_younger(live)
        else:
            if is_another:
                self._notices.begin(instance.unit, reference_of(addon, instance))
            self._tasks.request(live.state, "Instance-Changed")

    def _begin(self, addon: Addon, instance: Instance) -> LiveUnit | None:
        """Add the unit of an instance; None if it cannot have one."""
        cache = self._caches[addon.name]
        planner = self._workshop.make_planner(cache, instance)
        subject = InstanceSubject(planner, self._changes.note)
        known = ReleaseState(unmatched_before(instance.status), unknown_fields_before(instance.status))
        unit, reference = unit_of(addon, instance), reference_of(addon, instance)
        new = NewUnit(unit, planner, subject, known, reference, cache.values.schemas)
        try:
            state = self._units.add(new)
        except BadModule as error:
            _log.error("instance cannot be reconciled", instance=instance.unit, error=error)
            return None
        live = self._live[instance.unit] = LiveUnit(addon, state, planner, subject)
        return live

    def _leave(self, addon: Addon, live: LiveUnit | None) -> None:
        """Its user manages it from now on."""
        if live:
            self._endings.leave(live)
        else:
            self.related.wake_rivals(addon, "Instance-Unmanaged")

    def _note_end(self, live: LiveUnit, deleted: str) -> None:
        """A unit has ended; `deleted` is the UID of its object if that is gone."""
        self._live.pop(live.unit, None)
        live.planner.packages.close()
        self._workshop.on_end(live.unit)
        self._changes.note(live.unit)
        self.related.wake_rivals(live.addon, "Instance-Removed")
        cache = self._caches[live.addon.name] if live.addon.name in self.decided else None
        present = cache.get(live.unit) if cache else None
        if cache and present and present.uid != deleted:  # the watch may still have to tell of the deletion
            self._look_at(cache.addon, present)
