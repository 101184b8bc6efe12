"""Whose turn it is: which modules may run now, in a round and between rounds. `modules/order.py` says what waits for
what.

A module waits for gates, and for the modules that it requires, until they are ready in this round. It waits for lower
weights until they are ready, have failed, or have had their time (`patience`). A module that was ready before waits
only for lower weights that never were: the others are installed and are only brought up to date, side by side. Users of
addon-operator are used to a chain: under `strict` each module waits for all lower weights, also for those that have
failed, but for none longer than patience lasts.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from hookrunner.convergence.seams import FirstRuns
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.model.unit_state import ModuleState, UnitState
from hookrunner.modules.order import ModuleOrder
from kubetypes.light_dataclasses import dataclass
from kubetypes.timers import timeout_at


@dataclass(frozen=True, slots=True)
class TurnRules:
    """How long others wait for a module (seconds), and whether they wait for all lower weights in every round."""

    patience: float
    strict: bool = False


@dataclass(frozen=True, slots=True)
class _Below:
    """What modules of a weight still wait for, each from the nearest lower weight that has such modules: gates, modules
    of the chain, and those of the chain that have never been ready."""

    gates: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


class Turns:
    """Whose turn it is among the enabled modules (by name, in their order) and the instances of addons that are on, at
    one time (`now`, monotonic). Instances wait for none, and none waits for them. Pure."""

    def __init__(
        self,
        enabled: Mapping[str, ModuleState],
        order: ModuleOrder,
        rules: TurnRules,
        now: float,
        instances: Sequence[UnitState] = (),
    ) -> None:
        self.enabled = enabled
        self._instances = instances
        self._order = order
        self._rules = rules
        self._now = now
        self._below = self._find_below()

    @property
    def next(self) -> list[UnitState]:
        """Those whose turn has come now."""
        modules = [state for name, state in self.enabled.items() if not state.turn and not self.awaited(name)]
        return [*modules, *(state for state in self._instances if not state.turn)]

    @property
    def is_over(self) -> bool:
        """Has every unit had its turn, as far as it can? Those that are left wait for one that will not become ready
        without help."""
        modules = any(state.turn and not self._is_past(state) for state in self.enabled.values())
        at_work = modules or any(state.turn and not self._is_at_rest(state) for state in self._instances)
        return not at_work and not self.next

    @property
    def deadline(self) -> float | None:
        """When patience with one of them ends, None if it has not begun with any."""
        owed = (since for state in self._all if (since := state.owed_since) is not None and state.turn)
        return min((since + self._rules.patience for since in owed if not self._is_late(since)), default=None)

    def awaited(self, name: str) -> tuple[str, ...]:
        """The modules that it still has to wait for; of several lower weights only the nearest."""
        if (required := self._order.required[name]) is not None:
            return tuple(other for other in required if not self._is_ready(other))
        below = self._below[self._order.modules[name].weight]
        proven = self.enabled[name].last_success and not self._rules.strict
        return (*below.gates, *(below.new if proven else below.chain))

    def overtakers(self, name: str) -> list[ModuleState]:
        """Those that wait for the weight of this module, have had their turn, and last ran before it was ready."""
        if self._order.required[name] is not None:
            return []
        module, ready_at = self._order.modules[name], self.enabled[name].ready_at
        return [
            state
            for other, state in self.enabled.items()
            if state.turn and state.module.weight > module.weight and state.began_at < ready_at
            if self._order.required[other] is None
        ]

    def is_overtaken(self, state: UnitState) -> bool:
        """Has it owed a run or a deletion for longer than others wait?"""
        return state.owed_since is not None and self._is_late(state.owed_since)

    def _is_at_rest(self, state: UnitState) -> bool:
        """Is this instance installed or parked, or has it had its time?"""
        return state.ready or state.set_aside or self.is_overtaken(state)

    @property
    def _all(self) -> list[UnitState]:
        return [*self.enabled.values(), *self._instances]

    def _find_below(self) -> dict[int, _Below]:
        by_weight, below = dict[int, _Below](), _Below()
        for step in self._order.steps:
            by_weight[step.weight] = below
            gates = tuple(name for name in step.gates if not self._is_ready(name))
            chain = tuple(name for name in step.chain if not self._is_past(self.enabled[name]))
            new = tuple(name for name in chain if not self.enabled[name].last_success)
            below = _Below(gates or below.gates, chain or below.chain, new or below.new)
        return by_weight

    def _is_ready(self, name: str) -> bool:
        state = self.enabled[name]
        return state.turn and state.ready

    def _is_past(self, state: UnitState) -> bool:
        """Does its weight hold up no other module any more?"""
        failed = state.set_aside and not self._rules.strict
        return state.turn and (state.ready or failed or self.is_overtaken(state))

    def _is_late(self, since: float) -> bool:
        return self._now >= since + self._rules.patience


class TurnDispatcher:
    """Requests a run of each module when its turn has come. All modules have a turn in a round (`open`); between rounds
    those have another one that were given it (`give`)."""

    def __init__(self, states: UnitStates, tasks: FirstRuns, rules: TurnRules) -> None:
        self._states = states
        self._tasks = tasks
        self._rules = rules
        self._order = ModuleOrder(())
        self._given: dict[str, str] = {}
        self._is_open, self._cause = False, ""
        self._new: set[str] = set()

    def close(self) -> None:
        """A round has begun: until it comes to the runs of modules, only those run that were given a turn before."""
        self._is_open = False

    def open(self, cause: str) -> None:
        """The round has come to the runs of modules: each of them waits for its turn."""
        for state in self._states.modules:
            state.await_turn()
        self._given.clear()
        self._is_open, self._cause = True, cause
        self._request_due()
        self._states.changed.notify()  # the end of someone's patience is another one now

    def give(self, states: Iterable[UnitState], cause: str) -> None:
        """Give modules another turn. Those run now that wait for no other one; `dispatch` runs the rest when its turn
        comes. A module whose turn is still to come will find everything as it is then."""
        self._await_turns(states, cause)
        self._request_due()
        self._states.changed.notify()

    async def dispatch(self) -> None:
        """Run modules as their turns come, in a round, or later because another one was repaired; until cancelled."""
        while True:
            due, turns = self._request_due()
            if not due:  # else others may follow at once: patience with those may be over already
                await self._wait_for_change(turns)

    def _await_turns(self, states: Iterable[UnitState], cause: str) -> None:
        for state in states:
            if state.on and state.turn:
                state.await_turn()
                self._given[state.name] = cause

    def _request_due(self) -> tuple[list[UnitState], Turns]:
        """Request the runs of those whose turn has come; these, and the turns as they were before."""
        self._await_overtakers()
        turns = self._turns([state for state in self._states.instances if not state.turn and state.on])
        due = [state for state in turns.next if self._is_open or state.name in self._given]
        for state in due:
            self._tasks.give_turn(state, self._given.pop(state.name, self._cause))
        for name, state in turns.enabled.items():
            state.wait_for(() if state.turn else turns.awaited(name))
        return due, turns

    async def wait_until_over(self) -> None:
        """Wait until the turn of each module has come, as far as it can."""
        while not (turns := self._turns([state for state in self._states.instances if state.on])).is_over:
            await self._wait_for_change(turns)

    async def wait_for_deletion(self, state: UnitState) -> None:
        """Wait until a module's deletion has ended or failed, or its time is over."""
        turns = self._turns()
        while state.live and not state.parked and not turns.is_overtaken(state):
            await self._wait_for_change(turns, state)
            turns = self._turns()

    def _await_overtakers(self) -> None:
        """Modules that went before a lower weight that was never ready run once more when that one is: their hooks and
        templates should see what it has installed."""
        turns = self._turns()
        new = {name for name, state in turns.enabled.items() if not state.last_success}
        for name in self._new - new:
            self._await_turns(turns.overtakers(name) if name in turns.enabled else (), "Lower-Weight-Ready")
        self._new = new

    def _turns(self, instances: Sequence[UnitState] = ()) -> Turns:
        """The turns of modules, and of those instances that matter now: there may be hundreds, and each change of a
        state leads here."""
        enabled = {state.name: state for state in self._states.enabled}
        if self._order.modules.keys() != enabled.keys():
            self._order = ModuleOrder(state.module for state in enabled.values())
        return Turns(enabled, self._order, self._rules, self._tasks.now(), instances)

    async def _wait_for_change(self, turns: Turns, *others: UnitState) -> None:
        """Wait until a state changes, or until patience ends with one of the enabled modules or of the others."""
        owed = [state.owed_since + self._rules.patience for state in others if state.owed_since is not None]
        deadline = turns.deadline
        until = min([*owed, *([deadline] if deadline is not None else [])], default=None)
        with suppress(TimeoutError):
            async with timeout_at(until, self._tasks.now()):
                await self._states.changed.next()
