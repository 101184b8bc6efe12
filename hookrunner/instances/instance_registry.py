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
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping
from contextlib import aclosing
from functools import partial

from hookrunner import log
from hookrunner.addons.gates.gate_world import rivals
from hookrunner.addons.gates.gates import addons_requiring, looks_at
from hookrunner.addons.status_conditions import obstacle_of_run, unknown_fields_before, unmatched_before
from hookrunner.background import Background
from hookrunner.convergence.events import Notice
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.convergence.units import NewUnit, Units
from hookrunner.errors import BadModule, KubeError
from hookrunner.instances.instance_hooks import InstanceSubject
from hookrunner.instances.instance_informer import (
    InstanceCache,
    InstanceCaches,
    InstanceChanged,
    InstanceGone,
    InstancesHidden,
    InstancesListed,
)
from hookrunner.instances.instance_planner import InstancePlanner
from hookrunner.instances.removal import remove_finalizer
from hookrunner.kube.back_off import retry_forever
from hookrunner.kube.client import Client
from hookrunner.kube.informer import Opener
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, WakeUp
from hookrunner.model.addons import Addon, Instance, reference_of
from hookrunner.model.release_state import ReleaseState
from hookrunner.model.unit_state import UnitState
from hookrunner.model.units import INSTANCE, Unit
from hookrunner.waits import Notifier
from kubetypes.light_dataclasses import dataclass

