"""Watches what addons require, modules and objects, and runs the instances that wait for it when it changes.

    watch = RequirementWatch(registry, states, watches, background)
    await watch.follow_modules()        # each of them until cancelled
    await watch.follow_objects()

An object is watched only while an instance waits for it: a gate that is open is not closed by time, and there may be
many instances. The watch begins with a list, so that nothing is missed between a run's look and the watch. Without the
right to watch, an instance is tried again with the back-off of its run.
"""

import asyncio
from contextlib import aclosing
from functools import partial

from hookrunner.background import Background
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.instances.instance_registry import InstanceRegistry
from hookrunner.instances.triggers.gate_world import MISSING, problem_of_object, required_module
from hookrunner.kube.informer import ObjectState, Opener, follow_object
from hookrunner.model.addon_status import WakeUp
from hookrunner.model.addons import RequiredObject
from hookrunner.model.resources import Selection


class RequirementWatch:
    """The requirements of all addons of `registry`."""

    def __init__(self, registry: InstanceRegistry, states: UnitStates, watches: Opener, background: Background) -> None:
        self._registry = registry
        self._states = states
        self._watches = watches
        self._background = background
        self._waiting: dict[str, frozenset[RequiredObject]] = {}
        self._open: dict[RequiredObject, asyncio.Task[None]] = {}

    async def follow_modules(self) -> None:
        """Wake instances when a module that they wait for becomes ready, or another version of it does."""
        feed = self._states.unit_changes.subscribe()
        known = {state.name: required_module(state) for state in self._states}
        while True:
            for name in await feed.next_batch():
                state = self._states.find_module(name)
                if state is None or known[name] == (now := required_module(state)):
                    continue
                known[name] = now
                addons = self._registry.addons.values()
                waiting = {addon.name for addon in addons if name in dict(addon.requires.modules)}
                self._registry.wake(WakeUp.MODULES, waiting, "Module-Changed")

    async def follow_objects(self) -> None:
        """Watch the objects for which instances wait, as long as they do."""
        feed = self._states.unit_changes.subscribe()
        units = {*(live.unit for live in self._registry.live), *self._waiting}
        while True:
            for unit in units:
                self._note(unit)
            self._adjust()
            units = {*await feed.next_batch()}

    def _note(self, unit: str) -> None:
        """Remember for which objects an instance waits."""
        live = self._registry.get(unit)
        if live and live.waits_for(WakeUp.OBJECTS):
            self._waiting[unit] = frozenset(live.addon.requires.objects)
        else:
            self._waiting.pop(unit, None)

    def _adjust(self) -> None:
        """Open the watches that are needed and close the others."""
        wanted = frozenset[RequiredObject]().union(*self._waiting.values())
        for required in self._open.keys() - wanted:
            self._open.pop(required).cancel()
        for required in wanted - self._open.keys():
            self._open[required] = self._background.keep(f"required {required}", partial(self._follow, required))

    async def _follow(self, required: RequiredObject) -> None:
        """Wake the instances that wait for an object, whenever it is in another state."""
        selection = Selection(
            required.api_version, required.kind, required.namespace, fields=f"metadata.name={required.name}"
        )
        last: str | None = None
        async with aclosing(follow_object(self._watches, selection)) as states:
            async for state in states:
                if not isinstance(state, ObjectState):
                    continue
                problem = MISSING if state.obj is None else problem_of_object(state.obj)
                if problem != last and not (last is None and problem):  # the run that looked has seen the first problem
                    self._wake(required)
                last = problem

    def _wake(self, required: RequiredObject) -> None:
        waiting = {addon.name for addon in self._registry.addons.values() if required in addon.requires.objects}
        self._registry.wake(WakeUp.OBJECTS, waiting, "Required-Object-Changed")
