"""The states of all units. A reader finds a unit by its name, and hears of changes by a feed.

    feed = states.unit_changes.subscribe()              # then look at all units once
    states.unit_changes.note("dns.default.x")
    for unit in await feed.next_batch(): ...            # those that have changed, and not all of several hundred

A reader gets each name once, however often the unit has changed since it looked last, so it has to read what holds now.
A name means only that something may be new. The unit may not exist any more when the reader comes to it.
"""

from collections.abc import Mapping, Sequence
from weakref import WeakSet

from hookrunner.convergence.events import Notices
from hookrunner.errors import BadModule
from hookrunner.model.modules import Module
from hookrunner.model.release_state import ReleaseState
from hookrunner.model.unit_state import ModuleState, UnitState
from hookrunner.model.units import Unit
from hookrunner.waits import Batches, Notifier

CALM = 0.25
"""Seconds without a change until it is calm: what is not urgent holds up no runs then."""

MOST_PAUSES = 12
"""So often that time may begin again: what is not urgent waits three seconds at most."""


class UnitChanges:
    """Tells every reader which units have changed. A feed ends with its last reference."""

    def __init__(self) -> None:
        self._feeds = WeakSet[Batches[str]]()

    def subscribe(self) -> Batches[str]:
        """The changes from now on, for one reader."""
        feed = Batches[str]()
        self._feeds.add(feed)
        return feed

    def note(self, unit: str) -> None:
        """A unit has changed, or what is known of it."""
        for feed in self._feeds:
            feed.put(unit, unit)


class UnitStates:
    """`modules` in the order of their weights, `by_key` the same by their sections of values, and beside them the
    instances of addons; names find both. `changed` wakes those that wait for a change of one of them, `unit_changes`
    says of which; `notices` has what users should hear."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.changed = Notifier()
        self.unit_changes = UnitChanges()
        self.notices = Notices()
        self.modules = tuple(map(ModuleState, modules))
        self._states: Mapping[str, ModuleState] = {state.name: state for state in self.modules}
        self.by_key = {state.unit.key: state for state in self.modules}
        self._instances: dict[str, UnitState] = {}

    def __getitem__(self, name: str) -> UnitState:
        return self._states[name] if name in self._states else self._instances[name]

    def get(self, name: str) -> UnitState | None:
        """The module or the instance of that name, else None."""
        return self._states.get(name) or self._instances.get(name)

    def find_module(self, name: str) -> ModuleState | None:
        """The module of that name, else None."""
        return self._states.get(name)

    def module(self, name: str) -> ModuleState:
        """The module of that name. Raises KeyError."""
        return self._states[name]

    def add(self, unit: Unit, release: ReleaseState | None = None) -> UnitState:
        """Add a unit that comes while others run. Raises BadModule if its name is taken."""
        if unit.name in self._states or unit.name in self._instances:
            raise BadModule(f"{unit.name} is the name of two units; rename the module or the instance")
        state = self._instances[unit.name] = UnitState(unit, release)
        return state

    def note(self, unit: str) -> None:
        """A unit is in another state."""
        self.unit_changes.note(unit)
        self.changed.notify()

    def remove(self, state: UnitState) -> None:
        """Remove an instance."""
        del self._instances[state.name]
        self.changed.notify()

    @property
    def instances(self) -> tuple[UnitState, ...]:
        """The instances of addons at this moment."""
        return tuple(self._instances.values())

    @property
    def units(self) -> tuple[UnitState, ...]:
        """All modules, then all instances of addons."""
        return *self.modules, *self._instances.values()

    @property
    def enabled(self) -> list[ModuleState]:
        """The modules that should run."""
        return [state for state in self.modules if state.on]
