"""Watches what addons require, modules and objects, and runs the instances that wait for it when it changes.

    watch = RequirementWatch(registry, states, object_watches)
    await watch.follow_units()          # until cancelled, as the next one
    await watch.follow_facts()

An object is watched only while an instance waits for it: a gate that is open is not closed by time, and there may be
many instances. The watch begins with a list, so that nothing is missed between a run's look and the watch. Without the
right to watch, an instance is tried again with the back-off of its run.
"""

from contextlib import aclosing

from hookrunner.convergence.unit_states import UnitStates
from hookrunner.instances.instance_registry import InstanceRegistry
from hookrunner.instances.triggers.gate_world import MISSING, problem_of_object, required_module
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.kube.informer import Added, Deleted, Fact, Modified
from hookrunner.model.addon_status import WakeUp
from hookrunner.model.addons import RequiredObject
from hookrunner.model.events import Synced
from hookrunner.model.resources import Selection
from hookrunner.releases.object_watches import ObjectWatches


class RequirementWatch:
    """The requirements of all addons of `registry`."""

    def __init__(self, registry: InstanceRegistry, states: UnitStates, watches: ObjectWatches) -> None:
        self._registry = registry
        self._states = states
        self._objects = watches.reader(whole=True)
        self._waiting: dict[str, frozenset[RequiredObject]] = {}
        self._watched: set[Selection] = set()
        self._problems: dict[Selection, str] = {}

    async def follow_units(self) -> None:
        """Watch the objects for which instances wait, while they do; wake those that wait for a module when it becomes
        ready, or another version of it does."""
        modules = {state.name: required_module(state) for state in self._states.modules}
        self._waiting = {}
        async for changed in self._registry.changes():
            for unit, live in changed.items():
                self._note_waiting(unit, live)
            for module in filter(None, map(self._states.find_module, changed)):
                before, modules[module.name] = modules[module.name], required_module(module)
                if modules[module.name] != before:
                    self._wake_for_module(module.name)
            self._adjust()

    def _note_waiting(self, unit: str, live: LiveUnit | None) -> None:
        """Remember for which objects an instance waits; not for a module, or an instance that has ended."""
        self._waiting.pop(unit, None)
        if live and live.waits_for(WakeUp.OBJECTS):
            self._waiting[unit] = frozenset(live.addon.requires.objects)

    def _wake_for_module(self, name: str) -> None:
        addons = self._registry.related.addons.values()
        waiting = {addon.name for addon in addons if name in dict(addon.requires.modules)}
        self._registry.related.wake(WakeUp.MODULES, waiting, "Module-Changed")

    def _adjust(self) -> None:
        """Watch the objects for which an instance waits and no others."""
        wanted = {_selection(required) for required in frozenset[RequiredObject]().union(*self._waiting.values())}
        if wanted != self._watched:
            self._watched = wanted
            self._problems = {selection: text for selection, text in self._problems.items() if selection in wanted}
            self._objects.need(wanted)

    async def follow_facts(self) -> None:
        """Wake the instances that wait for an object when it is in another state, until cancelled."""
        async with aclosing(self._objects.facts()) as batches:
            async for selection, facts in batches:
                for fact in facts:
                    self._take_in(selection, self._problem(selection, fact))

    def _problem(self, selection: Selection, fact: Fact) -> str | None:
        """What is wrong with a required object by a fact, empty if it is ready; None if the fact does not say so."""
        match fact:
            case Added(seen) | Modified(seen):
                return problem_of_object(seen.obj)
            case Deleted():
                return MISSING
            case Synced() if not self._objects.present(selection).has(selection.namespace, _name(selection)):
                return MISSING
        return None

    def _take_in(self, selection: Selection, problem: str | None) -> None:
        if problem is None:
            return
        last, self._problems[selection] = self._problems.get(selection), problem
        if problem != last and not (last is None and problem):  # the run that looked has seen the first problem
            addons = self._registry.related.addons.values()
            waiting = {addon.name for addon in addons if selection in map(_selection, addon.requires.objects)}
            self._registry.related.wake(WakeUp.OBJECTS, waiting, "Required-Object-Changed")


_BY_NAME = "metadata.name="


def _selection(required: RequiredObject) -> Selection:
    return Selection(required.api_version, required.kind, required.namespace, fields=f"{_BY_NAME}{required.name}")


def _name(selection: Selection) -> str:
    return selection.fields.removeprefix(_BY_NAME)
