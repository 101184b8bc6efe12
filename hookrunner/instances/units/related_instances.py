"""Runs the instances to which another one matters: which keep each other out, wait for each other, or take the place of
another one.

    related = RelatedInstances(live, ending, tasks)
    related.relate({"coredns": addon, …})               # after each change of the offer
    related.wake_dependents(addon, "Addon-Ready")
"""

from collections.abc import Container, Mapping

from hookrunner.addons.gates.gate_world import rivals
from hookrunner.addons.gates.gates import addons_requiring
from hookrunner.convergence.runs.unit_tasks import UnitTasks
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.model.addon_status import WakeUp
from hookrunner.model.addons import Addon


class RelatedInstances:
    """Of the units in `live`, by name; those in `ending` are about to end. `addons` are the offered ones, by name."""

    def __init__(self, live: Mapping[str, LiveUnit], ending: Container[str], tasks: UnitTasks) -> None:
        self.addons: Mapping[str, Addon] = {}
        self._rivals: Mapping[str, frozenset[str]] = {}
        self._dependents: Mapping[str, frozenset[str]] = {}
        self._live = live
        self._ending = ending
        self._tasks = tasks

    def relate(self, addons: Mapping[str, Addon]) -> None:
        """Take in which addons are offered: they keep each other out or wait for each other."""
        self.addons = addons
        self._rivals = {name: rivals(addon, addons) for name, addon in addons.items()}
        self._dependents = {name: addons_requiring(name, addons.values()) for name in addons}

    def wake(self, change: WakeUp, addons: Container[str], cause: str) -> None:
        """Run the instances of these addons that wait for such a change, and those of which a run may have looked
        before it."""
        for live in self._units:
            if live.addon.name in addons and (live.waits_for(change) or live.state.busy_since is not None):
                self._tasks.request(live.state, cause)

    def wake_rivals(self, addon: Addon, cause: str) -> None:
        """Run instances to which one of this addon is preferred: there may be no such one now."""
        self.wake(WakeUp.INSTANCES, self._rivals.get(addon.name, ()), cause)

    def wake_dependents(self, addon: Addon, cause: str) -> None:
        """Run instances that wait for a ready one of this addon."""
        self.wake(WakeUp.ADDONS, self._dependents.get(addon.name, ()), cause)

    def wake_related(self, addon: Addon, cause: str) -> None:
        """Run instances for which an instance of this addon may stand in the way, or be missing, no more."""
        self.wake_rivals(addon, cause)
        self.wake_dependents(addon, cause)

    def wake_predecessors(self, successor: LiveUnit) -> None:
        """Run the instances whose place this one, which works, may take."""
        names = self._rivals.get(successor.addon.name, frozenset()) - {successor.addon.name}
        for live in self._units:
            is_installed = live.planner.installed or live.state.ready or not live.planner.has_read_head
            if live.addon.name in names and is_installed and live.unit not in self._ending:
                self._tasks.request(live.state, "Successor-Ready")

    def wake_younger(self, added: LiveUnit) -> None:
        """Run the instances that have to give way to this one. Nearly always it is the youngest, but a user may have
        looked after an older one."""
        age, names = added.instance.age_key, self._rivals[added.addon.name]
        for live in self._units if names else ():
            if live.addon.name in names and live.instance.age_key > age:
                self._tasks.request(live.state, "Older-Instance")

    @property
    def _units(self) -> tuple[LiveUnit, ...]:
        return tuple(self._live.values())