_SOON = 2.0
"""Seconds after a change of an instance until its status says that a run or a removal is under way, if it still is:
longer than most runs take, also in a start with many instances."""

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class LiveUnit:
    """An instance with its unit."""

    addon: Addon
    state: UnitState
    planner: InstancePlanner
    subject: InstanceSubject

    @property
    def unit(self) -> str:
        """The unit's name."""
        return self.state.name

    @property
    def instance(self) -> Instance:
        """The instance as it is now."""
        return self.planner.instance

    @property
    def obstacle(self) -> AddonObstacle | None:
        """Why its last attempt failed, None if it did not."""
        return obstacle_of_run(self.state.failure) if self.state.failure else None

    @property
    def is_idle(self) -> bool:
        """Has its last run found it suspended, without anything installed? Then it keeps no other one out."""
        is_suspended = self.obstacle is not None and self.obstacle.phase is AddonPhase.SUSPENDED
        return is_suspended and self.planner.has_read_head and self.planner.installed is None

    @property
    def is_to_go(self) -> bool:
        """Has its last run found that what it has installed is to be removed, though its object stays?"""
        removes = self.obstacle is not None and self.obstacle.removes
        return removes and self.planner.has_read_head and self.planner.installed is not None

    def waits_for(self, change: WakeUp) -> bool:
        """Has a gate closed that such a change may open, or does its status tell of others?"""
        tells = change is WakeUp.INSTANCES and bool(self.instance.replaces)
        return tells or (self.obstacle is not None and change in self.obstacle.wakes_up)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What the registry makes units with: planners, and tasks for deletions. `on_end` takes the names of units that
    end."""

    make_planner: Callable[[InstanceCache, Instance], InstancePlanner]
    client: Client
    background: Background
    on_end: Callable[[str], None]


class InstanceRegistry:
    """Keeps the units of all instances. `caches` are the instances of each offered addon, by name, `addons` these
    addons; of those that are `decided` all instances are known, and `judged` wakes those that wait for others."""

    def __init__(self, caches: InstanceCaches, units: Units, states: UnitStates, workshop: Workshop) -> None:
        self.addons: Mapping[str, Addon] = {}
        self._rivals: Mapping[str, frozenset[str]] = {}
        self._dependents: Mapping[str, frozenset[str]] = {}
        self._caches = caches
        self._units = units
        self._tasks = units.tasks
        self._notices = states.notices
        self._changes = states.unit_changes
        self._workshop = workshop
        self._live: dict[str, LiveUnit] = {}
        self._ending: set[str] = set()
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
        self.wake_dependents(cache.addon, "Addon-Offered")

    def withdraw(self, addon: str) -> None:
        """An addon is not offered any more, or in another state: its units end, and what they have installed stays. A
        deletion that is under way goes on: its user has asked for it before."""
        self._caches.drop(addon)
        self.decided.discard(addon)
        self.judged.notify()
        self._relate()
        for live in self.live:
            if live.addon.name == addon and live.unit not in self._ending:
                self._begin_task(f"leaving {live.unit}", live, partial(self._remove, live))
        self._judge()

    def _relate(self) -> None:
        """Which addons keep each other out or wait for each other."""
        self.addons = addons = {name: cache.addon for name, cache in self._caches.items()}
        self._rivals = {name: rivals(addon, addons) for name, addon in addons.items()}
        self._dependents = {name: addons_requiring(name, addons.values()) for name in addons}

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
        self.wake_rivals(addon, "Instances-Listed")
        self.wake_dependents(addon, "Instances-Listed")

    def _judge(self) -> None:
        """Begin with the addons of which all is known now that their gates look at."""
        for name in self._caches.keys() - self.decided:
            if self._can_be_judged(self._caches[name]):
                self.decided.add(name)
                self.judged.notify()
                for instance in self._caches[name]:
                    self._look_at(self.addons[name], instance)

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
                    self.wake_rivals(live.addon, "Instance-Suspended")

    async def follow_replacements(self) -> None:
        """Remove what instances have installed whose place another one has taken, or that were to take the place of
        one that stays, until cancelled. Their objects stay, and have units again afterwards."""
        async for changed in self.changes():
            for live in filter(None, changed.values()):
                if live.is_to_go and live.unit not in self._ending:
                    self._begin_task(f"replacement of {live.unit}", live, partial(self._retire, live))

    def wake(self, change: WakeUp, addons: Container[str], cause: str) -> None:
        """Run the instances of these addons that wait for such a change, and those of which a run may have looked
        before it."""
        for live in self.live:
            if live.addon.name in addons and (live.waits_for(change) or live.state.busy_since is not None):
                self._tasks.request(live.state, cause)

    def _note_deletion(self, addon: Addon, instance: Instance) -> None:
        """An object does not exist any more. The end of its unit runs the instances that had to give way. If it has no
        unit, they are run now: a finalizer of another program may have kept the object after its unit had ended."""
        if live := self._live.get(instance.unit):
            self._end(live, "the object does not exist any more")
        else:
            self.wake_rivals(addon, "Instance-Deleted")
            self.wake_dependents(addon, "Instance-Deleted")

    def wake_rivals(self, addon: Addon, cause: str) -> None:
        """Run instances to which one of this addon is preferred: there may be no such one now."""
        self.wake(WakeUp.INSTANCES, self._rivals.get(addon.name, ()), cause)

    def wake_predecessors(self, successor: LiveUnit) -> None:
        """Run the instances whose place this one, which works, may take."""
        names = self._rivals.get(successor.addon.name, frozenset()) - {successor.addon.name}
        for live in self.live if successor.instance.replaces else ():
            is_installed = live.planner.installed or live.state.ready or not live.planner.has_read_head
            if live.addon.name in names and is_installed and live.unit not in self._ending:
                self._tasks.request(live.state, "Successor-Ready")

    def wake_dependents(self, addon: Addon, cause: str) -> None:
        """Run instances that wait for a ready one of this addon."""
        self.wake(WakeUp.ADDONS, self._dependents.get(addon.name, ()), cause)

    def ask_sources(self, addons: Container[str], cause: str) -> None:
        """Run the instances of these addons, which ask their sources again."""
        for live in self.live:
            if live.addon.name in addons:
                live.planner.packages.expire()
                self._tasks.request(live.state, cause)

    def _can_be_judged(self, cache: InstanceCache) -> bool:
        others = [self._caches[name] for name in looks_at(cache.addon, self.addons)]
        return cache.is_listed and all(other.is_known for other in others)

    def _look_at(self, addon: Addon, instance: Instance) -> None:
        """An instance is known, or has changed. A fault that it causes must not keep others from being looked at: their
        authors are other people."""
        before = self._live.get(instance.unit)
        names_another = before is not None and before.instance.replaces != instance.replaces
        try:
            self._take_up(addon, instance)
            if names_another:
                self.wake_rivals(addon, "Instance-Changed")
        except Exception:
            _log.exception("instance is left as it is: please report this", instance=instance.unit)

    def _take_up(self, addon: Addon, instance: Instance) -> None:
        """Give it a unit, request a run of that, or end it, as the object is now."""
        live = self._live.get(instance.unit)
        is_another = live is not None and live.instance.uid != instance.uid
        if live and not (is_another and instance.unit in self._ending):
            live.planner.update(instance)
        if instance.unit in self._ending:
            if live:
                self._units.hurry_deletion(live.state, "Instance-Changed")
            return
        asyncio.get_running_loop().call_later(_SOON, self._changes.note, instance.unit)
        if instance.is_deleting:
            live = live or self._begin(addon, instance)
            if live:
                self._end(live, "deleted by its user")
        elif instance.is_unmanaged:
            self._leave(addon, live)
        elif live is None:
            live = self._begin(addon, instance)
            if live:
                self._units.start(live.state, "Instance-Added")
                self._wake_younger(live)
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

    def _wake_younger(self, added: LiveUnit) -> None:
        """Run the instances that have to give way to this one. Nearly always it is the youngest, but a user may have
        looked after an older one."""
        age, names = added.instance.age_key, self._rivals[added.addon.name]
        for live in self.live if names else ():
            if live.addon.name in names and live.instance.age_key > age:
                self._tasks.request(live.state, "Older-Instance")

    def _leave(self, addon: Addon, live: LiveUnit | None) -> None:
        """Its user manages it from now on."""
        if live:
            self._begin_task(f"leaving {live.unit}", live, partial(self._remove, live))
        else:
            self.wake_rivals(addon, "Instance-Unmanaged")

    def _end(self, live: LiveUnit, cause: str) -> None:
        if live.unit not in self._ending:
            self._begin_task(f"deletion of {live.unit}", live, partial(self._delete, live, cause))

    def _begin_task(self, task: str, live: LiveUnit, run: Callable[[], Awaitable[str]]) -> None:
        self._ending.add(live.unit)
        self._workshop.background.keep(task, partial(self._finish, live, run), ends=True)

    async def _finish(self, live: LiveUnit, run: Callable[[], Awaitable[str]]) -> None:
        """End a unit; `run` does what comes before and returns the UID of an object that is gone then."""
        deleted = await run() if live.unit in self._live else ""
        self._live.pop(live.unit, None)
        live.planner.packages.close()
        self._workshop.on_end(live.unit)
        self._ending.discard(live.unit)
        self._changes.note(live.unit)
        self.wake_rivals(live.addon, "Instance-Removed")
        cache = self._caches[live.addon.name] if live.addon.name in self.decided else None
        present = cache.get(live.unit) if cache else None
        if cache and present and present.uid != deleted:  # the watch may still have to tell of the deletion
            self._look_at(cache.addon, present)

    async def _delete(self, live: LiveUnit, cause: str) -> str:
        """Delete what it has installed, let its object go, and remove the unit; the UID of the object."""
        self._notices.publish(Notice(live.unit, "Deleting", cause, bad=False))
        await self._units.delete(live.state, cause)
        await self._let_go(live)
        await self._units.remove(live.state)
        return live.instance.uid

    async def _retire(self, live: LiveUnit) -> str:
        """Delete what it has installed, and remove the unit; empty, since the object stays."""
        cause = live.obstacle.message if live.obstacle else ""
        self._notices.publish(Notice(live.unit, "Deleting", cause, bad=False))
        await self._units.delete(live.state, cause)
        return await self._remove(live)

    async def _remove(self, live: LiveUnit) -> str:
        """Remove the unit and leave what it has installed; empty, since the object stays."""
        await self._units.remove(live.state)
        return ""

    async def _let_go(self, live: LiveUnit) -> None:
        """Remove the finalizer, however long that takes."""

        def report(error: Exception) -> None:
            _log.warn("finalizer cannot be removed", instance=live.unit, error=error)
            live.state.fail(str(error), error)
            self._changes.note(live.unit)
            self._notices.publish(Notice(live.unit, "DeleteFailed", str(error)))

        async def remove() -> None:
            await remove_finalizer(self._workshop.client, live.addon, live.instance)

        await retry_forever(remove, (KubeError,), report, self._workshop.client.outage.rest)


def unit_of(addon: Addon, instance: Instance) -> Unit:
    """An instance as convergence reconciles it: with the files of its addon, and values of its own."""
    return Unit(
        instance.unit,
        addon.key,
        instance.unit,
        addon.directory,
        INSTANCE,
        drift=addon.drift,
        hooks_of=addon.name,
        stamp=addon.stamp,
        labels=instance.labels,
    )
